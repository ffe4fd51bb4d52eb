package deltafifo

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"
)

// defaultMaxPending is a compromise: large enough that a consumer which merely
// has a pause (garbage collection, a big replacement) gets every version, small
// enough (some 300 KB of deltas) to be of no account.
const defaultMaxPending = 4096

// keepFactor times MaxPending is how large a buffer may be to be used again.
const keepFactor = 8

// Options of a Queue. The zero value is usable.
type Options struct {
	// MaxPending is how many deltas may wait before deltas of one key are
	// merged. 0 means 4096; negative is invalid. Smaller bounds memory more
	// tightly, larger lets a slow consumer see more versions.
	MaxPending int
}

func (o Options) withDefaults() (Options, error) {
	if o.MaxPending < 0 {
		return o, fmt.Errorf("%w: MaxPending is %d, want 0 or more", ErrInvalidOptions, o.MaxPending)
	}
	if o.MaxPending == 0 {
		o.MaxPending = defaultMaxPending
	}
	return o, nil
}

// Status is a picture of a Queue at one moment.
type Status struct {
	// Depth is how many deltas wait. A replacement counts as one.
	Depth int
	// OldestSince is when the oldest delta that waits was told, also if it has
	// been merged or replaced since; zero if none waits.
	OldestSince time.Time
	// Merged counts the deltas that were dropped because another one stands for
	// them, since New.
	Merged uint64
	// Closed is true after Close.
	Closed bool
}

// Queue passes deltas from one producer to one consumer. Use New; the zero value
// is not usable. All methods may be called concurrently.
type Queue[T any] struct {
	maxPending int
	wake       chan struct{} // capacity 1: a token means "look again"

	mu      sync.Mutex
	pending []Delta[T]
	// Invariant: len(pending) < limit; limit >= maxPending.
	limit   int
	since   time.Time // of the oldest pending delta
	popped  string    // resourceVersion of the last delta of the last batch
	resync  bool      // a Resync is pending
	waiters int       // Pops that sleep, or are about to, and want a token
	closed  bool
	merged  uint64
	merger  merger[T]
}

// New returns an empty Queue. It panics with an error that wraps
// ErrInvalidOptions if options are invalid, which only a programmer can cause.
func New[T any](options Options) *Queue[T] {
	options, err := options.withDefaults()
	if err != nil {
		panic(err)
	}
	return &Queue[T]{
		maxPending: options.MaxPending,
		merger:     merger[T]{keep: keepFactor * options.MaxPending},
		limit:      options.MaxPending,
		wake:       make(chan struct{}, 1),
	}
}

// Add tells that key, which was not in the collection, now holds object.
// resourceVersion is that of the collection after it. Never blocks; after Close
// it does nothing.
func (q *Queue[T]) Add(key string, object T, resourceVersion string) {
	q.push(Delta[T]{Type: Added, Key: key, Object: object, ResourceVersion: resourceVersion})
}

// Update tells that key now holds object. Otherwise like Add.
func (q *Queue[T]) Update(key string, object T, resourceVersion string) {
	q.push(Delta[T]{Type: Updated, Key: key, Object: object, ResourceVersion: resourceVersion})
}

// Delete tells that key is gone; object is the last state the server sent.
// Otherwise like Add.
func (q *Queue[T]) Delete(key string, object T, resourceVersion string) {
	q.push(Delta[T]{Type: Deleted, Key: key, Object: object, ResourceVersion: resourceVersion})
}

// Bookmark tells that nothing else changed up to resourceVersion. Otherwise like
// Add.
func (q *Queue[T]) Bookmark(resourceVersion string) {
	q.push(Delta[T]{Type: Bookmark, ResourceVersion: resourceVersion})
}

// Resync asks the consumer to go once more over all that it holds, in order with
// what was told before and after. While one waits, another does nothing. Never
// blocks; after Close it does nothing.
func (q *Queue[T]) Resync() {
	q.push(Delta[T]{Type: Resync})
}

// Replace tells that the collection now is exactly items, which belong to the
// queue, then to the consumer, from here on. Everything pending is dropped, but
// for one Deleted per key that was deleted, and a Resync. Otherwise like Add.
func (q *Queue[T]) Replace(items []Item[T], resourceVersion string) {
	replaced := Delta[T]{
		Type:            Replaced,
		ResourceVersion: resourceVersion,
		Replacement:     &Replacement[T]{Items: items, ResourceVersion: resourceVersion},
	}
	q.push(replaced)
}

// Rewind is Replace after the server's history went back (see Replacement.Rewound).
// It stands for replacements that are dropped as well.
func (q *Queue[T]) Rewind(items []Item[T], resourceVersion string) {
	q.push(Delta[T]{
		Type:            Replaced,
		ResourceVersion: resourceVersion,
		Replacement:     &Replacement[T]{Items: items, ResourceVersion: resourceVersion, Rewound: true},
	})
}

// Vanish tells that the collection itself is gone, and that resourceVersion was its
// last. It is a Replace without items, until the next Replace.
func (q *Queue[T]) Vanish(resourceVersion string) {
	q.push(Delta[T]{
		Type:            Replaced,
		ResourceVersion: resourceVersion,
		Replacement:     &Replacement[T]{ResourceVersion: resourceVersion, Vanished: true},
	})
}

// push appends d, merges if it is time to, and wakes a sleeping Pop. It is one
// step: a Pop never sees what a replacement left without the replacement.
func (q *Queue[T]) push(d Delta[T]) {
	q.mu.Lock()
	if q.closed {
		q.mu.Unlock()
		return
	}
	if d.Type == Resync && q.resync {
		q.merged++
	} else {
		q.append(d)
	}
	wake := q.waiters > 0
	q.mu.Unlock()
	if wake {
		q.signal()
	}
}

// append adds d to pending and makes room in front of it. Called with mu held.
func (q *Queue[T]) append(d Delta[T]) {
	n := len(q.pending)
	if d.Type == Resync {
		q.resync = true
		d.ResourceVersion = q.popped
		if n > 0 {
			d.ResourceVersion = q.pending[n-1].ResourceVersion
		}
	}
	switch {
	case n == 0:
		q.since = time.Now()
	case d.Type == Replaced:
		d.Replacement.Rewound = d.Replacement.Rewound || slices.ContainsFunc(q.pending, rewound)
		q.pending = q.merger.onlyDeletes(q.pending)
		q.merged += uint64(n - len(q.pending))
	case q.pending[n-1].Type == Bookmark: // d says no less
		q.pending = q.pending[:n-1]
		q.merged++
	}
	q.pending = append(q.pending, d)
	if len(q.pending) >= q.limit {
		q.merge()
	}
}

// rewound reports whether d follows the server's history back.
func rewound[T any](d Delta[T]) bool { return d.Type == Replaced && d.Replacement.Rewound }

// merge shortens pending and sets the next limit so that merging costs a small
// constant per delta, however many keys there are. Called with mu held.
func (q *Queue[T]) merge() {
	before := len(q.pending)
	q.pending = q.merger.merge(q.pending)
	q.merged += uint64(before - len(q.pending))
	q.limit = max(q.maxPending, 2*len(q.pending)+1)
}

// signal leaves a token for Pop unless one is there.
func (q *Queue[T]) signal() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// Pop takes everything pending, in stream order, and waits while there is
// nothing. The queue takes over the array of into, whatever its contents, and
// the caller gets another one: into must not be used again, as after append.
//
// Errors: ctx.Err() if ctx has ended (then nothing was taken); ErrClosed if the
// queue was closed and everything has been taken. With an error into is
// returned as it was.
func (q *Queue[T]) Pop(ctx context.Context, into []Delta[T]) ([]Delta[T], error) {
	if err := ctx.Err(); err != nil {
		return into, err
	}
	batch, state := q.take(into, 1)
	if state == empty {
		return q.waitAndTake(ctx, into)
	}
	return finish(batch, into, state)
}

// waitAndTake is the rest of Pop for a queue that was empty.
func (q *Queue[T]) waitAndTake(ctx context.Context, into []Delta[T]) ([]Delta[T], error) {
	// Whatever ends this Pop may have eaten a token that another one needs.
	defer q.leave()
	for {
		select {
		case <-q.wake:
		case <-ctx.Done():
		}
		if err := ctx.Err(); err != nil {
			return into, err
		}
		if batch, state := q.take(into, 0); state != empty {
			return finish(batch, into, state)
		}
	}
}

// leave notes that a Pop sleeps no longer and passes its token on if others do.
func (q *Queue[T]) leave() {
	q.mu.Lock()
	q.waiters--
	wake := q.waiters > 0 && (len(q.pending) > 0 || q.closed)
	q.mu.Unlock()
	if wake {
		q.signal()
	}
}

func finish[T any](batch, into []Delta[T], state takeState) ([]Delta[T], error) {
	if state == drained {
		return into, ErrClosed
	}
	return batch, nil
}

// takeState is what take found.
type takeState uint8

const (
	empty takeState = iota
	taken
	drained
)

// take swaps pending for into, or adds newWaiters because Pop is going to sleep.
func (q *Queue[T]) take(into []Delta[T], newWaiters int) ([]Delta[T], takeState) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.pending) == 0 {
		if q.closed {
			return nil, drained
		}
		q.waiters += newWaiters
		return nil, empty
	}
	batch := q.pending
	q.popped = batch[len(batch)-1].ResourceVersion
	if cap(into) > keepFactor*q.maxPending {
		into = nil // the buffer of a backlog long gone
	}
	clear(into) // else objects of the last batch would live on in a buffer
	q.pending = into[:0]
	q.limit, q.resync = q.maxPending, false
	return batch, taken
}

// Close makes producers' calls do nothing and lets Pop return ErrClosed after
// what is pending. It may be called more than once.
func (q *Queue[T]) Close() {
	q.mu.Lock()
	q.closed = true
	q.mu.Unlock()
	q.signal()
}

// Len returns how many deltas wait; a replacement counts as one.
func (q *Queue[T]) Len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.pending)
}

// OldestAge returns for how long the oldest pending delta has waited, 0 if none
// does.
func (q *Queue[T]) OldestAge() time.Duration {
	since := q.Status().OldestSince
	if since.IsZero() {
		return 0
	}
	return time.Since(since)
}

// Status returns a picture of the queue for people and metrics.
func (q *Queue[T]) Status() Status {
	q.mu.Lock()
	defer q.mu.Unlock()
	status := Status{Depth: len(q.pending), Merged: q.merged, Closed: q.closed}
	if status.Depth > 0 {
		status.OldestSince = q.since
	}
	return status
}
