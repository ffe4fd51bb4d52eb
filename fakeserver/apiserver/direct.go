package apiserver

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/listwatch/listwatch/fakeserver/cacher"
)

// uncached are the resources that a real server does not cache, because they
// are written more often than read. Its answers differ a little for them: limit
// counts whatever the resourceVersion, one that is too large is refused at once,
// and a watch that starts too far back is refused in the words of etcd. Here
// they have a cacher like all others, so that many watches stay cheap; every
// read of them is as fresh as the store.
var uncached = setOf("", "events")

// listObjects answers a list.
func (c *collection) listObjects(ctx context.Context, opts cacher.ListOptions) (cacher.ListResult, error) {
	reader, err := c.reader(ctx)
	if err != nil {
		return cacher.ListResult{}, err
	}
	if c.kind.uncached {
		if opts, err = c.freshList(ctx, opts); err != nil {
			return cacher.ListResult{}, err
		}
	}
	return reader.List(ctx, opts)
}

// freshList makes of a list that may be stale one that is not.
func (c *collection) freshList(ctx context.Context, opts cacher.ListOptions) (cacher.ListOptions, error) {
	if err := c.refuseFuture(ctx, opts.ResourceVersion); err != nil {
		return opts, err
	}
	wanted, err := strconv.ParseUint(opts.ResourceVersion, 10, 64)
	exact := opts.Match == metav1.ResourceVersionMatchExact || opts.Match == "" && opts.Limit > 0
	if err == nil && (wanted == 0 || opts.Continue == "" && !exact) {
		opts.ResourceVersion, opts.Match = "", ""
	}
	return opts, nil
}

// getObject answers a get.
func (c *collection) getObject(ctx context.Context, scope cacher.Scope, resourceVersion string) (*cacher.Item, error) {
	reader, err := c.reader(ctx)
	if err != nil {
		return nil, err
	}
	if c.kind.uncached {
		if err := c.refuseFuture(ctx, resourceVersion); err != nil {
			return nil, err
		}
		if _, err := strconv.ParseUint(resourceVersion, 10, 64); err == nil {
			resourceVersion = ""
		}
	}
	return reader.Get(ctx, scope.Namespace, scope.Name, resourceVersion)
}

// refuseFuture is the error for a resourceVersion that the store has not
// reached; nil for one that is no number, which others refuse.
func (c *collection) refuseFuture(ctx context.Context, resourceVersion string) error {
	wanted, err := strconv.ParseUint(resourceVersion, 10, 64)
	if err != nil || wanted == 0 {
		return nil
	}
	current, err := c.store.CurrentRevision(ctx)
	if err != nil {
		return fmt.Errorf("%s: %w", c.kind.resource, err)
	}
	if wanted <= uint64(current) {
		return nil
	}
	refused := apierrors.NewTimeoutError(fmt.Sprintf("Too large resource version: %d, current: %d", wanted, current), 0)
	refused.ErrStatus.Details.Causes = []metav1.StatusCause{{
		Type: metav1.CauseTypeResourceVersionTooLarge, Message: "Too large resource version",
	}}
	return refused
}

// refuseWatch is what a watch of an uncached resource is told instead of events;
// nil if it can begin.
func (c *collection) refuseWatch(ctx context.Context, opts cacher.WatchOptions) error {
	if !c.kind.uncached || !deref(opts.SendInitialEvents) {
		return nil
	}
	err := c.refuseFuture(ctx, opts.ResourceVersion)
	if refused, ok := err.(*apierrors.StatusError); ok {
		refused.ErrStatus.Details.RetryAfterSeconds = 1 + rand.Int32N(4) // not all at once
	}
	return err
}

// watchError gives an error of a watch the words that the resource has for it.
func (k *storedKind) watchError(err error) error {
	if k.uncached && apierrors.IsResourceExpired(err) {
		return apierrors.NewResourceExpired("The resourceVersion for the provided watch is too old.")
	}
	return err
}
