package cacher

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/tidwall/btree"

	"github.com/listwatch/listwatch/internal/worker"
)

// Cacher serves the reads and watches of one resource out of memory. Make it
// with New. All methods may be called concurrently.
type Cacher struct {
	options Options
	group   *worker.Group
	buckets buckets // of bookmarks
	metrics metrics
	// revisions and pages share what readers ask the store.
	revisions flights[struct{}, uint64]
	pages     flights[pageKey, storedPage]
	// resumed is when the feed last tried to watch again; only the feed uses it.
	resumed time.Time
	// bookmarked counts the store's progress notifications; only the feed uses it.
	bookmarked int

	mu sync.Mutex
	// All below is guarded by mu, which nobody holds while calling out, waiting
	// or sending.

	readiness readiness
	// rv is the resource version that the cache has reached: all changes up to it
	// are in. Invariant: not less than that of any change in the window.
	rv uint64
	// writer is the feed's own tree, nil if nothing is known; latest is the published
	// copy of it, zero until somebody needs it (see state).
	writer *tree
	latest state
	// triggers is the index of writer.
	triggers *triggerIndex
	window   window
	// idle is the timer that shrinks an idle window; nil while that is small.
	idle *time.Timer
	// trusted is the least resource version whose snapshot may be served.
	trusted uint64

	// demanded is the resource version that every watcher is to be told of.
	demanded uint64
	watchers registry
	waiters  waiters
	progress progress
}

// New starts a Cacher, which fills itself from the store. Close it after use.
// Errors: ErrOptions.
func New(options Options) (*Cacher, error) {
	options, err := options.withDefaults()
	if err != nil {
		return nil, err
	}
	c := &Cacher{
		options:   options,
		group:     worker.New(context.Background()),
		buckets:   buckets{born: time.Now(), seed: rand.Uint64()},
		metrics:   newMetrics(&options),
		readiness: newReadiness(),
		window:    newWindow(&options),
		watchers:  newRegistry(&options),
	}
	c.watchers.terminated = c.metrics.terminated
	c.watchers.shards = shardMetrics{watches: c.metrics.shardedWatches, filtered: c.metrics.shardFiltered}
	c.group.Go("cacher feed "+options.GroupResource.String(), c.runFeed)
	if options.CheckPeriod > 0 {
		c.group.Go("cacher check "+options.GroupResource.String(), c.runChecker)
	}
	return c, nil
}

// Close ends all watchers in an orderly way, fails what waits, and returns when
// the feed is gone. It may be called again.
func (c *Cacher) Close() {
	c.group.StopAndWait()
	c.mu.Lock()
	c.readiness.to(closed, ErrClosed)
	ended := c.watchers.endAll()
	if c.idle != nil {
		c.idle.Stop()
	}
	c.mu.Unlock()
	wakeAll(ended)
}

// DropWatches ends all watchers in an orderly way and returns how many.
func (c *Cacher) DropWatches() int {
	c.mu.Lock()
	ended := c.watchers.endAll()
	c.mu.Unlock()
	wakeAll(ended)
	return len(ended)
}

// DrainWatches ends all watchers in an orderly way once each has delivered what
// has happened so far, for a collection that goes away: nobody could ask for the
// rest later.
func (c *Cacher) DrainWatches() {
	c.mu.Lock()
	all := c.watchers.all()
	for _, w := range all {
		c.watchers.drain(w)
	}
	c.mu.Unlock()
	wakeAll(all)
}

// Compacted says that history before revision must no longer be served: a watch
// from before it gets 410, as does a list at an older resource version. Open
// watchers are not harmed.
func (c *Cacher) Compacted(revision int64) {
	c.mu.Lock()
	c.window.compact(uint64(max(0, revision)))
	behind := c.rv < uint64(max(0, revision))
	c.mu.Unlock()
	if behind {
		// An idle resource's version would else be one that no watch may start from.
		c.requestProgress()
	}
}

// replace makes items, sorted by key, the collection at rv: what went before is
// no longer known.
func (c *Cacher) replace(items []*Item, rv uint64) {
	built := btree.NewMap[string, *Item](treeDegree)
	index := newTriggerIndex(c.options.TriggerField)
	for _, item := range items {
		built.Set(item.Key, item)
		index.update(nil, item)
	}
	c.mu.Lock()
	c.writer, c.triggers = built, index
	c.latest = state{built.Copy(), index.copy()}
	c.window.reset(c.latest, rv)
	c.metrics.capacity(float64(len(c.window.ring)))
	c.rv = rv
	c.readiness.to(ready, nil)
	reached := c.waiters.reached(rv)
	c.mu.Unlock()
	closeAll(reached)
	c.metrics.at(rv)
}

// apply adds events that the feed heard of at a time, and wakes each watcher once
// for all of them.
func (c *Cacher) apply(batch []arrival, heard time.Time) {
	if len(batch) == 0 {
		return
	}
	now := time.Now()
	lag := now.Sub(heard)
	c.mu.Lock()
	if c.readiness.phase != ready { // a read found out that the store went back
		c.mu.Unlock()
		return
	}
	for _, arrived := range batch {
		c.applyOne(arrived, now, lag)
	}
	woken := c.watchers.takeWoken()
	reached := c.waiters.reached(c.rv)
	rv := c.rv
	c.mu.Unlock()
	closeAll(reached)
	wakeAll(woken)
	clear(woken)
	c.metrics.cached(float64(len(batch)))
	c.metrics.at(rv)
}

// applyOne adds one event. It needs mu.
func (c *Cacher) applyOne(arrived arrival, now time.Time, lag time.Duration) {
	var prev *Item
	next := arrived.next
	if next != nil {
		prev, _ = c.writer.Set(arrived.key, next)
	} else {
		prev, _ = c.writer.Delete(arrived.key)
	}
	c.triggers.update(prev, next)
	c.rv = max(c.rv, arrived.rv)
	if prev == nil && next == nil {
		return
	}
	c.latest = state{}
	added := &change{rv: arrived.rv, at: now, lag: lag, prev: prev, next: next}
	if c.window.due(c.writer.Len()) {
		added.state = c.state()
	}
	before := len(c.window.ring)
	c.window.add(added)
	c.resized(before)
	c.armIdle()
	c.watchers.dispatch(added)
	c.metrics.dispatched(1)
}

// reached is the resource version that the cache has reached.
func (c *Cacher) reached() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.rv
}

// progressed handles the store's word that all changes up to rv were delivered.
func (c *Cacher) progressed(rv uint64) {
	now := time.Now()
	c.mu.Lock()
	var reached []chan struct{}
	if c.readiness.phase == ready {
		c.rv = max(c.rv, rv)
		reached = c.waiters.reached(c.rv)
	}
	answered, again := c.progress.arrived(now)
	c.mu.Unlock()
	closeAll(reached)
	closeAll(answered)
	if again != nil {
		again.RequestProgress()
	}
	c.metrics.at(rv)
}

// interrupted handles the end of a generation: what comes next does not follow
// what was, so that watchers end.
func (c *Cacher) interrupted(cause error) {
	c.mu.Lock()
	if errors.Is(cause, errWentBack) {
		c.forget()
	}
	c.readiness.to(pending, cause)
	ended := c.watchers.endAll()
	c.mu.Unlock()
	wakeAll(ended)
}

// distrust ends a generation, if it is still there, and makes the feed start
// over: a read found out that the store went back.
func (c *Cacher) distrust(generation uint64, cause error) {
	c.mu.Lock()
	current := c.readiness.phase == ready && c.readiness.generation == generation
	abandon := c.progress.abandon
	c.mu.Unlock()
	if !current {
		return
	}
	c.interrupted(cause)
	if abandon != nil {
		abandon(cause)
	}
}

// forget drops the state, of which nothing may be used any more. It needs mu.
func (c *Cacher) forget() {
	c.writer, c.triggers, c.latest, c.rv, c.demanded = nil, nil, state{}, 0, 0
}

// closeAll closes channels that somebody waits on.
func closeAll(channels []chan struct{}) {
	for _, channel := range channels {
		close(channel)
	}
}
