package informertest

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// interesting says whether the handler's predicate lets an update through; a resync
// is none.
func (c *checker) interesting(e *Entry) bool {
	if c.options.Predicate == nil || e.Old.is(e.Object) {
		return true
	}
	old, updated := c.object(e.Key, e.Old), c.object(e.Key, e.Object)
	return old == nil || updated == nil || c.options.Predicate(old, updated)
}

// untold says whether v may be what became of what was told without the handler
// being told, because its predicate lets it not know.
func (c *checker) untold(key string, was told, v Version) bool {
	if c.options.Predicate == nil || v.UID != was.version.UID || v.ResourceVersion < was.version.ResourceVersion && !was.lost {
		return false
	}
	old, now := c.object(key, was.version), c.object(key, v)
	return now != nil && (old == nil || !c.options.Predicate(old, now))
}

// object is a state in the history, or in what was that before a restore; nil if there
// is none.
func (c *checker) object(key string, v Version) metav1.Object {
	for n := c.number; n >= 0; n-- {
		if change, exists := c.worlds[n].history.at(key, v.ResourceVersion); exists && change.Version.same(v) {
			return change.Object
		}
	}
	return nil
}

// undone says whether v is a state of a time that a restore has undone: what was
// told, or what became of that untold.
func (c *checker) undone(key string, was told, v Version) bool {
	if was.lost && v.same(was.version) {
		return true
	}
	return c.untold(key, was, v) && c.existed(key, v) != nil
}
