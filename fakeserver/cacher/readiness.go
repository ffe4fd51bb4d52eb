package cacher

import (
	"context"
	"fmt"
	"math"
	"time"
)

// phase of a Cacher. What leads out of each:
//
//	starting  the first list is done: ready; it fails: pending
//	ready     the feed has to start over: pending
//	pending   a list is done: ready
//	closed    nothing; Close leads here from anywhere
type phase uint8

const (
	// starting: the first list is on its way. Requests wait: the first of them
	// makes the Cacher, and does not want to hear of it.
	starting phase = iota
	// ready: the cache follows the store.
	ready
	// pending: the cache is to be filled again. Requests are refused, or the store
	// answers them.
	pending
	// closed is final.
	closed
)

// String names the phase.
func (p phase) String() string {
	return [...]string{"starting", "ready", "pending", "closed"}[p]
}

// readiness is the phase and who waits for the next one. Its methods need the
// Cacher's mutex.
type readiness struct {
	phase phase
	// cause is why the cache is not ready; nil before the first failure.
	cause error
	// generation counts how often the cache became ready: what was taken from one
	// generation does not fit to another one.
	generation uint64
	// since is when it was last ready, or was made.
	since time.Time
	// changed is closed when the phase changes.
	changed chan struct{}
}

func newReadiness() readiness {
	return readiness{since: time.Now(), changed: make(chan struct{})}
}

// to enters a phase. Nothing follows closed.
func (r *readiness) to(next phase, cause error) {
	if r.phase == closed {
		return
	}
	if r.phase == ready {
		r.since = time.Now()
	}
	if next == ready {
		r.generation++
	}
	r.phase, r.cause = next, cause
	close(r.changed)
	r.changed = make(chan struct{})
}

// refusal is the error for a request that needs the cache.
func (r *readiness) refusal(o *Options) error {
	if r.phase == closed {
		return fmt.Errorf("cacher: %s: %w", o.GroupResource, ErrClosed)
	}
	return notReady(r.cause, retryAfterDown(time.Since(r.since)))
}

// retryAfterDown is how many seconds a client shall wait before it asks a cache
// again that has not been ready for so long.
func retryAfterDown(down time.Duration) int {
	const growth, least, most = 0.06, 1, 30
	return int(min(max(math.Exp(growth*down.Seconds()), least), most))
}

// awaitStart waits while the cache is filled for the first time, as long as a
// request may block, and returns the phase after that and its generation.
// Errors: ErrClosed, ctx's error.
func (c *Cacher) awaitStart(ctx context.Context) (phase, uint64, error) {
	var timeout <-chan time.Time // made when first needed
	for {
		c.mu.Lock()
		now := c.readiness
		c.mu.Unlock()
		switch now.phase {
		case closed:
			return closed, 0, now.refusal(&c.options)
		case starting:
		default:
			return now.phase, now.generation, nil
		}
		if timeout == nil {
			timer := time.NewTimer(c.options.BlockTimeout)
			defer timer.Stop()
			timeout = timer.C
		}
		select {
		case <-now.changed:
		case <-timeout:
			return starting, 0, nil
		case <-ctx.Done():
			return starting, 0, ctx.Err()
		}
	}
}

// refuse is the error for a request that needs the cache.
func (c *Cacher) refuse() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.readiness.refusal(&c.options)
}
