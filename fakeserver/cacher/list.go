package cacher

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ListOptions are those of a list request, validated by the caller as far as
// single options and their combinations go.
type ListOptions struct {
	Predicate
	// ResourceVersion is as the client sent it: "" asks for the newest state, "0"
	// for any, another one for what Match says.
	ResourceVersion string
	// Match is NotOlderThan, Exact, or "" for what kube-apiserver takes that for.
	Match metav1.ResourceVersionMatch
	// Limit bounds the number of items; 0 or less is no bound.
	Limit int64
	// Continue is the token of an earlier page.
	Continue string
}

// ListResult is the answer to a list.
type ListResult struct {
	// Items in key order, never nil.
	Items []*Item
	// ResourceVersion at which the collection was read.
	ResourceVersion uint64
	// Continue is the token of the next page; "" if there is none.
	Continue string
	// Remaining counts the items after this page, if that is known.
	Remaining *int64
	// ShardInfo says which shard was asked for; nil if none was.
	ShardInfo *metav1.ShardInfo
}

// List answers a list. Errors: *apierrors.StatusError, ErrClosed, ctx's error.
func (c *Cacher) List(ctx context.Context, opts ListOptions) (ListResult, error) {
	if !c.options.Sharding {
		opts.Shard = nil
	}
	need, err := needOf(&opts)
	if err != nil {
		return ListResult{}, err
	}
	need.single = need.single || c.options.ClusterScoped && opts.Name != ""
	if _, _, err := c.awaitStart(ctx); err != nil {
		return ListResult{}, err
	}
	result, err := c.serve(ctx, &opts, need, routeList(need, c.view(need)))
	if err == nil && opts.Shard != nil {
		result.ShardInfo = &metav1.ShardInfo{Selector: opts.Shard.String()}
	}
	return result, err
}

// view looks what the cache has for a need.
func (c *Cacher) view(need listNeed) listView {
	if need.kind == exactState {
		c.heedCompaction()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	view := listView{phase: c.readiness.phase, ahead: need.rv > c.rv}
	if need.kind == exactState && !view.ahead {
		view.snapshot = c.hasSnapshot(need.rv)
	}
	return view
}

// serve answers a list on its route.
func (c *Cacher) serve(ctx context.Context, opts *ListOptions, need listNeed, route listRoute) (ListResult, error) {
	switch route.wait {
	case noWait:
	case waitForStore:
		return c.listConsistent(ctx, opts, need)
	case waitForVersion:
		if err := c.waitUntilFresh(ctx, need.rv); err != nil {
			return ListResult{}, err
		}
	}
	switch route.source {
	case theCache:
		return c.listFromCache(opts, need)
	case theSnapshot:
		if found, ok := c.snapshot(need.rv); ok {
			return c.read(found, need.rv, opts, need), nil
		}
		return c.listFromStore(ctx, opts, need)
	case theStore:
		return c.listFromStore(ctx, opts, need)
	default:
		return ListResult{}, c.refuse()
	}
}

// listFromCache reads the newest state.
func (c *Cacher) listFromCache(opts *ListOptions, need listNeed) (ListResult, error) {
	current, rv, err := c.current()
	if err != nil {
		return ListResult{}, err
	}
	return c.read(current, rv, opts, need), nil
}

// current returns the newest state and its resource version. Errors: 429 if the
// cache is not ready, ErrClosed.
func (c *Cacher) current() (state, uint64, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.readiness.phase != ready {
		return state{}, 0, c.readiness.refusal(&c.options)
	}
	return c.state(), c.rv, nil
}

// read answers with a page of a state.
func (c *Cacher) read(from state, rv uint64, opts *ListOptions, need listNeed) ListResult {
	found := from.list(&opts.Predicate, need.from, need.limit)
	c.metrics.fromCache.list(&found)
	c.metrics.cacheLists.list(&found)
	return answer(found, &opts.Predicate, rv)
}

// consistentOutcome is how a consistent read goes on after its wait.
type consistentOutcome uint8

const (
	// upToDate: the cache answers.
	upToDate consistentOutcome = iota
	// behind: the store answers.
	behind
	// refusedStale: nobody does.
	refusedStale
	// lost: the wait failed by itself.
	lost
)

// afterWait decides how a consistent read goes on, err being that of its wait. A
// cache that was in time when the read began, and has to start over since,
// is the same as one that is late.
func afterWait(err error, refuseStale bool) consistentOutcome {
	switch late := isTooLarge(err); {
	case err == nil:
		return upToDate
	case late && refuseStale:
		return refusedStale
	case late, apierrors.IsTooManyRequests(err):
		return behind
	default:
		return lost
	}
}

// listConsistent answers with a state not older than the store is now.
func (c *Cacher) listConsistent(ctx context.Context, opts *ListOptions, need listNeed) (ListResult, error) {
	_, err := c.waitConsistent(ctx)
	var result ListResult
	if err == nil {
		result, err = c.listFromCache(opts, need)
	}
	switch afterWait(err, c.options.RefuseStale) {
	case upToDate:
		c.metrics.readCached(1)
	case behind:
		if result, err = c.listFromStore(ctx, opts, need); err == nil {
			c.metrics.readFellBack(1)
		} else {
			c.metrics.readFallBackLost(1)
		}
	case refusedStale:
		c.metrics.readRefused(1)
		err = staleRefused(err)
	case lost:
		c.metrics.readFailed(1)
	}
	return result, err
}

// answer makes the result of a page read at rv.
func answer(p page, predicate *Predicate, rv uint64) ListResult {
	result := ListResult{Items: p.items, ResourceVersion: rv}
	if result.Items == nil {
		result.Items = []*Item{}
	}
	if p.next == "" {
		return result
	}
	result.Continue = encodeContinue(predicate.Namespace, p.next, int64(rv))
	if !predicate.selective() {
		remaining := int64(p.remaining)
		result.Remaining = &remaining
	}
	return result
}
