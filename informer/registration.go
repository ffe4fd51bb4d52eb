package informer

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// Registration is one handler's place in an Informer. All methods may be called
// at any time from any goroutine, also from inside the handler.
type Registration struct {
	name    string
	site    site
	written func() (int64, int)    // notices so far, and objects now
	ended   func() <-chan struct{} // closed at the end of the run
	detach  func(*Registration)
	synced  chan struct{} // closed by the cursor
	done    chan struct{}
	// nudge, of capacity 1, makes a cursor that waits look whether to go on. One
	// channel for each, because many waiting for one channel get in each other's
	// way at every batch.
	nudge chan struct{}

	latestOnly bool
	holds      atomic.Int64 // of latest only: calls owed to it, and objects it knew
	slowAfter  time.Duration
	watch      func(now time.Time) // has calls looked at
	resync     time.Duration
	resynced   func(*Registration)
	resyncAt   atomic.Int64 // the batch to be followed by a resync; 0: none
	again      atomic.Int64 // calls left of the resync in progress

	// Guarded by the Informer's mu.
	place     int       // in the roster
	resyncDue time.Time // zero: not scheduled, or under way
	deep      bool      // reported as far behind

	// passed counts the notices that this handler need not see any more; it
	// starts below the log's end by the number of initial adds.
	passed atomic.Int64
	// work is what the cursor is in the middle of; nil when it is at nothing.
	work    atomic.Pointer[work]
	removed atomic.Bool
	panics  atomic.Int64
	onPanic []func(context.Context, any) // counts
	meter
	seen

	mu     sync.Mutex // guards active, and decides who closes done
	active bool       // a goroutine may be calling the handler
}

// Name is the name given with WithName, or a generated one.
func (r *Registration) Name() string { return r.name }

// Site is "file:line" of whoever registered the handler.
func (r *Registration) Site() string { return r.site.String() }

// Remove ends the registration: notices still queued are dropped, and at most
// the call in progress ends after Remove has returned (Done tells when). Any
// further Remove does nothing.
func (r *Registration) Remove() {
	r.mu.Lock()
	first := r.removed.CompareAndSwap(false, true)
	idle := !r.active
	r.mu.Unlock()
	if !first {
		return
	}
	r.detach(r)
	r.wake()
	if idle {
		close(r.done)
	}
}

// Close is Remove, and waits until the handler will not be called again. Error:
// that of ctx, if it ends before a call in progress does. From inside the handler
// that would be the call itself: use Remove there.
func (r *Registration) Close(ctx context.Context) error {
	r.Remove()
	select {
	case <-r.done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("handler %q: wait for the call in progress: %w", r.name, whyEnded(ctx))
	}
}

// Done is closed when the handler was removed and will not be called again. The
// end of Run does not close it: a later Run calls the handler again.
func (r *Registration) Done() <-chan struct{} { return r.done }

// Synced is closed when all initial adds have returned: those for the objects
// that were in the cache at the registration, and those up to the first
// complete list if the Informer was not in sync then. It stays open if the
// handler is removed before that.
func (r *Registration) Synced() <-chan struct{} { return r.synced }

// Depth is the number of calls that this handler is behind, including the one
// in progress; 0 after Remove.
func (r *Registration) Depth() int {
	if r.removed.Load() {
		return 0
	}
	// Read passed first: the log only grows, so that the difference is never negative.
	passed := r.passed.Load()
	end, objects := r.written()
	behind := end - passed
	if r.latestOnly {
		behind = min(behind, r.holds.Load()+int64(objects))
	}
	return int(behind + r.again.Load())
}

// age is for how long the oldest batch in progress has been waiting.
func (r *Registration) age() time.Duration {
	if w := r.work.Load(); w != nil {
		return time.Since(w.since)
	}
	return 0
}

func (r *Registration) isSynced() bool {
	select {
	case <-r.synced:
		return true
	default:
		return false
	}
}

// wake makes the cursor look whether to go on.
func (r *Registration) wake() {
	select {
	case r.nudge <- struct{}{}:
	default:
	}
}

// enter claims the right to call the handler; it fails after Remove.
func (r *Registration) enter() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.removed.Load() {
		return false
	}
	r.active = true
	return true
}

// leave gives it back.
func (r *Registration) leave() {
	r.mu.Lock()
	r.active = false
	removed := r.removed.Load()
	r.mu.Unlock()
	if removed {
		close(r.done)
	}
}
