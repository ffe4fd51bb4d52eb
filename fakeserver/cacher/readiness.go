package cacher

import (
	"context"
	"fmt"
	"time"
)

// phase of a Cacher. What leads out of each:
//
//	initializing  the list is done: ready; it fails: failed
//	ready         the watch breaks: initializing
//	failed        the next list is done: ready
//	closed        nothing; Close leads here from anywhere
type phase uint8

const (
	// initializing: the first list, or one after the watch broke. Requests wait.
	initializing phase = iota
	// ready: the cache follows the store.
	ready
	// failed: the last list failed and is tried again. Requests are refused.
	failed
	// closed is final.
	closed
)

// readiness is the phase and who waits for the next one. Its methods need the
// Cacher's mutex.
type readiness struct {
	phase phase
	cause error
	// changed is closed when the phase changes.
	changed chan struct{}
}

func newReadiness() readiness { return readiness{changed: make(chan struct{})} }

// to enters a phase. Nothing follows closed.
func (r *readiness) to(next phase, cause error) {
	if r.phase == closed {
		return
	}
	r.phase, r.cause = next, cause
	close(r.changed)
	r.changed = make(chan struct{})
}

// awaitReady waits while the cache initializes, as long as a request may block.
// Errors: 429 if it is not ready then, ErrClosed, ctx's error.
func (c *Cacher) awaitReady(ctx context.Context) error {
	var timeout <-chan time.Time // made when first needed
	for {
		c.mu.Lock()
		now, cause, changed := c.readiness.phase, c.readiness.cause, c.readiness.changed
		c.mu.Unlock()
		switch now {
		case ready:
			return nil
		case failed:
			return notReady(cause)
		case closed:
			return fmt.Errorf("cacher: %s: %w", c.options.GroupResource, ErrClosed)
		}
		if timeout == nil {
			timer := time.NewTimer(c.options.BlockTimeout)
			defer timer.Stop()
			timeout = timer.C
		}
		select {
		case <-changed:
		case <-timeout:
			return notReady(cause)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
