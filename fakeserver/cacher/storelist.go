package cacher

import (
	"context"
	"errors"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/listwatch/listwatch/fakeserver/storage"
)

// apiStatus says whether err is meant for the client.
func apiStatus(err error) bool {
	var status *apierrors.StatusError
	return errors.As(err, &status)
}

// listWithoutCache answers from the store while the cache is not ready. The
// newest state is at least as new as any that may be asked for, unless one is
// asked for exactly.
func (c *Cacher) listWithoutCache(ctx context.Context, opts *ListOptions, route listRoute) (ListResult, error) {
	result, err := c.listFromStore(ctx, opts, route)
	if err == nil && result.ResourceVersion < route.rv {
		return ListResult{}, tooLargeAtOnce(route.rv, result.ResourceVersion)
	}
	return result, err
}

// listFromStore reads a page from the store: at the route's resource version if
// that is to be exact, otherwise at the newest.
func (c *Cacher) listFromStore(ctx context.Context, opts *ListOptions, route listRoute) (ListResult, error) {
	read := storage.ListOptions{Limit: route.limit}
	if route.source == exactState {
		read.Revision = int64(route.rv)
	}
	prefix := c.options.Prefix
	if opts.Namespace != "" {
		prefix += opts.Namespace + "/"
	}
	if route.from != "" {
		read.From = c.options.Prefix + route.from
	}
	if opts.Namespace != "" && opts.Name != "" {
		read.From, read.Limit = max(read.From, prefix+opts.Name), 1
	}
	var found page
	for {
		result, err := c.options.Store.List(ctx, prefix, read)
		if err != nil {
			return ListResult{}, c.storeListError(err, opts, route)
		}
		read.Revision = result.Revision
		more, err := c.collect(&found, result, opts, route.limit)
		if err != nil {
			return ListResult{}, err
		}
		if !more || (opts.Namespace != "" && opts.Name != "") {
			return answer(found, &opts.Predicate, uint64(read.Revision)), nil
		}
		// A selector left the page short: read further, in growing steps.
		read.From = result.KVs[len(result.KVs)-1].Key + "\x00"
		read.Limit = min(read.Limit*2, c.options.PageSize)
	}
}

// collect adds what matches of a page of the store, and reports whether the
// next one is needed.
func (c *Cacher) collect(found *page, read storage.ListResult, opts *ListOptions, limit int64) (bool, error) {
	for i, kv := range read.KVs {
		item, err := c.itemOf(kv)
		if err != nil {
			return false, internal(c.options.GroupResource, err)
		}
		if opts.matches(item) {
			found.items = append(found.items, item)
		}
		if item.Key == joinKey(opts.Namespace, opts.Name) {
			return false, nil // nothing else can match
		}
		after := read.Count - int64(i) - 1
		if limit > 0 && int64(len(found.items)) == limit {
			if after > 0 {
				found.next, found.remaining = strings.TrimPrefix(kv.Key, c.options.Prefix)+"\x00", int(after)
			}
			return false, nil
		}
	}
	return read.More && len(read.KVs) > 0, nil
}

// storeListError makes the client's error of the store's.
func (c *Cacher) storeListError(err error, opts *ListOptions, route listRoute) error {
	switch {
	case errors.Is(err, storage.ErrCompacted) && opts.Continue != "":
		first, _ := bounds(opts.Namespace)
		return continueTooOld(encodeContinue(opts.Namespace, max(first, route.from), inconsistent))
	case errors.Is(err, storage.ErrCompacted):
		return listTooOld()
	case errors.Is(err, storage.ErrFutureRevision):
		_, current := c.current()
		return tooLargeAtOnce(route.rv, current)
	default:
		return internal(c.options.GroupResource, err)
	}
}
