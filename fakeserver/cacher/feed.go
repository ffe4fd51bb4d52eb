package cacher

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/klog/v2"

	"github.com/listwatch/listwatch/fakeserver/storage"
)

// runFeed keeps the cache at the store's state until ctx ends: list, watch, and
// again if the watch breaks.
func (c *Cacher) runFeed(ctx context.Context) {
	for {
		start := time.Now()
		synced, err := c.feedOnce(ctx)
		if ctx.Err() != nil {
			return
		}
		klog.FromContext(ctx).V(2).Info("Cacher feed restarts", "resource", c.options.GroupResource, "err", err)
		if synced {
			c.interrupted(initializing, err)
		} else {
			c.interrupted(failed, err)
		}
		if !pause(ctx, restartDelay(synced, time.Since(start), c.options.RestartDelay)) {
			return
		}
	}
}

// restartDelay is how long the feed pauses after a run of some duration. One
// that went well for a while goes on at once.
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

// openAttempts bounds how often a list is repeated because a compaction came
// before it was finished.
const openAttempts = 5

// open lists, and opens a watch from there on. A compaction in between makes it
// start over at once: there is nothing to wait for.
func (c *Cacher) open(ctx context.Context) (items []*Item, revision int64, source storage.Watch, err error) {
	for range openAttempts {
		items, revision, err = c.listStore(ctx)
		if err == nil {
			source, err = c.options.Store.Watch(ctx, c.options.Prefix, storage.WatchOptions{Revision: revision})
		}
		if !errors.Is(err, storage.ErrCompacted) {
			break
		}
	}
	return items, revision, source, err
}

// feedOnce lists and then watches until something fails. synced says whether
// it got as far as watching.
func (c *Cacher) feedOnce(ctx context.Context) (synced bool, err error) {
	items, revision, source, err := c.open(ctx)
	if err != nil {
		return false, err
	}
	defer source.Close()
	c.replace(items, uint64(revision))
	c.setSource(source)
	for {
		events, err := source.Next(ctx)
		if err != nil {
			return true, err
		}
		for _, event := range events {
			if err := c.feed(event); err != nil {
				return true, err
			}
		}
	}
}

// feed handles one event of the store's watch.
func (c *Cacher) feed(event storage.Event) error {
	switch event.Type {
	case storage.Put:
		item, err := c.options.newItem(event.KV)
		if err != nil {
			return fmt.Errorf("decoding %q: %w", event.KV.Key, err)
		}
		c.apply(event, item)
	case storage.Delete:
		c.apply(event, nil)
	case storage.Progress:
		c.progressed(uint64(event.KV.ModRevision))
	}
	return nil
}

// listStore reads the whole collection, in pages at one revision.
func (c *Cacher) listStore(ctx context.Context) ([]*Item, int64, error) {
	var items []*Item
	opts := storage.ListOptions{Limit: c.options.PageSize}
	for {
		result, err := c.options.Store.List(ctx, c.options.Prefix, opts)
		if err != nil {
			return nil, 0, err
		}
		for _, kv := range result.KVs {
			item, err := c.itemOf(kv)
			if err != nil {
				return nil, 0, err
			}
			items = append(items, item)
		}
		if !result.More || len(result.KVs) == 0 {
			return items, result.Revision, nil
		}
		opts.Revision = result.Revision
		opts.From = result.KVs[len(result.KVs)-1].Key + "\x00"
	}
}

// itemOf returns the item of a stored version: the cache's own if it has that
// version as its newest, so that the work of decoding and encoding is shared.
func (c *Cacher) itemOf(kv storage.KeyValue) (*Item, error) {
	c.mu.Lock()
	latest := c.latest
	c.mu.Unlock()
	if latest.items != nil {
		if item := latest.get(kv.Key[len(c.options.Prefix):]); item != nil && item.ResourceVersion == uint64(kv.ModRevision) {
			return item, nil
		}
	}
	item, err := c.options.newItem(kv)
	if err != nil {
		return nil, fmt.Errorf("decoding %q: %w", kv.Key, err)
	}
	return item, nil
}
