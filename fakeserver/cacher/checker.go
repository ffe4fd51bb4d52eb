package cacher

import (
	"context"
	"errors"
	"fmt"
	"hash"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"strconv"
	"time"

	"k8s.io/klog/v2"

	"github.com/listwatch/listwatch/fakeserver/storage"
)

// checkJitter is by which part of itself the period of checks is extended at
// random, so that the Cachers of a server do not check all at once.
const checkJitter = 0.5

// runChecker compares cache and store now and then.
func (c *Cacher) runChecker(ctx context.Context) {
	for pause(ctx, checkDelay(c.options.CheckPeriod, rand.Float64())) {
		c.check(ctx)
	}
}

// checkDelay is the time to the next check; random is in [0, 1).
func checkDelay(period time.Duration, random float64) time.Duration {
	return period + time.Duration(random*checkJitter*float64(period))
}

// check compares once. While cache and store differ, states from the past are
// read from the store: whatever went wrong, they may have it.
func (c *Cacher) check(ctx context.Context) {
	log := klog.FromContext(ctx).WithValues("resource", c.options.GroupResource)
	result, err := c.compare(ctx)
	switch {
	case ctx.Err() != nil:
	case err != nil:
		c.metrics.checkError(1)
		log.V(2).Info("Cache could not be compared with the store", "err", err)
	case result.equal():
		c.metrics.checkSuccess(1)
		c.mu.Lock()
		if c.trusted == math.MaxUint64 {
			c.trusted = result.rv
		}
		c.mu.Unlock()
	default:
		c.metrics.checkFailure(1)
		log.Error(nil, "Cache differs from the store", "comparison", result)
		c.mu.Lock()
		c.trusted = math.MaxUint64
		c.mu.Unlock()
		if c.options.PanicOnInconsistency {
			panic(fmt.Sprintf("cacher: %s: cache differs from the store: %s", c.options.GroupResource, result))
		}
	}
}

// compare compares the newest state with what the store has at its revision.
// Errors: 429 if the cache is not ready, the store's.
func (c *Cacher) compare(ctx context.Context) (*comparison, error) {
	c.mu.Lock()
	if c.readiness.phase != ready {
		defer c.mu.Unlock()
		return nil, c.readiness.refusal(&c.options)
	}
	result := newComparison(c.state(), c.rv)
	generation := c.readiness.generation
	c.mu.Unlock()
	read := storage.ListOptions{Revision: int64(result.rv), Limit: c.options.PageSize}
	for {
		page, err := c.options.Store.List(ctx, c.options.Prefix, read)
		if errors.Is(err, storage.ErrFutureRevision) {
			c.recheck(ctx, generation, result.rv)
		}
		if err != nil {
			return nil, err
		}
		for _, kv := range page.KVs {
			result.stored(kv.Key[len(c.options.Prefix):], uint64(kv.ModRevision))
		}
		if !page.More || len(page.KVs) == 0 {
			result.end()
			return result, nil
		}
		read.From = page.KVs[len(page.KVs)-1].Key + "\x00"
	}
}

// recheck starts over if the store does not know a revision that it had.
func (c *Cacher) recheck(ctx context.Context, generation, seen uint64) {
	if err := c.verify(ctx, seen); errors.Is(err, errWentBack) {
		c.distrust(generation, err)
	}
}

// comparison of a state of the cache with the store's keys, which come in order.
type comparison struct {
	rv uint64
	// left are the cached items from at on.
	left state
	at   int
	// Sums over keys and versions.
	cacheSum, storeSum hash.Hash64
	// first is what differs first; "" as long as nothing does.
	first string
}

func newComparison(cached state, rv uint64) *comparison {
	return &comparison{rv: rv, left: cached, cacheSum: fnv.New64(), storeSum: fnv.New64()}
}

// stored takes the store's next key.
func (c *comparison) stored(key string, rv uint64) {
	add(c.storeSum, key, rv)
	item := c.cached()
	if c.first == "" && (item == nil || item.Key != key || item.ResourceVersion != rv) {
		c.first = fmt.Sprintf("the store has %s@%d where the cache has %s", key, rv, named(item))
	}
}

// cached takes the cache's next item, nil at the end.
func (c *comparison) cached() *Item {
	_, item, ok := c.left.items.GetAt(c.at)
	if !ok {
		return nil
	}
	c.at++
	add(c.cacheSum, item.Key, item.ResourceVersion)
	return item
}

// end takes what is left in the cache.
func (c *comparison) end() {
	for item := c.cached(); item != nil; item = c.cached() {
		if c.first == "" {
			c.first = fmt.Sprintf("the store has nothing where the cache has %s", named(item))
		}
	}
}

// equal says whether both sides were the same.
func (c *comparison) equal() bool { return c.cacheSum.Sum64() == c.storeSum.Sum64() }

// String is for logs.
func (c *comparison) String() string {
	return fmt.Sprintf("at %d: cache %016x, store %016x; %s", c.rv, c.cacheSum.Sum64(), c.storeSum.Sum64(), c.first)
}

// named writes an item's key and version.
func named(item *Item) string {
	if item == nil {
		return "nothing"
	}
	return fmt.Sprintf("%s@%d", item.Key, item.ResourceVersion)
}

// add adds a key and its version to a sum.
func add(sum hash.Hash64, key string, rv uint64) {
	sum.Write(strconv.AppendUint(append([]byte(key), '/'), rv, 10))
	sum.Write([]byte{'\n'})
}
