package cacher

import (
	"context"
	"fmt"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/listwatch/listwatch/fakeserver/storage"
)

// gate is a store whose watches can be held up and broken, and whose lists can
// be made to fail.
type gate struct {
	storage.Store

	mu      sync.Mutex
	held    chan struct{} // closed at release; nil: open
	broken  chan struct{} // closed at breakWatches
	listErr error
	lists   int
	// compactions is how many more watches find their start compacted.
	compactions int
}

func newGate(inner storage.Store) *gate {
	return &gate{Store: inner, broken: make(chan struct{})}
}

// gate is the rig's store.
func (r *rig) gate() *gate { return r.store.(*gate) }

// hold lets no event through until release.
func (g *gate) hold() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.held = make(chan struct{})
}

func (g *gate) release() {
	g.mu.Lock()
	defer g.mu.Unlock()
	close(g.held)
	g.held = nil
}

// breakWatches fails all open watches with ErrCompacted.
func (g *gate) breakWatches() {
	g.mu.Lock()
	defer g.mu.Unlock()
	close(g.broken)
	g.broken = make(chan struct{})
}

// failLists makes lists fail with err; nil: no longer.
func (g *gate) failLists(err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.listErr = err
}

func (g *gate) listCount() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.lists
}

func (g *gate) List(ctx context.Context, prefix string, opts storage.ListOptions) (storage.ListResult, error) {
	g.mu.Lock()
	g.lists++
	err := g.listErr
	g.mu.Unlock()
	if err != nil {
		return storage.ListResult{}, err
	}
	return g.Store.List(ctx, prefix, opts)
}

func (g *gate) Watch(ctx context.Context, prefix string, opts storage.WatchOptions) (storage.Watch, error) {
	inner, err := g.Store.Watch(ctx, prefix, opts)
	if err != nil {
		return nil, err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.compactions > 0 {
		g.compactions--
		return nil, storage.ErrCompacted
	}
	return &gatedWatch{Watch: inner, gate: g, broken: g.broken}, nil
}

type gatedWatch struct {
	storage.Watch
	gate   *gate
	broken chan struct{}
}

func (w *gatedWatch) Next(ctx context.Context) ([]storage.Event, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	done := make(chan struct{})
	var watching sync.WaitGroup
	watching.Go(func() {
		select {
		case <-w.broken:
			cancel()
		case <-done:
		}
	})
	events, err := w.Watch.Next(ctx)
	close(done)
	watching.Wait()
	select {
	case <-w.broken:
		return nil, storage.ErrCompacted
	default:
	}
	if err != nil {
		return nil, err
	}
	return events, w.pass(ctx)
}

// pass waits while the gate is closed.
func (w *gatedWatch) pass(ctx context.Context) error {
	w.gate.mu.Lock()
	held := w.gate.held
	w.gate.mu.Unlock()
	if held == nil {
		return nil
	}
	select {
	case <-held:
		return nil
	case <-w.broken:
		return storage.ErrCompacted
	case <-ctx.Done():
		return ctx.Err()
	}
}

// describeObject says what the object itself holds.
func describeObject(item *Item) string {
	obj := item.Object.(*metav1.PartialObjectMetadata)
	return fmt.Sprintf("rv=%s x=%s", obj.ResourceVersion, obj.Labels["x"])
}

// fieldsByLabel lets field selectors see label "x".
func fieldsByLabel(obj runtime.Object) fields.Set {
	return fields.Set{"x": obj.(*metav1.PartialObjectMetadata).Labels["x"]}
}
