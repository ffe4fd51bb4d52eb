package cacher

import (
	"context"

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
}

// List answers a list. Errors: *apierrors.StatusError, ErrClosed, ctx's error.
func (c *Cacher) List(ctx context.Context, opts ListOptions) (ListResult, error) {
	route, err := routeList(&opts)
	if err != nil {
		return ListResult{}, err
	}
	if err := c.awaitReady(ctx); err != nil {
		if apiStatus(err) && listWithoutCache(&opts) {
			return c.listWithoutCache(ctx, &opts, route)
		}
		return ListResult{}, err
	}
	switch route.source {
	case exactState:
		return c.listExact(ctx, &opts, route)
	case consistentRead:
		if _, err := c.waitConsistent(ctx); isTooLarge(err) {
			return c.listFromStore(ctx, &opts, route)
		} else if err != nil {
			return ListResult{}, err
		}
	case notOlderThan:
		if err := c.waitUntilFresh(ctx, route.rv); err != nil {
			return ListResult{}, err
		}
	}
	current, rv := c.current()
	return answer(current.list(&opts.Predicate, route.from, route.limit), &opts.Predicate, rv), nil
}

// current returns the newest state and its resource version.
func (c *Cacher) current() (state, uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.latest, c.rv
}

// listExact answers with the state at a resource version: from a snapshot if
// there is one, otherwise from the store.
func (c *Cacher) listExact(ctx context.Context, opts *ListOptions, route listRoute) (ListResult, error) {
	if err := c.waitUntilFresh(ctx, route.rv); err != nil {
		return ListResult{}, err
	}
	c.mu.Lock()
	snapshot, ok := c.window.stateAt(route.rv)
	c.mu.Unlock()
	if !ok {
		return c.listFromStore(ctx, opts, route)
	}
	return answer(snapshot.list(&opts.Predicate, route.from, route.limit), &opts.Predicate, route.rv), nil
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
