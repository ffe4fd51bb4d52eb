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

	// ended and slow (why) are written under the Cacher's mutex only.
	ended, slow atomic.Bool
	// owesBookmark: the bookmark after the initial events was not delivered yet.
	owesBookmark atomic.Bool

	// Guarded by the Cacher's mutex:

	// slot is the index in the registry's list, -1 if it is in none.
	slot int
	// trigger is the value of the trigger field that the predicate requires, if
	// triggered.
	trigger string
	// triggered, and two more flags; they stand together because there may be many
	// thousand watchers. draining: what was counted in pending is the last that it
	// delivers. asleep: it found nothing, and was not woken since.
	triggered, draining, asleep bool
	// label is one that the predicate requires, if it is found by that; nil else.
	label *requiredLabel
	// limit is how many events it may be behind.
	limit int
	// cursor is the next change to look at. Those before live were in the window
	// at registration and were not looked at then; from live on, pending counts
	// the changes that are to be delivered. Invariant: no change from cursor on is
	// visible and at most as new as start, but for those that dispatch skipped
	// while pending was 0, and over those the cursor jumps.
	cursor, live uint64
	pending      int
	// timer rings when a bookmark is due; nil until Next first waits for one.
	timer *time.Timer

	// For the caller of Next only:

	failure   error  // to be returned once
	told      bool   // that it was too slow
	delivered uint64 // resource version of the last event that a client can resume from
	initial   *initialEvents
	// hand is what was taken out of the window and not delivered; nil: nothing.
	hand      *handful
	bookmarks bookmarks
	armed     int64 // when timer fires, as time.Time.UnixNano
}

// Next waits for the next event. Errors: io.EOF if the watcher ended in an
// orderly way (stopped, too slow, overtaken by the window, dropped, cache
// re-initialised or closed), so that the client can resume; a
// *apierrors.StatusError that the client is to be sent, once, then io.EOF (with
// Options.TellSlow also for one that was too slow); ctx's error, which ends
// nothing.
func (w *Watcher) Next(ctx context.Context) (event Event, err error) {
	for {
		if err := ctx.Err(); err != nil {
			return Event{}, err
		}
		if err := w.failure; err != nil {
			w.failure = nil
			return Event{}, err
		}
		if w.ended.Load() {
			return Event{}, w.why()
		}
		if w.take(&event) {
			return event, nil
		}
		if w.ended.Load() {
			continue
		}
		w.wait(ctx)
	}
}

// why is the error of a watcher that has ended.
func (w *Watcher) why() error {
	if w.slow.Load() && w.cacher.options.TellSlow && !w.told {
		w.told = true
		return tooSlow(w.delivered)
	}
	return io.EOF
}

// Pending says whether Next would return without waiting.
func (w *Watcher) Pending() bool {
	if w.failure != nil || w.ended.Load() || w.initial.pending() {
		return true
	}
	if w.hand != nil {
		return true
	}
	if seen := w.look(false); seen.kind != "" || w.ended.Load() {
		return true
	}
	return w.bookmarks.ready(time.Now()) && w.tellsNews(w.cacher.reached())
}

// Stop ends the watcher. It may be called again, and by anybody.
func (w *Watcher) Stop() {
	w.cacher.mu.Lock()
	w.cacher.watchers.end(w)
	w.cacher.mu.Unlock()
	w.wakeUp()
}

// take stores the next event if there is one: an Event is big to be returned
// through several functions.
func (w *Watcher) take(into *Event) bool {
	if w.initial != nil {
		if event, ok := w.initial.next(); ok {
			if event.InitialEventsEnd {
				w.delivered = event.ResourceVersion
				w.owesBookmark.Store(false)
			}
			*into = event
			return true
		}
		w.cacher.metrics.initEvents(float64(w.initial.sent))
		w.delivered = w.start
		w.initial = nil
	}
	if !w.takeChange(into) && !w.takeBookmark(into) {
		return false
	}
	w.delivered = into.ResourceVersion
	return true
}

// takeChange takes the next change that is visible.
func (w *Watcher) takeChange(into *Event) bool {
	next, ok := w.fromHand()
	if !ok {
		next = w.look(true)
	}
	if next.kind == "" {
		return false
	}
	if w.cacher.options.Recorder != nil {
		w.cacher.metrics.taken(next.change)
	}
	into.Type, into.Item, into.ResourceVersion = next.kind, next.change.next, next.change.rv
	if next.kind == watch.Deleted {
		into.Item = next.change.gone()
	}
	return true
}

// look returns the next visible change, with kind "" if there is none, and takes
// it, and a few more into its hand, if asked to. It holds the Cacher's mutex for a
// bounded time only.
func (w *Watcher) look(take bool) seen {
	for {
		w.cacher.mu.Lock()
		next, more := w.peek()
		if take {
			if next.kind != "" {
				w.took()
				w.fillHand()
			}
			w.asleep = next.kind == "" && !more
		}
		w.cacher.mu.Unlock()
		if !more {
			return next
		}
	}
}

// took moves over the change at the cursor. It needs the Cacher's mutex.
func (w *Watcher) took() {
	if w.cursor >= w.live {
		w.pending--
		if w.pending <= w.limit {
			w.cacher.watchers.leaveOver(w)
		}
	}
	w.cursor++
}

// peek moves the cursor to the next visible change and returns it, with kind ""
// if there is none among the next few, and whether there are more to look at. It
// ends a watcher that the window has overtaken, that was too slow, or that has
// nothing left to drain. It needs the Cacher's mutex.
func (w *Watcher) peek() (next seen, more bool) {
	w.cacher.watchers.check(w)
	window := &w.cacher.window
	switch {
	case w.ended.Load():
		return seen{}, false
	case w.idle():
		if w.draining {
			w.cacher.watchers.end(w)
		}
		return seen{}, false // so that an idle watcher looks at nothing
	case w.cursor < window.start:
		w.cacher.watchers.end(w)
		return seen{}, false
	}
	for range interval {
		next := window.get(w.cursor)
		if kind := w.predicate.sees(next); kind != "" {
			return seen{next, kind}, false
		}
		if w.cursor++; w.idle() {
			break
		}
	}
	return seen{}, true
}

// idle says whether nothing is left for the watcher. It needs the Cacher's mutex.
func (w *Watcher) idle() bool {
	return w.cursor >= w.cacher.window.end || (w.cursor >= w.live && w.pending == 0)
}

// wait returns when there may be something to take.
func (w *Watcher) wait(ctx context.Context) {
	w.arm()
	if w.bookmarks.answer == nil {
		select { // few cases: waiting is most of what a delivery costs
		case <-w.wake:
		case <-ctx.Done():
		}
		return
	}
	select {
	case <-w.wake:
	case <-w.bookmarks.answer:
	case <-ctx.Done():
	}
}

// arm sets the timer to the next moment of the bookmarks. It stays as it is from
// one wait to the next: events come much more often than bookmarks.
func (w *Watcher) arm() {
	moment := w.bookmarks.moment()
	if moment.IsZero() || moment.UnixNano() == w.armed {
		return
	}
	w.armed = moment.UnixNano()
	w.cacher.mu.Lock()
	defer w.cacher.mu.Unlock()
	switch {
	case w.ended.Load(): // and its timer was stopped
	case w.timer == nil:
		w.timer = time.AfterFunc(time.Until(moment), w.ring)
	default:
		w.timer.Reset(time.Until(moment))
	}
}

// ring says that a moment of the bookmarks has come.
func (w *Watcher) ring() {
	w.bookmarks.rang.Store(true)
	w.wakeUp()
}

// wakeUp makes wait return.
func (w *Watcher) wakeUp() {
	select {
	case w.wake <- struct{}{}:
	default: // a wake-up is on its way already
	}
}
