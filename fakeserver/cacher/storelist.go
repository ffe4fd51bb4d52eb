package cacher

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/listwatch/listwatch/fakeserver/storage"
)

// pageKey is a read of the store that several lists can share.
type pageKey struct {
	prefix string
	read   storage.ListOptions
}

// storedPage is what it returns: one item for each of the result's keys.
type storedPage struct {
	storage.ListResult
	items []*Item
}

// readPage reads a page of the store and decodes it.
func (c *Cacher) readPage(ctx context.Context, key pageKey) (storedPage, error) {
	return c.pages.do(ctx, key, func(ctx context.Context) (storedPage, error) {
		result, err := c.options.Store.List(ctx, key.prefix, key.read)
		if err != nil {
			return storedPage{}, err
		}
		page := storedPage{ListResult: result, items: make([]*Item, len(result.KVs))}
		for i, kv := range result.KVs {
			if page.items[i], err = c.itemOf(kv); err != nil {
				return storedPage{}, err
			}
		}
		return page, nil
	})
}

// listFromStore reads a page from the store: at the need's resource version if
// that is to be exact, otherwise at the newest, which must not be older.
func (c *Cacher) listFromStore(ctx context.Context, opts *ListOptions, need listNeed) (ListResult, error) {
	if need.kind == anyState {
		need.limit = max(0, opts.Limit) // the store minds it
	}
	key := pageKey{prefix: c.options.Prefix, read: storage.ListOptions{Limit: need.limit}}
	if need.kind == exactState {
		key.read.Revision = int64(need.rv)
	}
	if opts.Namespace != "" {
		key.prefix += opts.Namespace + "/"
	}
	if need.from != "" {
		key.read.From = c.options.Prefix + need.from
	}
	if need.single {
		key.read.From, key.read.Limit = max(key.read.From, key.prefix+opts.Name), 1
	}
	var found page
	defer func(began time.Time) { c.metrics.listedStore(began, &found) }(time.Now())
	for {
		read, err := c.readPage(ctx, key)
		if err != nil {
			return ListResult{}, c.storeListError(ctx, err, opts, need)
		}
		if uint64(read.Revision) < need.rv {
			return ListResult{}, tooLargeAtOnce(need.rv, uint64(read.Revision))
		}
		key.read.Revision = read.Revision
		if !c.collect(&found, read, opts, need.limit) || need.single {
			return answer(found, &opts.Predicate, uint64(read.Revision)), nil
		}
		// A selector left the page short: read further, in growing steps.
		key.read.From = read.KVs[len(read.KVs)-1].Key + "\x00"
		key.read.Limit = min(key.read.Limit*2, c.options.PageSize)
	}
}

// collect adds what matches of a page of the store, and reports whether the
// next one is needed.
func (c *Cacher) collect(found *page, read storedPage, opts *ListOptions, limit int64) bool {
	for i, item := range read.items {
		found.fetched++
		if opts.matches(item) {
			found.items = append(found.items, item)
		}
		if item.Key == joinKey(opts.Namespace, opts.Name) {
			return false // nothing else can match
		}
		after := read.Count - int64(i) - 1
		if limit > 0 && int64(len(found.items)) == limit {
			if after > 0 {
				found.next, found.remaining = strings.TrimPrefix(read.KVs[i].Key, c.options.Prefix)+"\x00", int(after)
			}
			return false
		}
	}
	return read.More && len(read.KVs) > 0
}

// storeListError makes the client's error of the store's.
func (c *Cacher) storeListError(ctx context.Context, err error, opts *ListOptions, need listNeed) error {
	switch {
	case errors.Is(err, storage.ErrCompacted) && opts.Continue != "":
		first, _ := bounds(opts.Namespace)
		return continueTooOld(encodeContinue(opts.Namespace, max(first, need.from), inconsistent))
	case errors.Is(err, storage.ErrCompacted):
		return listTooOld()
	case errors.Is(err, storage.ErrFutureRevision):
		current, err := c.options.Store.CurrentRevision(ctx)
		if err != nil {
			return internal(c.options.GroupResource, err)
		}
		return tooLargeAtOnce(need.rv, uint64(current))
	default:
		return internal(c.options.GroupResource, err)
	}
}
