package cacher

import (
	"context"
	"time"
)

// settleLimit bounds how long a writer waits for the cache.
const settleLimit = 100 * time.Millisecond

// Settle returns when the cache has taken in the write of the revision, so that
// whoever is told of the write then finds it, whatever resource version he reads
// at. It waits at most 100 ms, and not at all for a cache that is not ready: a
// cache that lags behind its store, as those of real servers do, is no reason
// to hold up writes. It does not ask the store for anything.
func (c *Cacher) Settle(ctx context.Context, revision int64) {
	rv := uint64(max(0, revision))
	c.mu.Lock()
	if c.readiness.phase != ready || c.rv >= rv {
		c.mu.Unlock()
		return
	}
	reached := c.waiters.addQuiet(rv)
	c.mu.Unlock()
	limit := time.NewTimer(settleLimit)
	defer limit.Stop()
	select {
	case <-reached:
		return
	case <-limit.C:
	case <-ctx.Done():
	case <-c.group.Context().Done():
	}
	c.mu.Lock()
	c.waiters.remove(reached)
	c.mu.Unlock()
}
