package cacher

import (
	"context"
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/listwatch/listwatch/fakeserver/storage"
)

// Get returns one object: with resourceVersion "" the newest in the store, with
// "0" what the cache has, with another one what the cache has once it has
// reached that. Errors: *apierrors.StatusError (404 if there is none),
// ErrClosed, ctx's error.
func (c *Cacher) Get(ctx context.Context, namespace, name, resourceVersion string) (*Item, error) {
	now := starting
	if resourceVersion != "" {
		var err error
		if now, _, err = c.awaitStart(ctx); err != nil {
			return nil, err
		}
	}
	route, err := routeGet(resourceVersion, now)
	if err != nil {
		return nil, err
	}
	if route.store {
		return c.getFromStore(ctx, namespace, name)
	}
	if route.rv > 0 {
		if err := c.waitUntilFresh(ctx, route.rv); err != nil {
			return nil, err
		}
	}
	current, _, err := c.current()
	if err != nil {
		if apierrors.IsTooManyRequests(err) { // it started over just now
			return c.getFromStore(ctx, namespace, name)
		}
		return nil, err
	}
	if item := current.get(joinKey(namespace, name)); item != nil {
		return item, nil
	}
	return nil, apierrors.NewNotFound(c.options.GroupResource, name)
}

// getFromStore returns the newest version in the store.
func (c *Cacher) getFromStore(ctx context.Context, namespace, name string) (*Item, error) {
	kv, err := c.options.Store.Get(ctx, c.options.Prefix+joinKey(namespace, name), 0)
	if errors.Is(err, storage.ErrNotFound) {
		return nil, apierrors.NewNotFound(c.options.GroupResource, name)
	}
	if err != nil {
		return nil, internal(c.options.GroupResource, err)
	}
	item, err := c.itemOf(kv)
	if err != nil {
		return nil, internal(c.options.GroupResource, err)
	}
	return item, nil
}
