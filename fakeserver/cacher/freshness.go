package cacher

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/listwatch/listwatch/fakeserver/storage"
)

// waiter is a read that waits for a resource version.
type waiter struct {
	rv      uint64
	reached chan struct{}
}

// waiters are those reads. They are looked through only when the least version
// among them was reached. Its methods need the Cacher's mutex.
type waiters struct {
	list  []waiter
	least uint64
}

// add returns a channel that is closed once rv was reached.
func (w *waiters) add(rv uint64) chan struct{} {
	if len(w.list) == 0 || rv < w.least {
		w.least = rv
	}
	added := waiter{rv: rv, reached: make(chan struct{})}
	w.list = append(w.list, added)
	return added.reached
}

// remove forgets a waiter that gave up.
func (w *waiters) remove(reached chan struct{}) {
	w.list = slices.DeleteFunc(w.list, func(other waiter) bool { return other.reached == reached })
	w.settle()
}

// reached takes out those whose version is at most rv; the caller closes them.
func (w *waiters) reached(rv uint64) []chan struct{} {
	if len(w.list) == 0 || rv < w.least {
		return nil
	}
	var done []chan struct{}
	w.list = slices.DeleteFunc(w.list, func(other waiter) bool {
		if other.rv <= rv {
			done = append(done, other.reached)
		}
		return other.rv <= rv
	})
	w.settle()
	return done
}

// settle recomputes least.
func (w *waiters) settle() {
	for i, other := range w.list {
		if i == 0 || other.rv < w.least {
			w.least = other.rv
		}
	}
}

// progress is the feed's watch, as what can be asked how far the store is.
// Guarded by the Cacher's mutex.
type progress struct {
	// source is nil while the feed has no watch.
	source storage.Watch
	// wanted is set if progress was asked for without a source.
	wanted bool
	// at is when the last answer came.
	at time.Time
	// answers are closed when the next one comes.
	answers []chan struct{}
}

// arrived takes out those who wait for an answer.
func (p *progress) arrived(now time.Time) []chan struct{} {
	p.at = now
	answered := p.answers
	p.answers = nil
	return answered
}

// requestProgress asks the store how far it is. The answer arrives through the
// feed. It must be called without mu.
func (c *Cacher) requestProgress() {
	c.mu.Lock()
	source := c.progress.source
	if source == nil {
		c.progress.wanted = true
	}
	c.mu.Unlock()
	if source != nil {
		source.RequestProgress()
	}
}

// setSource names the feed's watch, and asks it what was asked meanwhile.
func (c *Cacher) setSource(source storage.Watch) {
	c.mu.Lock()
	c.progress.source = source
	wanted := c.progress.wanted
	c.progress.wanted = false
	c.mu.Unlock()
	if wanted {
		source.RequestProgress()
	}
}

// storeRevision is the store's current revision.
func (c *Cacher) storeRevision(ctx context.Context) (uint64, error) {
	revision, err := c.options.Store.CurrentRevision(ctx)
	if err != nil {
		return 0, internal(c.options.GroupResource, err)
	}
	return uint64(revision), nil
}

// waitUntilFresh returns when the cache has reached rv. If the store has, then
// the cache learns of it by a progress request, since the changes that led
// there may all be of other resources. Errors: 504 after the block timeout,
// ErrClosed, ctx's error, the store's.
func (c *Cacher) waitUntilFresh(ctx context.Context, rv uint64) error {
	if c.hasReached(rv) {
		return nil
	}
	stored, err := c.storeRevision(ctx)
	if err != nil {
		return err
	}
	return c.blockUntil(ctx, rv, stored >= rv)
}

// waitConsistent returns when the cache has reached what the store's current
// revision was at some moment during the call, and returns that. Errors as those
// of waitUntilFresh.
func (c *Cacher) waitConsistent(ctx context.Context) (uint64, error) {
	stored, err := c.storeRevision(ctx)
	if err != nil {
		return 0, err
	}
	if c.hasReached(stored) {
		return stored, nil
	}
	return stored, c.blockUntil(ctx, stored, true)
}

// hasReached says whether all changes up to rv are in the cache.
func (c *Cacher) hasReached(rv uint64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.readiness.phase == ready && c.rv >= rv
}

// blockUntil waits for rv; stored says that the store has reached it.
func (c *Cacher) blockUntil(ctx context.Context, rv uint64, stored bool) error {
	c.mu.Lock()
	if c.readiness.phase == ready && c.rv >= rv {
		c.mu.Unlock()
		return nil
	}
	reached := c.waiters.add(rv)
	c.mu.Unlock()
	if stored {
		c.requestProgress()
	}
	timer := time.NewTimer(c.options.BlockTimeout)
	defer timer.Stop()
	var err error
	select {
	case <-reached:
		return nil
	case <-timer.C:
	case <-ctx.Done():
		err = ctx.Err()
	case <-c.group.Context().Done():
		err = fmt.Errorf("cacher: %s: %w", c.options.GroupResource, ErrClosed)
	}
	c.mu.Lock()
	c.waiters.remove(reached)
	current := c.rv
	c.mu.Unlock()
	if err == nil {
		err = tooLarge(rv, current)
	}
	return err
}
