package cacher

import (
	"context"
	"errors"
	"time"

	"github.com/listwatch/listwatch/fakeserver/storage"
)

// WatchLister is a Store that can begin a watch with the state, so that there
// is no gap between list and watch that a compaction could fall into.
type WatchLister interface {
	storage.Store
	// WatchList delivers a Put for every key under prefix, then a Progress event
	// at the revision of which these are the state, then what a Watch from there
	// delivers. Errors: the Store's.
	WatchList(ctx context.Context, prefix string) (storage.Watch, error)
}

// opened is the collection at a revision, and a watch from there on.
type opened struct {
	items    []*Item
	revision int64
	source   storage.Watch
}

// openAttempts bounds how often the collection is read again at once, because a
// compaction came before the watch, or because the store went back.
const openAttempts = 5

// open reads the collection and opens a watch from there on.
func (c *Cacher) open(ctx context.Context) (result opened, err error) {
	for range openAttempts {
		if lister, ok := c.options.Store.(WatchLister); ok {
			result, err = c.watchList(ctx, lister)
		} else {
			result, err = c.listAndWatch(ctx)
		}
		if err == nil {
			err = c.accept(result.revision)
			if err != nil {
				result.source.Close()
			}
		}
		if !errors.Is(err, storage.ErrCompacted) && !errors.Is(err, errWentBack) {
			break
		}
	}
	return result, err
}

// accept refuses a collection of a revision from before the cache's: items of
// the cache may be in it that have nothing but the version in common with what
// is stored now. They are forgotten.
func (c *Cacher) accept(revision int64) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if uint64(revision) >= c.rv {
		return nil
	}
	err := wentBack(c.rv, uint64(revision))
	c.forget()
	return err
}

// listAndWatch reads page by page, then watches.
func (c *Cacher) listAndWatch(ctx context.Context) (opened, error) {
	items, revision, err := c.listStore(ctx)
	if err != nil {
		return opened{}, err
	}
	source, err := c.options.Store.Watch(ctx, c.options.Prefix, storage.WatchOptions{Revision: revision})
	return opened{items: items, revision: revision, source: source}, err
}

// watchList reads the state off a watch.
func (c *Cacher) watchList(ctx context.Context, lister WatchLister) (opened, error) {
	source, err := lister.WatchList(ctx, c.options.Prefix)
	if err != nil {
		return opened{}, err
	}
	result := opened{source: source}
	for {
		events, err := source.Next(ctx)
		for i := range events {
			if events[i].Type == storage.Progress && err == nil {
				result.revision = events[i].KV.ModRevision
				result.source = &rest{Watch: source, events: events[i+1:]}
				return result, nil
			}
			var item *Item
			if item, err = c.itemOf(events[i].KV); err != nil {
				break
			}
			result.items = append(result.items, item)
		}
		if err != nil {
			source.Close()
			return opened{}, err
		}
	}
}

// rest is a watch some events of which were read ahead.
type rest struct {
	storage.Watch
	events []storage.Event
}

// Next returns what was read ahead first.
func (r *rest) Next(ctx context.Context) ([]storage.Event, error) {
	if len(r.events) > 0 {
		events := r.events
		r.events = nil
		return events, nil
	}
	return r.Watch.Next(ctx)
}

// listStore reads the whole collection, in pages at one revision.
func (c *Cacher) listStore(ctx context.Context) ([]*Item, int64, error) {
	var items []*Item
	opts := storage.ListOptions{Limit: c.options.PageSize}
	for {
		began := time.Now()
		result, err := c.options.Store.List(ctx, c.options.Prefix, opts)
		if err != nil {
			return nil, 0, err
		}
		before := len(items)
		for _, kv := range result.KVs {
			item, err := c.itemOf(kv)
			if err != nil {
				return nil, 0, err
			}
			items = append(items, item)
		}
		c.metrics.listedStore(began, &page{items: items[before:], fetched: len(result.KVs)})
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
	var known *Item
	c.mu.Lock()
	if c.writer != nil {
		known, _ = c.writer.Get(kv.Key[len(c.options.Prefix):])
	}
	c.mu.Unlock()
	if known != nil && known.ResourceVersion == uint64(kv.ModRevision) {
		return known, nil
	}
	return c.decode(kv)
}
