package cacher

import (
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/watch"
)

const (
	// beforeDeadline is how long before its deadline a watcher gets a bookmark.
	beforeDeadline = 2 * time.Second
	// progressGrace is how long a bookmark waits for the store to say how far it
	// is; then it carries what is known.
	progressGrace = 250 * time.Millisecond
	// progressFresh is the age up to which such an answer serves other bookmarks.
	progressFresh = 100 * time.Millisecond
)

// buckets are the seconds since a Cacher was made. Bookmarks that are due in the
// same one are sent at the same moment, its tick, so that one answer of the store
// serves them all. Nothing runs at a tick for which nobody waits.
type buckets struct {
	born time.Time
	seed uint64
}

// of returns the bucket of a moment.
func (b buckets) of(t time.Time) int64 {
	since := t.Sub(b.born)
	if since < 0 {
		since -= time.Second - 1 // round down
	}
	return int64(since / time.Second)
}

// tick returns a moment in the first quarter of a bucket, always the same one,
// so that the Cachers of many resources are not busy all at once.
func (b buckets) tick(bucket int64) time.Time {
	x := (uint64(bucket) ^ b.seed) * 0x9e3779b97f4a7c15
	jitter := time.Duration((x ^ x>>32) % uint64(time.Second/4))
	return b.born.Add(time.Duration(bucket)*time.Second + jitter)
}

// next returns when a watcher gets its next bookmark: one period from now, or
// shortly before the deadline if that is sooner; zero if no more is to come. A
// moment is rounded down to its bucket. Whoever gets a bookmark before the last
// moment, or in its bucket, gets another one in the next bucket.
func (b buckets) next(now, deadline time.Time, period time.Duration) time.Time {
	if period == 0 {
		return time.Time{}
	}
	moment := now.Add(period)
	if !deadline.IsZero() {
		last := deadline.Add(-beforeDeadline)
		if b.of(last) < b.of(now) {
			return time.Time{}
		}
		if last.Before(moment) {
			moment = last
		}
	}
	bucket := b.of(moment)
	for !b.tick(bucket).After(now) {
		bucket++
	}
	return b.tick(bucket)
}

// bookmarks is a watcher's schedule: due says when the next bookmark is, and at
// that moment the store is asked how far it is, so that the bookmark of an idle
// resource is up to date, too. Nothing runs between those moments.
type bookmarks struct {
	period   time.Duration // 0: no bookmarks
	deadline time.Time     // zero: none
	// due is zero if none is to come.
	due time.Time
	// rang: the timer says that it has come.
	rang atomic.Bool
	// patience is set while the store was asked: the end of waiting for answer.
	patience time.Time
	answer   chan struct{}
}

// schedule sets when the next bookmark is due.
func (b *bookmarks) schedule(now time.Time, at buckets) {
	b.patience, b.answer = time.Time{}, nil
	b.due = at.next(now, b.deadline, b.period)
}

// moment is when something is to be done next; zero is never.
func (b *bookmarks) moment() time.Time {
	if !b.patience.IsZero() {
		return b.patience
	}
	return b.due
}

// ready says whether a bookmark waits for nothing any more.
func (b *bookmarks) ready(now time.Time) bool {
	if b.patience.IsZero() {
		return false
	}
	select {
	case <-b.answer:
		return true
	default:
		return !now.Before(b.patience)
	}
}

// takeBookmark stores a bookmark if its time has come and all changes up to its
// resource version were delivered. At that time it first asks the store how far
// it is.
func (w *Watcher) takeBookmark(into *Event) bool {
	asked := !w.bookmarks.patience.IsZero()
	if !asked && !w.bookmarks.rang.Load() {
		return false // a clock is not needed for most events
	}
	w.bookmarks.rang.Store(false) // before the clock is read: it may ring again
	now := time.Now()
	if !asked {
		if (w.bookmarks.due.IsZero() || now.Before(w.bookmarks.due)) && !w.owes(w.delivered) {
			return false // it rang for the end of a wait for an answer
		}
		w.ask(now)
	}
	if !w.bookmarks.ready(now) {
		return false
	}
	rv := w.cacher.reached() // before looking: all changes up to it are in the window
	if w.takeChange(into) {
		return true
	}
	w.bookmarks.schedule(now, w.cacher.buckets)
	if w.owes(rv) {
		w.ask(now) // the answer was too old
	}
	if !w.tellsNews(rv) || w.ended.Load() {
		return false
	}
	into.Type, into.ResourceVersion = watch.Bookmark, rv
	return true
}

// tellsNews says whether a bookmark at rv says more than the watch began with,
// and not less than what it delivered.
func (w *Watcher) tellsNews(rv uint64) bool { return rv > w.start && rv >= w.delivered }

// ask asks the store how far it is, for a bookmark.
func (w *Watcher) ask(now time.Time) {
	w.bookmarks.patience = now.Add(progressGrace)
	w.bookmarks.answer = w.cacher.askProgress(now)
}

// askProgress asks the store how far it is, unless it just said so, and returns
// a channel that is closed when the answer is in.
func (c *Cacher) askProgress(now time.Time) chan struct{} {
	answer := make(chan struct{})
	c.mu.Lock()
	known := now.Sub(c.progress.at) < progressFresh && c.rv >= c.demanded
	if !known {
		c.progress.answers = append(c.progress.answers, answer)
	}
	c.mu.Unlock()
	if known {
		close(answer)
	} else {
		c.requestProgress()
	}
	return answer
}
