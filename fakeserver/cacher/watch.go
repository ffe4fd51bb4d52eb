package cacher

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// WatchOptions are those of a watch request. The caller has validated them and
// set the default of SendInitialEvents.
type WatchOptions struct {
	Predicate
	// ResourceVersion is as the client sent it: where to start, or with initial
	// events how old they may be.
	ResourceVersion string
	// SendInitialEvents asks for the state as ADDED events first. Nil means that
	// with the resource versions "" and "0" only, without a bookmark at the end.
	SendInitialEvents *bool
	// Match is NotOlderThan or "", and makes no difference.
	Match metav1.ResourceVersionMatch
	// AllowBookmarks lets bookmarks be sent.
	AllowBookmarks bool
	// Deadline is when the caller will end the watch; the last bookmark comes
	// shortly before. Zero: none.
	Deadline time.Time
}

// Watch opens a watch. It waits, as long as a request may block, where initial
// events must not be older than a resource version. What concerns the resource
// version (410, 504) is not an error of Watch but of the Watcher's first Next,
// since clients get it as an event. Errors: *apierrors.StatusError, ErrClosed,
// ctx's error.
func (c *Cacher) Watch(ctx context.Context, opts WatchOptions) (*Watcher, error) {
	if !c.options.Sharding {
		opts.Shard = nil
	}
	phase, generation, err := c.awaitStart(ctx)
	if err != nil {
		return nil, err
	}
	route, err := routeWatch(&opts, phase)
	if err != nil {
		return nil, err
	}
	route.generation = generation
	switch route.start {
	case refused:
		return nil, c.refuse()
	case liveNow:
		route.rv, err = c.storeRevision(ctx)
	case initialConsistent:
		route.rv, err = c.waitConsistent(ctx)
	case initialNotOlder:
		err = c.waitUntilFresh(ctx, route.rv)
	}
	w := c.newWatcher(&opts)
	if isTooLarge(err) {
		w.fail(err)
		return w, nil
	}
	if err != nil {
		return nil, err
	}
	if err := c.register(w, route); err != nil {
		return nil, err
	}
	return w, nil
}

// newWatcher makes one that is not registered yet.
func (c *Cacher) newWatcher(opts *WatchOptions) *Watcher {
	now := time.Now()
	w := &Watcher{cacher: c, predicate: opts.Predicate, slot: -1, wake: make(chan struct{}, 1), asleep: true}
	if w.predicate.Labels != nil && w.predicate.Labels.Empty() {
		w.predicate.Labels = nil
	}
	if w.predicate.Fields != nil && w.predicate.Fields.Empty() {
		w.predicate.Fields = nil
	}
	if field := c.options.TriggerField; field != "" && w.predicate.Fields != nil {
		w.trigger, w.triggered = w.predicate.Fields.RequiresExactMatch(field)
	}
	if !w.triggered && w.predicate.Shard == nil { // what a shard hides is counted
		w.label = requiredLabelOf(w.predicate.Labels)
	}
	if opts.AllowBookmarks {
		w.bookmarks.period = c.options.BookmarkPeriod
	}
	w.bookmarks.deadline = opts.Deadline
	w.bookmarks.schedule(now, c.buckets)
	return w
}

// fail lets Next return err, and then io.EOF. The watcher is not registered.
func (w *Watcher) fail(err error) {
	w.failure = err
	w.ended.Store(true)
}

// register places the watcher at its start and lets it see what comes.
func (c *Cacher) register(w *Watcher, route watchRoute) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.readiness.phase == closed:
		return c.readiness.refusal(&c.options)
	case c.readiness.phase != ready || c.readiness.generation != route.generation:
		// Re-initialised since the request began: its client resumes.
		w.ended.Store(true)
		return nil
	}
	if c.watchers.count >= c.options.MaxWatchers {
		return tooManyWatches(c.options.GroupResource, c.watchers.count)
	}
	w.cursor, w.live = c.window.end, c.window.end
	w.limit = c.options.lagLimit(len(c.window.ring), w.indexUse())
	switch route.start {
	case liveNow:
		if route.rv < c.window.floor { // re-initialised since
			w.ended.Store(true)
			return nil
		}
		w.start = route.rv
		w.cursor = c.window.after(route.rv) // the cache may have gone on since
	case liveCache:
		w.start = c.rv
	case since:
		if route.rv < c.window.floor {
			w.fail(watchTooOld(route.rv, c.window.floor))
			return nil
		}
		w.start = route.rv
		w.cursor = c.window.after(route.rv)
	default:
		w.start = c.rv
		w.initial = &initialEvents{state: c.state(), predicate: &w.predicate, rv: c.rv, bookmark: route.bookmark}
		w.owesBookmark.Store(route.bookmark)
	}
	if w.initial == nil {
		w.delivered = w.start
	}
	if w.start < c.demanded {
		w.bookmarks.rang.Store(true)
	}
	c.watchers.add(w)
	return nil
}

// indexUse says what the trigger index means to the watcher.
func (w *Watcher) indexUse() indexUse {
	switch {
	case w.triggered:
		return indexUsed
	case w.cacher.options.TriggerField != "":
		return indexUnused
	default:
		return noIndex
	}
}
