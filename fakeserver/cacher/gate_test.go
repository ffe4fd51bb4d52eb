package cacher

import (
	"context"
	"fmt"
	"sync"
	"time"

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
	cause   error         // of the last break
	listErr error
	// watchErr fails the opening of watches.
	watchErr error
	// stillborn is how many more watches fail at once.
	stillborn int
	// deaf is how many more progress requests are lost.
	deaf int
	// slow is how long lists and current revisions take.
	slow time.Duration

	lists, watches, revisions, asked int
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
func (g *gate) breakWatches() { g.breakWith(storage.ErrCompacted) }

// breakWith fails all open watches.
func (g *gate) breakWith(err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.cause = err
	close(g.broken)
	g.broken = make(chan struct{})
}

// failLists makes lists fail with err; nil: no longer.
func (g *gate) failLists(err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.listErr = err
}

// failOpening makes it impossible to open watches; nil: no longer.
func (g *gate) failOpening(err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.watchErr = err
}

// loseRequests loses the next n progress requests.
func (g *gate) loseRequests(n int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.deaf = n
}

// delay slows lists and current revisions down.
func (g *gate) delay(slow time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.slow = slow
}

// gateCounts are how often a store was called.
type gateCounts struct{ lists, watches, revisions, asked int }

func (g *gate) counts() gateCounts {
	g.mu.Lock()
	defer g.mu.Unlock()
	return gateCounts{g.lists, g.watches, g.revisions, g.asked}
}

// since counts calls after earlier ones.
func (c gateCounts) since(earlier gateCounts) gateCounts {
	return gateCounts{c.lists - earlier.lists, c.watches - earlier.watches, c.revisions - earlier.revisions, c.asked - earlier.asked}
}

func (g *gate) listCount() int { return g.counts().lists }

// wait takes the time that calls take.
//
// bubble: used in bubbles only
func (g *gate) wait(ctx context.Context) error {
	g.mu.Lock()
	slow := g.slow
	g.mu.Unlock()
	if slow == 0 {
		return nil
	}
	select {
	case <-time.After(slow):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (g *gate) CurrentRevision(ctx context.Context) (int64, error) {
	g.mu.Lock()
	g.revisions++
	g.mu.Unlock()
	if err := g.wait(ctx); err != nil {
		return 0, err
	}
	return g.Store.CurrentRevision(ctx)
}

func (g *gate) List(ctx context.Context, prefix string, opts storage.ListOptions) (storage.ListResult, error) {
	g.mu.Lock()
	g.lists++
	err := g.listErr
	g.mu.Unlock()
	if err == nil {
		err = g.wait(ctx)
	}
	if err != nil {
		return storage.ListResult{}, err
	}
	return g.Store.List(ctx, prefix, opts)
}

func (g *gate) Watch(ctx context.Context, prefix string, opts storage.WatchOptions) (storage.Watch, error) {
	g.mu.Lock()
	g.watches++
	err := g.watchErr
	g.mu.Unlock()
	if err != nil {
		return nil, err
	}
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
	watch := &gatedWatch{Watch: inner, gate: g, broken: g.broken}
	if g.stillborn > 0 {
		g.stillborn--
		watch.broken = make(chan struct{})
		close(watch.broken)
	}
	return watch, nil
}

// why is the cause of the last break.
func (g *gate) why() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.cause
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
		return nil, w.gate.why()
	default:
	}
	if err != nil {
		return nil, err
	}
	return events, w.pass(ctx)
}

// RequestProgress counts, and may lose the request.
func (w *gatedWatch) RequestProgress() {
	w.gate.mu.Lock()
	w.gate.asked++
	lost := w.gate.deaf > 0
	if lost {
		w.gate.deaf--
	}
	w.gate.mu.Unlock()
	if !lost {
		w.Watch.RequestProgress()
	}
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
		return w.gate.why()
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
