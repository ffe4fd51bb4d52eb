package cacher

import (
	"context"
	"sync"
)

// flights lets callers that want the same thing from the store share one call
// of it. What a caller gets was read after it asked: one that comes while a
// call is on its way waits for the next one, together with all others that do.
//
// A caller makes the call in its own goroutine with its own context. If that
// ends it, another one of those who wait makes it anew.
type flights[K comparable, V any] struct {
	mu     sync.Mutex // not held while calling or waiting
	routes map[K]*flightRoute[V]
}

// flightRoute is there while a call of its key is on its way.
type flightRoute[V any] struct {
	// next is the call after that; nil while nobody waits for it.
	next *flight[V]
}

// flight is a call that several wait for.
type flight[V any] struct {
	waiting int
	// turn has room for one; who takes it makes the call.
	turn chan struct{}
	// landed is closed when value and err are there.
	landed chan struct{}
	value  V
	err    error
}

// do returns what call returns for key, shared or not. Errors: call's; ctx's.
func (f *flights[K, V]) do(ctx context.Context, key K, call func(context.Context) (V, error)) (V, error) {
	next := f.board(key)
	if next == nil {
		defer f.leave(key, nil)
		return call(ctx)
	}
	select {
	case <-next.landed:
		return next.value, next.err
	case <-ctx.Done():
		f.giveUp(key, next)
		var none V
		return none, ctx.Err()
	case <-next.turn:
		defer f.leave(key, next)
		next.err = errCallPanicked
		next.value, next.err = call(ctx)
		return next.value, next.err
	}
}

// board returns the flight to wait for, nil if the caller is to call at once.
func (f *flights[K, V]) board(key K) *flight[V] {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.routes == nil {
		f.routes = map[K]*flightRoute[V]{}
	}
	route := f.routes[key]
	if route == nil {
		f.routes[key] = &flightRoute[V]{}
		return nil
	}
	if route.next == nil {
		route.next = &flight[V]{turn: make(chan struct{}, 1), landed: make(chan struct{})}
	}
	route.next.waiting++
	return route.next
}

// leave ends a call, landed being the flight that it was, and lets the next
// one begin. A flight that ended with its caller's context does not land: who
// waits for it tries again, as the first of the next.
func (f *flights[K, V]) leave(key K, landed *flight[V]) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if landed != nil {
		landed.waiting--
		if contextError(landed.err) && landed.waiting > 0 {
			landed.turn <- struct{}{} // it was taken by who leaves now
			return
		}
		close(landed.landed)
	}
	f.begin(key)
}

// giveUp removes one who waits; the last one takes its turn along.
func (f *flights[K, V]) giveUp(key K, from *flight[V]) {
	f.mu.Lock()
	defer f.mu.Unlock()
	from.waiting--
	if from.waiting > 0 {
		return
	}
	if route := f.routes[key]; route != nil && route.next == from {
		route.next = nil
		return
	}
	select {
	case <-from.turn:
		f.begin(key)
	default: // it has landed
	}
}

// begin gives the turn to the next flight. It needs the mutex.
func (f *flights[K, V]) begin(key K) {
	route := f.routes[key]
	next := route.next
	if next == nil {
		delete(f.routes, key)
		return
	}
	route.next = nil
	next.turn <- struct{}{}
}
