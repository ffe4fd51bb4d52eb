package cacher

import (
	"context"
	"time"
)

// state returns the newest state. It is made when somebody asks for it: until
// then the writer need not copy what it changes. It needs mu.
func (c *Cacher) state() state {
	if c.latest.items == nil && c.writer != nil {
		c.latest = state{c.writer.Copy(), c.triggers.copy()}
	}
	return c.latest
}

// Forgetful is what a Store may be that compacts by itself.
type Forgetful interface {
	// Compacted returns the oldest revision that can still be read.
	Compacted() int64
}

// heedCompaction drops states that the store has forgotten by itself: who asks for
// one is to get the same answer whether the cache has it or not. Watches may still
// begin there, as on a real server, whose window does not mind compaction.
func (c *Cacher) heedCompaction() {
	store, ok := c.options.Store.(Forgetful)
	if !ok {
		return
	}
	compacted := uint64(max(0, store.Compacted()))
	c.mu.Lock()
	c.window.forget(compacted)
	c.mu.Unlock()
}

// hasSnapshot says whether the state at rv, which the cache has reached, is known
// and to be relied on. It needs mu.
func (c *Cacher) hasSnapshot(rv uint64) bool { return rv >= c.trusted && c.window.knows(rv) }

// snapshot returns that state. It is made from one that was kept, or the newest,
// and then kept as well: pages of one list come in rows.
func (c *Cacher) snapshot(rv uint64) (state, bool) {
	c.mu.Lock()
	if !c.hasSnapshot(rv) {
		c.mu.Unlock()
		return state{}, false
	}
	seq := c.window.after(rv)
	known, at := c.window.nearest(seq)
	if known.items == nil {
		known = c.state()
	}
	if at == seq {
		c.mu.Unlock()
		return known, true
	}
	undo := make([]*change, 0, at-seq)
	for i := at; i > seq; i-- {
		undo = append(undo, c.window.get(i-1))
	}
	made := state{known.items.Copy(), known.byTrigger.copy()} // under mu: it marks the originals, too
	c.mu.Unlock()

	for _, change := range undo {
		made.byTrigger.update(change.next, change.prev)
		if change.prev != nil {
			made.items.Set(change.prev.Key, change.prev)
		} else {
			made.items.Delete(change.next.Key)
		}
	}
	c.mu.Lock()
	c.window.keep(seq, made)
	c.mu.Unlock()
	return made, true
}

// armIdle makes sure that a window larger than it need be shrinks when nothing
// comes any more. It needs mu.
func (c *Cacher) armIdle() {
	if c.idle == nil && len(c.window.ring) > c.window.min {
		c.idle = time.AfterFunc(c.options.Fresh, c.onIdle)
	}
}

// onIdle runs shrinkIdle where Close waits for it.
func (c *Cacher) onIdle() {
	c.group.Go("cacher window "+c.options.GroupResource.String(), func(context.Context) { c.shrinkIdle() })
}

// shrinkIdle halves the window if it is idle, and comes back as long as there is
// something to do.
func (c *Cacher) shrinkIdle() {
	c.mu.Lock()
	defer c.mu.Unlock()
	before := len(c.window.ring)
	if again := c.window.idle(time.Now()); again > 0 {
		c.idle.Reset(again)
	} else {
		c.idle = nil
	}
	c.resized(before)
}

// resized records a change of the window's capacity. It needs mu.
func (c *Cacher) resized(before int) {
	now := len(c.window.ring)
	switch {
	case now == before:
		return
	case now > before:
		c.metrics.grown(1)
	default:
		c.metrics.shrunk(1)
	}
	c.metrics.capacity(float64(now))
}
