package informer

import (
	"context"
	"fmt"
	"sync"

	"github.com/listwatch/listwatch/internal/worker"
)

// Lease keeps an Informer running until it is given back. All methods may be
// called concurrently, and more than once.
type Lease struct {
	mu      *sync.Mutex // the Informer's; guards tenancy.holders, given and last
	tenancy *tenancy
	given   bool // back
	last    bool // nobody else held the run by then
}

// tenancy is a run that leases hold.
type tenancy struct {
	holders int                // guarded by the Informer's mu
	stop    context.CancelFunc // ends the run
	done    chan struct{}      // closed after its end
	err     error              // why it ended by itself; set before done is closed
}

// Acquire keeps the Informer running until the Lease is given back, for code that
// shares an Informer and does not know who else uses it. The first lease starts a
// run, the last one given back ends it, and a later one starts another, which
// lists anew (see Run). When Acquire returns the run has begun, so that WaitForSync
// waits for it.
//
// While the last run is being stopped, Acquire waits for its end, until ctx ends;
// as that includes calls of handlers, it must then not be called from a handler.
// ctx does not bound the run; the logger and values of the first one's go with it.
//
// Errors: ErrRunning if the run in progress is one of Run, which ends when its
// context does whoever would like it to go on; ctx's error.
func (i *Informer[T]) Acquire(ctx context.Context) (*Lease, error) {
	for {
		if ctx.Err() != nil {
			return nil, fmt.Errorf("informer %q: lease: %w", i.name, whyEnded(ctx))
		}
		lease, ending, err := i.lease(ctx)
		if lease != nil || err != nil {
			return lease, err
		}
		select {
		case <-ending:
		case <-ctx.Done():
		}
	}
}

// lease joins the run in progress or begins one; or it returns what is closed when
// the run in progress, which nobody holds any more, has ended.
func (i *Informer[T]) lease(ctx context.Context) (l *Lease, ending <-chan struct{}, err error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	switch {
	case i.run == nil:
		i.leased = i.lend(ctx)
	case i.leased == nil:
		return nil, nil, fmt.Errorf("informer %q: lease: %w", i.name, ErrRunning)
	case i.leased.holders == 0:
		return nil, i.leased.done, nil
	}
	i.leased.holders++
	return &Lease{mu: &i.mu, tenancy: i.leased}, nil, nil
}

// lend begins a run that goes on until its leases are given back. Called with mu
// held.
func (i *Informer[T]) lend(ctx context.Context) *tenancy {
	ctx = i.logged(context.WithoutCancel(ctx))
	r := i.beginLocked(ctx)
	group := worker.New(ctx)
	t := &tenancy{stop: group.Stop, done: make(chan struct{})}
	// The group has only this one: whoever waits for done waits for all of it.
	group.Go("informer: run", func(ctx context.Context) {
		defer close(t.done)
		defer group.Stop()
		t.err = i.carryOut(ctx, r)
	})
	return t
}

// Release gives the lease back. If it was the last one the run ends; Release does
// not wait for that, so it may be called from a handler.
func (l *Lease) Release() {
	l.mu.Lock()
	if l.given {
		l.mu.Unlock()
		return
	}
	l.given = true
	l.tenancy.holders--
	l.last = l.tenancy.holders == 0
	l.mu.Unlock()
	if l.last {
		l.tenancy.stop()
	}
}

// Close is Release that, if this was the last lease, waits until the run has ended
// and all its goroutines are gone. It must not be called from a handler of the
// Informer. Its error is Err's.
func (l *Lease) Close() error {
	l.Release()
	l.mu.Lock()
	last := l.last
	l.mu.Unlock()
	if last {
		<-l.tenancy.done
	}
	return l.Err()
}

// Done is closed when the run has ended: after the last lease was given back, or
// by itself, which Err tells. The lease then holds nothing.
func (l *Lease) Done() <-chan struct{} { return l.tenancy.done }

// Err is nil as long as the run goes on, and if it ended because all its leases
// were given back; else it is the error that Run would have returned.
func (l *Lease) Err() error {
	select {
	case <-l.tenancy.done:
		return l.tenancy.err
	default:
		return nil
	}
}
