package informer

import (
	"fmt"
	"slices"
	"time"

	"github.com/listwatch/listwatch/reflector"
)

// Object is what an Informer caches: a pointer to an API type, such as
// *corev1.Pod, *unstructured.Unstructured or *metav1.PartialObjectMetadata.
type Object = reflector.Object

// Handler is told about every change of the cache. The methods of one Handler
// are called one after the other, from one goroutine at a time, in the order of
// the server's stream. They may block (that delays no other handler), remove
// their own Registration, and call the methods of the Informer, but for Run and
// those that wait for handlers, which would wait for the call that they are in:
// WaitForHandlers, WaitFor and Close of its own Registration, Close of the last
// Lease, and Acquire while the Informer is being stopped.
//
// The objects are shared with the cache and with all other handlers: a Handler
// must not modify them. By the time of a call the Informer's Snapshot contains
// the change, and possibly later ones.
//
// For one key the calls form a legal history: OnAdd, any number of OnUpdate
// whose old object is the object of the call before, OnDelete, and then again
// OnAdd. All calls between an OnAdd and its OnDelete concern objects of one UID.
// With a resync there are also calls OnUpdate(x, x), x being the object of the call
// before; with predicates the old object may be newer than that.
type Handler[T Object] interface {
	// OnAdd is called for an object that this handler has not seen. initial
	// says that it belongs to the state the handler starts from, not to a
	// change that happened since.
	OnAdd(obj T, initial bool)
	// OnUpdate is called for a new version of an object.
	OnUpdate(old, obj T)
	// OnDelete is called when an object left the collection: it was deleted, or
	// no longer matches the selector.
	OnDelete(deleted Deleted[T])
}

// Deleted tells which object left the collection.
type Deleted[T Object] struct {
	// Key is "namespace/name", or "name" for a cluster-scoped object.
	Key string
	// Last is the last known state, never nil: with Exact the state that the
	// server sent with the deletion, whose resourceVersion is the deletion's;
	// otherwise, and if the transform dropped or failed for that state, the
	// newest that was in the cache.
	Last T
	// Exact says that nothing is missing between Last and the end. It is false when
	// the end itself was not seen, but found by a relist or by another UID under the
	// same key. An object that left because the transform dropped a new version of
	// it, or a filter did not let one through, left exactly if Last is the version
	// just before that one: not if there may have been others, which a list did not
	// show, or which were merged (see package deltafifo).
	Exact bool
}

// HandlerFuncs makes a Handler from functions; nil ones do nothing.
type HandlerFuncs[T Object] struct {
	AddFunc    func(obj T, initial bool)
	UpdateFunc func(old, obj T)
	DeleteFunc func(deleted Deleted[T])
}

// OnAdd calls AddFunc, if there is one.
func (h HandlerFuncs[T]) OnAdd(obj T, initial bool) {
	if h.AddFunc != nil {
		h.AddFunc(obj, initial)
	}
}

// OnUpdate calls UpdateFunc, if there is one.
func (h HandlerFuncs[T]) OnUpdate(old, obj T) {
	if h.UpdateFunc != nil {
		h.UpdateFunc(old, obj)
	}
}

// OnDelete calls DeleteFunc, if there is one.
func (h HandlerFuncs[T]) OnDelete(deleted Deleted[T]) {
	if h.DeleteFunc != nil {
		h.DeleteFunc(deleted)
	}
}

// HandlerOption configures one registration of a handler. A nil one is ignored.
type HandlerOption func(*handlerConfig)

type handlerConfig struct {
	name       string
	filter     any // a func(T) bool
	predicates []Predicate
	panics     PanicPolicy
	slowAfter  time.Duration
	resync     time.Duration
	latestOnly bool
}

func (c *handlerConfig) validate() error {
	switch {
	case slices.ContainsFunc(c.predicates, func(p Predicate) bool { return p == nil }):
		return fmt.Errorf("%w: WithPredicates with a nil Predicate", ErrInvalidOptions)
	case c.resync < 0 || c.resync > 0 && c.resync < minResync:
		return fmt.Errorf("%w: WithResync of %v, want %v or more", ErrInvalidOptions, c.resync, minResync)
	case c.slowAfter < 0:
		return fmt.Errorf("%w: WithSlowAfter of %v", ErrInvalidOptions, c.slowAfter)
	case c.panics > PanicRemoves:
		return fmt.Errorf("%w: %v", ErrInvalidOptions, c.panics)
	}
	return nil
}

// WithName names the handler in Status and in log lines. Without it the name is
// "handler-1" for the first handler of an Informer, and so on.
func WithName(name string) HandlerOption {
	return func(c *handlerConfig) { c.name = name }
}
