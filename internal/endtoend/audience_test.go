package endtoend_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/listwatch/listwatch/informer"
	"github.com/listwatch/listwatch/informer/informertest"
)

// handler is one registration, or one loop over Events, and what came of it.
type handler[T informer.Object] struct {
	informertest.Recorder[T]
	name    string
	options informertest.VerifyOptions

	reg *informer.Registration // of a handler

	cancel context.CancelFunc // of a loop
	done   chan struct{}      // closed when it is over
	left   bool               // by itself, or it was cancelled
}

// audience are the handlers and loops over what one informer, or view, tells, of
// which some come and go.
//
// bubble: made in one
type audience[T informer.Object] struct {
	t      *testing.T
	name   string
	random *rand.Rand
	parts  []func(metav1.Object) bool // of a joined informer
	to     informertest.Registrar[T]
	read   func() informertest.Entry

	handlers, loops []*handler[T]
	over            []*handler[T] // of both kinds
	counts          map[string]int
}

// newHandler draws one, some of which take their time.
func (a *audience[T]) newHandler() (*handler[T], []informer.HandlerOption) {
	h := &handler[T]{}
	h.Content, h.options.Parts = content, a.parts
	if pause := time.Duration(a.random.IntN(2000)-1000) * time.Millisecond; pause > 0 {
		h.Hold = func() { time.Sleep(pause) }
	}
	var options []informer.HandlerOption
	if a.random.IntN(3) == 0 {
		h.name += ", latest only"
		h.options.LatestOnly = true
		options = append(options, informer.WithLatestOnly())
	}
	if a.random.IntN(4) == 0 {
		h.name += ", filtered"
		h.options.Filter = func(obj metav1.Object) bool { return obj.GetLabels()["x"] == "0" }
		options = append(options, informer.WithFilter(func(obj T) bool { return h.options.Filter(obj) }))
	}
	switch a.random.IntN(8) {
	case 0, 1:
		h.name += ", with resync"
		h.options.Resyncs = true
		options = append(options, informer.WithResync(time.Duration(1+a.random.IntN(60))*time.Second))
	case 2:
		h.name += ", with predicate"
		h.options.Predicate = func(old, updated metav1.Object) bool { return old.GetLabels()["x"] != updated.GetLabels()["x"] }
		options = append(options, informer.WithPredicates(func(old, updated informer.Object) bool {
			return h.options.Predicate(old, updated)
		}))
		a.counts["predicate"]++
	}
	return h, options
}

// join adds a handler of a random kind.
func (a *audience[T]) join() {
	h, options := a.newHandler()
	h.Look = a.random.IntN(2) == 0
	a.attach(h, options...)
}

func everything(metav1.Object) bool { return true }

func (a *audience[T]) attach(h *handler[T], options ...informer.HandlerOption) {
	h.name = fmt.Sprintf("%s, handler %d%s", a.name, len(a.handlers)+len(a.loops)+len(a.over)+1, h.name)
	h.Content = content
	var err error
	if h.reg, err = h.AttachTo(a.to, a.read, options...); err != nil {
		a.t.Fatal(err)
	}
	a.handlers = append(a.handlers, h)
}

// part removes a handler, or cancels a loop.
func (a *audience[T]) part() {
	switch n := len(a.handlers); {
	case n+len(a.loops) == 0:
		return
	default:
		k := a.random.IntN(n + len(a.loops))
		if k < n {
			a.over = append(a.over, a.handlers[k])
			a.handlers[k].reg.Remove()
			a.handlers = slices.Delete(a.handlers, k, k+1)
			return
		}
		l := a.loops[k-n]
		l.cancel()
		<-l.done
		l.left = true
		a.over = append(a.over, l)
		a.loops = slices.Delete(a.loops, k-n, k-n+1)
	}
}

// loop ranges over the events of inf, in some cases to leave after a while.
func (a *audience[T]) loop(inf *informer.Informer[T]) {
	h, options := a.newHandler()
	h.name = fmt.Sprintf("%s, loop %d%s", a.name, len(a.handlers)+len(a.loops)+len(a.over)+1, h.name)
	h.done = make(chan struct{})
	leave := a.random.IntN(40) - 20
	var ctx context.Context
	ctx, h.cancel = context.WithCancel(a.t.Context())
	go func() {
		defer close(h.done)
		for event := range inf.Events(ctx, options...) {
			h.Record(event)
			if leave--; leave == 0 {
				h.left = true
				return
			}
		}
	}()
	a.loops = append(a.loops, h)
	a.counts["loop"]++
}

// ended waits for the loops, as the informer has stopped with the cache at version:
// those that nobody left have been told all of it.
func (a *audience[T]) ended(version string) {
	for _, l := range a.loops {
		<-l.done
		l.cancel()
		if l.left {
			a.counts["left loop"]++
		} else if version != "" {
			a.counts["ended loop"]++
			l.Settled(version)
		}
		a.over = append(a.over, l)
	}
	a.loops = nil
}

// settled says that everybody was told everything up to version.
func (a *audience[T]) settled(version string) {
	for _, h := range a.handlers {
		h.Settled(version)
	}
	for _, l := range a.loops {
		select {
		case <-l.done: // left
		default:
			l.Settled(version)
		}
	}
}

// verify judges all traces.
func (a *audience[T]) verify(view *informertest.History) error {
	var errs []error
	for _, h := range slices.Concat(a.handlers, a.loops, a.over) {
		if err := informertest.Verify(view, h.Trace(), h.options); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", h.name, err))
		}
	}
	return errors.Join(errs...)
}
