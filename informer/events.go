package informer

import (
	"context"
	"fmt"
	"iter"
	"strconv"
)

// EventType says what an Event tells of.
type EventType uint8

const (
	// EventAdded: Object is new to this consumer.
	EventAdded EventType = iota + 1
	// EventUpdated: Object is the new version of Old. With WithResync they may be
	// the same.
	EventUpdated
	// EventDeleted: Object, the last known state, left the collection.
	EventDeleted
	// EventSynced: the initial adds are complete. It comes once, and has no object.
	EventSynced
)

// String names the type.
func (t EventType) String() string {
	switch t {
	case EventAdded:
		return "Added"
	case EventUpdated:
		return "Updated"
	case EventDeleted:
		return "Deleted"
	case EventSynced:
		return "Synced"
	}
	return "EventType(" + strconv.Itoa(int(t)) + ")"
}

// Event is one change, as a Handler would be told. Objects are shared, and must
// not be modified.
type Event[T Object] struct {
	Type EventType
	// Object is the object after the change, or the last state of a deleted one.
	Object T
	// Old is the object before an update.
	Old T
	// Initial says of an add what it says to a Handler; Exact says of a delete
	// what Deleted says.
	Initial, Exact bool
	// ResourceVersion is that of the Snapshot in which the change can be seen;
	// with WithLatestOnly that may take a newer one.
	ResourceVersion string
}

// Key is "namespace/name", or "name" for a cluster-scoped object; "" of an
// EventSynced.
func (e Event[T]) Key() string {
	if isNil(e.Object) {
		return ""
	}
	return keyOf(e.Object)
}

// Events yields what a handler with the same options would be told, in the
// goroutine that ranges over it; no other is needed:
//
//	for event := range pods.Events(ctx) {
//		switch event.Type { … }
//	}
//
// Each range is a registration of its own, from its start to its end, listed in
// Status; leaving the loop removes it. It starts with the objects of the current
// snapshot as initial adds, also before Run, and ends when ctx does, or when the
// Informer stops, after everything that was published before; of an Informer that
// is stopped it yields the cache, and ends without an EventSynced. The body of the
// loop may take its time, as a handler may, and Run does not wait for it. What is
// not taken yet is kept, so a slow consumer may want WithLatestOnly.
//
// Events panics with an error that wraps ErrInvalidOptions if an option makes no
// sense, which only a programmer can cause.
func (i *Informer[T]) Events(ctx context.Context, opts ...HandlerOption) iter.Seq[Event[T]] {
	config, t, err := configure[T](opts)
	if err != nil {
		panic(fmt.Errorf("informer %q: %w", i.name, err))
	}
	at := callerSite()
	return func(yield func(Event[T]) bool) {
		c := &cursor[T]{reg: newRegistration(i, config, at), tell: t, state: i.state.Load, pulled: true}
		p := &puller[T]{cursor: c, yield: yield}
		c.tell.handler, c.tell.raw = i.guard(p, c.reg), true
		c.onSync = p.synced
		i.register(c)
		if !c.reg.enter() {
			return
		}
		defer c.reg.leave()
		defer c.reg.Remove() // also if the body of the loop panics
		c.pull(ctx, i.end())
	}
}

// pull is run for a cursor whose calls go to a loop: until ctx ends, the loop was
// left, or ended is closed and all that was published before is told.
func (c *cursor[T]) pull(ctx context.Context, ended <-chan struct{}) {
	c.reg.returned = c.reg.reportReturn(ctx)
	if !c.replay(ctx) {
		return
	}
	for {
		more := c.advance(ctx)
		if more == nil || c.halted(ctx) {
			return
		}
		select {
		case <-more:
		case <-c.reg.nudge:
		case <-ctx.Done():
			return
		case <-ended:
			c.advance(ctx)
			return
		}
	}
}

// puller is the Handler of a range over Events.
type puller[T Object] struct {
	cursor *cursor[T]
	yield  func(Event[T]) bool
	left   bool // the loop was
}

func (p *puller[T]) emit(e Event[T]) {
	if p.left {
		return
	}
	if m := p.cursor.target; m != nil {
		e.ResourceVersion = m.resourceVersion
	}
	if !p.yield(e) {
		p.left = true
		p.cursor.reg.Remove()
	}
}

func (p *puller[T]) synced() { p.emit(Event[T]{Type: EventSynced}) }

// OnAdd implements Handler.
func (p *puller[T]) OnAdd(obj T, initial bool) {
	p.emit(Event[T]{Type: EventAdded, Object: obj, Initial: initial})
}

// OnUpdate implements Handler.
func (p *puller[T]) OnUpdate(old, obj T) {
	p.emit(Event[T]{Type: EventUpdated, Old: old, Object: obj})
}

// OnDelete implements Handler.
func (p *puller[T]) OnDelete(d Deleted[T]) {
	p.emit(Event[T]{Type: EventDeleted, Object: d.Last, Exact: d.Exact})
}
