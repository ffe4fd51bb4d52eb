package cacher

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/klog/v2"

	"github.com/listwatch/listwatch/fakeserver/storage"
)

// runFeed keeps the cache at the store's state until ctx ends. Each round is one
// generation of the cache.
func (c *Cacher) runFeed(ctx context.Context) {
	for {
		start := time.Now()
		synced, err := c.feedGeneration(ctx)
		if ctx.Err() != nil {
			return
		}
		klog.FromContext(ctx).V(2).Info("Cacher feed starts over", "resource", c.options.GroupResource, "err", err)
		if !synced {
			c.metrics.initErrors(1)
		}
		c.interrupted(err)
		if !pause(ctx, restartDelay(synced, time.Since(start), c.options.RestartDelay)) {
			return
		}
	}
}

// restartDelay is how long the feed pauses after a generation of some duration.
// One that went well for a while is followed at once.
func restartDelay(synced bool, ran, delay time.Duration) time.Duration {
	if synced && ran >= delay {
		return 0
	}
	return delay
}

// pause waits, and reports whether ctx is still alive.
func pause(ctx context.Context, delay time.Duration) bool {
	timer := time.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// feedGeneration fills the cache and then follows the store until what is in
// the cache cannot be gone on from. synced says whether it was filled.
func (c *Cacher) feedGeneration(ctx context.Context) (synced bool, err error) {
	start := time.Now()
	opened, err := c.open(ctx)
	if err != nil {
		return false, err
	}
	c.metrics.initSeconds(time.Since(start).Seconds())
	c.metrics.initializations(1)
	c.replace(opened.items, uint64(opened.revision))
	for source := opened.source; ; {
		err = c.pump(ctx, source)
		if source, err = c.resume(ctx, err); err != nil {
			return true, err
		}
	}
}

// pump takes events until the source fails, and closes it.
func (c *Cacher) pump(ctx context.Context, source storage.Watch) error {
	defer source.Close()
	ctx, abandon := context.WithCancelCause(ctx)
	defer abandon(nil)
	c.setSource(source, abandon)
	defer c.dropSource()
	for {
		events, err := source.Next(ctx)
		if cause := context.Cause(ctx); cause != nil {
			return cause
		}
		if err != nil {
			return err
		}
		if err := c.feed(ctx, events); err != nil {
			return err
		}
	}
}

// batchSize is how many events are applied at once, at most: more would make the
// first of them wait for the others to be decoded.
const batchSize = 8

// feed handles events of the store's watch.
func (c *Cacher) feed(ctx context.Context, events []storage.Event) error {
	heard, reached := time.Now(), c.reached()
	size := batchSize
	if limit := c.options.LagLimit; limit > 0 {
		size = min(size, limit) // so that it takes more than one to be too slow
	}
	batch := make([]arrival, 0, min(len(events), size))
	for _, event := range events {
		revision := uint64(event.KV.ModRevision)
		if len(batch) == size || event.Type == storage.Progress {
			c.apply(batch, heard)
			batch = batch[:0]
		}
		if event.Type == storage.Progress {
			if err := c.feedProgress(ctx, revision, reached); err != nil {
				return err
			}
			reached = max(reached, revision)
			continue
		}
		c.metrics.received(1)
		arrived, err := c.arrive(ctx, event, reached)
		if err != nil {
			c.apply(batch, heard)
			return err
		}
		batch = append(batch, arrived)
		reached = revision
	}
	c.apply(batch, heard)
	return nil
}

// feedProgress handles the store's word that there is nothing else up to revision.
func (c *Cacher) feedProgress(ctx context.Context, revision, reached uint64) error {
	c.bookmarked++
	c.metrics.progress(1)
	c.metrics.progressNow(float64(c.bookmarked))
	if revision < reached {
		return c.verify(ctx, reached)
	}
	c.progressed(revision)
	return nil
}

// arrival is an event that can be applied.
type arrival struct {
	// key is that of an Item.
	key string
	rv  uint64
	// next is the new version, nil of a deletion.
	next *Item
}

// arrive decodes an event that came after what is at reached.
func (c *Cacher) arrive(ctx context.Context, event storage.Event, reached uint64) (arrival, error) {
	revision := uint64(event.KV.ModRevision)
	if revision < reached {
		return arrival{}, wentBack(reached, revision)
	}
	arrived := arrival{key: event.KV.Key[len(c.options.Prefix):], rv: revision}
	if event.Type == storage.Put {
		var err error
		if arrived.next, err = c.decode(event.KV); err != nil {
			klog.FromContext(ctx).Error(err, "Cacher feed stops at an event that it cannot cache",
				"resource", c.options.GroupResource, "resourceVersion", revision)
			return arrival{}, err
		}
	}
	return arrived, nil
}

// verify asks the store itself whether it is behind what the cache has seen. A
// replica of it may be, and is no reason to start over.
func (c *Cacher) verify(ctx context.Context, reached uint64) error {
	current, err := c.options.Store.CurrentRevision(ctx)
	if err == nil && uint64(current) < reached {
		err = wentBack(reached, uint64(current))
	}
	return err
}

// feedStep is what the feed does after a failure.
type feedStep uint8

const (
	// watchAgain: from where it got to; nothing is lost, and nobody notices.
	watchAgain feedStep = iota
	// probeObject: see whether the object that did not decode is gone.
	probeObject
	// startOver: with a new generation.
	startOver
)

// afterFailure decides how the feed goes on after err; failing is for how long
// it has had nothing but failures. What cannot be decoded is waited for only so
// long: the cache falls behind, and reads shall not be stale for ever.
func afterFailure(err error, failing, patience time.Duration) feedStep {
	var bad *undecodable
	switch {
	case errors.Is(err, storage.ErrCompacted), errors.Is(err, errWentBack):
		return startOver
	case !errors.As(err, &bad):
		return watchAgain
	case failing < patience:
		return probeObject
	default:
		return startOver
	}
}

// resume opens a watch that goes on where the last one failed with cause. The
// cache stays ready meanwhile. It returns an error if the feed has to start
// over.
func (c *Cacher) resume(ctx context.Context, cause error) (storage.Watch, error) {
	start := time.Now()
	for attempt := 0; ; attempt++ {
		step := afterFailure(cause, time.Since(start), c.options.DecodePatience)
		if ctx.Err() != nil || step == startOver {
			return nil, cause
		}
		// The first attempt comes at once, unless a watch broke just now, too.
		if attempt > 0 || step == probeObject || time.Since(c.resumed) < c.options.RestartDelay {
			if !pause(ctx, c.options.RestartDelay) {
				return nil, ctx.Err()
			}
		}
		c.resumed = time.Now()
		if step == probeObject {
			if c.repaired(ctx, cause) {
				return nil, cause
			}
			continue
		}
		source, err := c.reopen(ctx)
		if err == nil {
			return source, nil
		}
		klog.FromContext(ctx).V(2).Info("Cacher feed cannot watch", "resource", c.options.GroupResource, "err", err)
		cause = err
	}
}

// reopen opens a watch from the cache's version on, of a store that still has
// that.
func (c *Cacher) reopen(ctx context.Context) (storage.Watch, error) {
	c.mu.Lock()
	reached, now := c.rv, c.readiness
	c.mu.Unlock()
	if now.phase != ready { // a read found out that the store went back
		return nil, now.cause
	}
	source, err := c.options.Store.Watch(ctx, c.options.Prefix, storage.WatchOptions{Revision: int64(reached)})
	if err != nil {
		return nil, err
	}
	// A watch of a store that went back would wait until it comes to where it was.
	if err := c.verify(ctx, reached); err != nil {
		source.Close()
		return nil, err
	}
	return source, nil
}

// repaired says whether the object whose version did not decode was deleted, or
// has one now that does.
func (c *Cacher) repaired(ctx context.Context, cause error) bool {
	var bad *undecodable
	if !errors.As(cause, &bad) {
		return false
	}
	kv, err := c.options.Store.Get(ctx, bad.key, 0)
	if err == nil {
		_, err = c.options.newItem(kv)
		return err == nil
	}
	return errors.Is(err, storage.ErrNotFound)
}

// decode makes the item of a stored version. Errors: *undecodable.
func (c *Cacher) decode(kv storage.KeyValue) (*Item, error) {
	item, err := c.options.newItem(kv)
	if err != nil {
		c.metrics.decodeErrors(1)
		return nil, &undecodable{key: kv.Key, cause: err}
	}
	return item, nil
}

// undecodable is the failure to make an object of what is stored.
type undecodable struct {
	key   string
	cause error
}

func (u *undecodable) Error() string { return fmt.Sprintf("decoding %q: %v", u.key, u.cause) }

func (u *undecodable) Unwrap() error { return u.cause }
