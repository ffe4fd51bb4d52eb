package informer

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/util/resourceversion"
)

// seen is up to where a handler is.
type seen struct {
	mark    atomic.Pointer[mark]          // nil: nowhere
	waiting atomic.Pointer[chan struct{}] // closed by the next mark; nil: nobody waits
}

// reach notes that the handler has returned from all calls up to m.
func (s *seen) reach(m *mark) {
	s.mark.Store(m)
	if s.waiting.Load() != nil {
		if c := s.waiting.Swap(nil); c != nil {
			close(*c)
		}
	}
}

// next is closed when the handler has reached more. Whoever asks before looking
// misses nothing.
func (s *seen) next() <-chan struct{} {
	for {
		if c := s.waiting.Load(); c != nil {
			return *c
		}
		c := make(chan struct{})
		if s.waiting.CompareAndSwap(nil, &c) {
			return c
		}
	}
}

// ResourceVersion is that of the collection up to which the handler has returned
// from every call, "" before it has seen all initial adds of the state that it
// started from. It moves on also where nothing concerned the handler.
func (r *Registration) ResourceVersion() string {
	if m := r.mark.Load(); m != nil {
		return m.resourceVersion
	}
	return ""
}

// WaitFor waits until the handler has returned from all calls for changes up to
// resourceVersion, or newer. For a handler whose work is done when it returns,
// what was written with that version has then been dealt with. Never call it from
// inside the handler.
//
// Errors, which name both versions: ErrInvalidResourceVersion at once, ctx's
// error, ErrRemoved, and ErrStopped, at once if the run is over and the next has
// not begun.
func (r *Registration) WaitFor(ctx context.Context, resourceVersion string) error {
	if !ordinal(resourceVersion) {
		return fmt.Errorf("handler %q: wait for %q: %w", r.name, resourceVersion, ErrInvalidResourceVersion)
	}
	ended := r.ended()
	for {
		next := r.next()
		if notOlder(r.ResourceVersion(), resourceVersion) {
			return nil
		}
		var err error
		select {
		case <-next:
			continue
		case <-r.done:
			err = ErrRemoved
		case <-ended:
			err = ErrStopped
		case <-ctx.Done():
			err = whyEnded(ctx)
		}
		at := r.ResourceVersion()
		if notOlder(at, resourceVersion) {
			return nil
		}
		return fmt.Errorf("handler %q: wait for resourceVersion %s, at %q now: %w", r.name, resourceVersion, at, err)
	}
}

// WaitForHandlers is WaitFor of every handler that is registered now. One that is
// removed meanwhile is no longer waited for; if there is none it returns at once.
// Never call it from inside a handler.
func (i *Informer[T]) WaitForHandlers(ctx context.Context, resourceVersion string) error {
	for _, reg := range i.registrations() {
		if err := reg.WaitFor(ctx, resourceVersion); err != nil && !errors.Is(err, ErrRemoved) {
			return fmt.Errorf("informer %q: %w", i.name, err)
		}
	}
	return nil
}

// HandlersSeen is the lowest ResourceVersion of all handlers, "" if one has none;
// without handlers it is that of the Snapshot.
func (i *Informer[T]) HandlersSeen() string {
	lowest := i.Snapshot().ResourceVersion()
	for k, reg := range i.registrations() {
		if at := reg.ResourceVersion(); k == 0 || !notOlder(at, lowest) {
			lowest = at
		}
	}
	return lowest
}

func (i *Informer[T]) registrations() []*Registration {
	i.mu.Lock()
	defer i.mu.Unlock()
	regs := make([]*Registration, 0, i.cursors.len())
	for c := range i.cursors.all() {
		regs = append(regs, c.reg)
	}
	return regs
}

// ordinal reports whether resourceVersion is one that has an order.
func ordinal(resourceVersion string) bool {
	_, err := resourceversion.CompareResourceVersion(resourceVersion, resourceVersion)
	return err == nil
}

// notOlder reports whether at is known to be want or newer; "" is not.
func notOlder(at, want string) bool {
	order, err := resourceversion.CompareResourceVersion(at, want)
	return err == nil && order >= 0
}

// older reports whether at is known to be older than than.
func older(at, than string) bool {
	order, err := resourceversion.CompareResourceVersion(at, than)
	return err == nil && order < 0
}
