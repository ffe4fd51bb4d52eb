package cacher

import (
	"context"
	"io"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/watch"
)

// Event is what a Watcher delivers.
type Event struct {
	// Type is ADDED, MODIFIED, DELETED or BOOKMARK.
	Type watch.EventType
	// Item is nil of a BOOKMARK. Of DELETED it is the last version that was
	// visible, carrying the event's resource version.
	Item *Item
	// ResourceVersion of the event; of initial ADDED events the object's own.
	ResourceVersion uint64
	// InitialEventsEnd marks the BOOKMARK after the initial events.
	InitialEventsEnd bool
}

// Watcher is a cursor into the window of its Cacher. One goroutine at a time may
// call Next and Pending; anybody may call Stop.
type Watcher struct {
	cacher    *Cacher
	predicate Predicate
	// start: changes up to it are not delivered.
	start uint64
	wake  chan struct{} // has room for one

	// ended is written under the Cacher's mutex only.
	ended atomic.Bool
	// took is when an event was last taken, in Unix nanoseconds.
	took atomic.Int64

	// Guarded by the Cacher's mutex:

	// slot is the index in the registry's list, -1 if it is in none.
	slot int
	// cursor is the next change to look at. Those before live were in the window
	// at registration and were not looked at then; from live on, pending counts
	// the changes that are to be delivered. Invariant: no change from cursor on is
	// visible and at most as new as start, but for those that dispatch skipped
	// while pending was 0, and over those the cursor jumps.
	cursor, live uint64
	pending      int
	// over is when pending last went over the lag limit.
	over time.Time

	// For the caller of Next only:

	failure   error // to be returned once
	initial   *initialEvents
	bookmarks bookmarks
	timer     *time.Timer
}

// Next waits for the next event. Errors: io.EOF if the watcher ended in an
// orderly way (stopped, too slow, overtaken by the window, dropped, cache
// re-initialised or closed), so that the client can resume; a
// *apierrors.StatusError that the client is to be sent, once, then io.EOF;
// ctx's error, which ends nothing.
func (w *Watcher) Next(ctx context.Context) (Event, error) {
	for {
		if err := ctx.Err(); err != nil {
			return Event{}, err
		}
		if err := w.failure; err != nil {
			w.failure = nil
			return Event{}, err
		}
		if w.ended.Load() {
			return Event{}, io.EOF
		}
		event, ok := w.take()
		if ok {
			w.took.Store(time.Now().UnixNano())
			return event, nil
		}
		if w.ended.Load() {
			continue
		}
		w.wait(ctx)
	}
}

// Pending says whether Next would return without waiting.
func (w *Watcher) Pending() bool {
	if w.failure != nil || w.ended.Load() || w.initial.pending() {
		return true
	}
	bookmark := w.bookmarks.ready(time.Now())
	w.cacher.mu.Lock()
	defer w.cacher.mu.Unlock()
	_, kind := w.peek()
	return kind != "" || w.ended.Load() || (bookmark && w.tellsNews(w.cacher.rv))
}

// Stop ends the watcher. It may be called again, and by anybody.
func (w *Watcher) Stop() {
	w.cacher.mu.Lock()
	w.cacher.watchers.end(w)
	w.cacher.mu.Unlock()
	wakeAll([]*Watcher{w})
}

// take returns the next event if there is one.
func (w *Watcher) take() (Event, bool) {
	if w.initial != nil {
		event, ok := w.initial.next()
		if ok {
			return event, true
		}
		w.initial = nil
	}
	if event, ok := w.takeChange(); ok {
		return event, true
	}
	return w.takeBookmark()
}

// takeChange takes the next change that is visible.
func (w *Watcher) takeChange() (Event, bool) {
	w.cacher.mu.Lock()
	next, kind := w.peek()
	if kind != "" {
		if w.cursor >= w.live {
			w.pending--
		}
		w.cursor++
	}
	w.cacher.mu.Unlock()
	switch kind {
	case "":
		return Event{}, false
	case watch.Deleted:
		return Event{Type: kind, Item: next.gone(), ResourceVersion: next.rv}, true
	default:
		return Event{Type: kind, Item: next.next, ResourceVersion: next.rv}, true
	}
}

// peek moves the cursor to the next visible change and returns it, with "" if
// there is none. It ends a watcher that the window has overtaken. It needs the
// Cacher's mutex.
func (w *Watcher) peek() (*change, watch.EventType) {
	window := &w.cacher.window
	for {
		if w.cursor >= window.end || (w.cursor >= w.live && w.pending == 0) {
			return nil, "" // so that an idle watcher looks at nothing
		}
		if w.cursor < window.start {
			w.cacher.watchers.end(w)
			return nil, ""
		}
		next := window.get(w.cursor)
		if kind := w.predicate.transition(next.prev, next.next); kind != "" {
			return next, kind
		}
		w.cursor++
	}
}

// wait returns when there may be something to take.
func (w *Watcher) wait(ctx context.Context) {
	var due <-chan time.Time
	if moment := w.bookmarks.moment(); !moment.IsZero() {
		if w.timer == nil {
			w.timer = time.NewTimer(time.Until(moment))
		} else {
			w.timer.Reset(time.Until(moment))
		}
		defer w.timer.Stop()
		due = w.timer.C
	}
	select {
	case <-w.wake:
	case <-due:
	case <-w.bookmarks.answer:
	case <-ctx.Done():
	}
}
