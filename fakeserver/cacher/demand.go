package cacher

// SendBookmarks lets every watcher that takes bookmarks have one at rv or newer
// as soon as it has delivered all changes up to it, whatever its schedule says:
// those that are open, and those that are opened later at an older resource
// version. A watcher that has delivered something as new gets none. rv must be a
// revision that the store has reached.
func (c *Cacher) SendBookmarks(rv uint64) {
	c.mu.Lock()
	c.demanded = max(c.demanded, rv)
	var asked []*Watcher
	for _, w := range c.watchers.all() {
		if w.bookmarks.period > 0 {
			w.bookmarks.rang.Store(true)
			asked = append(asked, w)
		}
	}
	c.mu.Unlock()
	wakeAll(asked)
}

// owes says whether the watcher, which has all changes up to rv, is to have a
// bookmark newer than that.
func (w *Watcher) owes(rv uint64) bool {
	if w.bookmarks.period == 0 {
		return false
	}
	w.cacher.mu.Lock()
	defer w.cacher.mu.Unlock()
	return max(rv, w.start) < w.cacher.demanded
}
