package informer

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/klog/v2"
)

// allOptions are options in the combinations that take different ways.
var allOptions = map[string][]HandlerOption{
	"every change": nil,
	"filtered":     {WithFilter(func(*thing) bool { return true }), WithPredicates(ResourceVersionChanged)},
	"latest only":  {WithLatestOnly()},
	"resync":       {WithResync(time.Second)},
	"all":          {WithLatestOnly(), WithResync(time.Second), WithPanicPolicy(PanicRemoves), WithSlowAfter(time.Second)},
}

func TestAHandlerMayStopTheInformer(t *testing.T) {
	for name, options := range allOptions {
		t.Run(name, func(t *testing.T) {
			bubble(t, Options[*thing]{}, func(t *testing.T, r *rig) {
				ctx, cancel := context.WithCancel(klog.NewContext(t.Context(), klog.Logger{}))
				h := &recorder{hold: cancel}
				reg := r.add(h, options...)
				for _, key := range []string{"a", "b", "c"} {
					r.from.set(key)
				}
				if err := r.Run(ctx); err != nil {
					t.Error(err)
				}
				first := h.take() // Run ends soon, not at once
				h.hold = nil
				r.start()
				synctest.Wait()
				want := []string{"initial a:u1@2", "initial b:u2@3", "initial c:u3@4"}
				if diff := cmp.Diff(want, append(first, h.take()...)); diff != "" {
					t.Errorf("calls (-want +got):\n%s", diff)
				}
				if reg.Depth() != 0 || !closed(reg.Synced()) {
					t.Errorf("depth %d, synced %v after the second run", reg.Depth(), closed(reg.Synced()))
				}
			})
		})
	}
}

func TestAHandlerMayRemoveItselfInAnyCall(t *testing.T) {
	for name, options := range allOptions {
		for call := 1; call <= 5; call++ {
			t.Run(fmt.Sprint(name, " in call ", call), func(t *testing.T) {
				bubble(t, Options[*thing]{}, func(t *testing.T, r *rig) {
					calls := 0
					var reg *Registration
					h := &recorder{hold: func() {
						if calls++; calls == call {
							reg.Remove()
						}
					}}
					reg = r.add(h, options...)
					r.from.set("a")
					r.from.set("b")
					r.start()
					r.outage(func() { // a is another object now
						r.from.remove("a")
						r.from.set("a")
						r.from.compact()
					})
					for range 3 {
						r.from.set("b")
						synctest.Wait()
					}
					<-reg.Done()
					if calls != call || len(h.complaints()) > 0 {
						t.Errorf("%d calls, want %d; %v", calls, call, h.complaints())
					}
				})
			})
		}
	}
}

func TestAHandlerMayRemoveAnotherOne(t *testing.T) {
	bubble(t, Options[*thing]{}, func(t *testing.T, r *rig) {
		other := r.add(&recorder{})
		r.add(HandlerFuncs[*thing]{AddFunc: func(*thing, bool) {
			if err := other.Close(t.Context()); err != nil {
				t.Error(err)
			}
		}})
		r.start()
		r.from.set("a")
		<-other.Done()
		synctest.Wait()
		if handlers := r.Status().Handlers; len(handlers) != 1 {
			t.Errorf("handlers %+v, want one", handlers)
		}
	})
}

func TestAPanicRemovesAHandlerThatAddsAnotherFirst(t *testing.T) {
	bubble(t, Options[*thing]{}, func(t *testing.T, r *rig) {
		next := &recorder{}
		reg := r.add(HandlerFuncs[*thing]{AddFunc: func(*thing, bool) {
			if _, err := r.AddHandler(next, WithLatestOnly()); err != nil {
				t.Error(err)
			}
			panic("odd object")
		}}, WithPanicPolicy(PanicRemoves))
		r.start()
		r.from.set("a")
		<-reg.Done()
		r.expect(next, "initial a:u1@2")
	})
}

// Case 16 (kubernetes#134565, istio#60909), for many: the bubble fails if a
// goroutine is left.
func TestAThousandInformersLeaveNothingBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := klog.NewContext(t.Context(), klog.Logger{})
		for k := range 1000 {
			from := newCollection()
			from.set("a")
			if k%3 == 0 {
				from.refuse(errors.New("connection refused")) // stopped before sync
			}
			inf, err := New(from, Options[*thing]{})
			if err != nil {
				t.Fatal(err)
			}
			for _, options := range allOptions {
				if _, err := inf.AddHandler(&recorder{}, options...); err != nil {
					t.Fatal(err)
				}
			}
			ctx, cancel := context.WithCancel(ctx)
			var running sync.WaitGroup
			running.Go(func() {
				if err := inf.Run(ctx); err != nil {
					t.Error(err)
				}
			})
			running.Go(func() {
				for range inf.Events(ctx) { // its body may be late for the end
					time.Sleep(time.Second)
				}
			})
			if k%3 == 1 {
				time.Sleep(5 * time.Second)
			}
			cancel()
			running.Wait()
		}
		synctest.Wait()
		if n := runtime.NumGoroutine(); n > 50 {
			t.Errorf("%d goroutines are left", n)
		}
	})
}

// TestHandlersComeAndGoInRealTime has the race detector look at everything that
// may happen at once.
func TestHandlersComeAndGoInRealTime(t *testing.T) {
	from := newCollection()
	inf, err := New(from, Options[*thing]{})
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for name, options := range allOptions {
		all.Go(func() {
			for k := range 30 {
				h := &recorder{}
				reg, err := inf.AddHandler(h, options...)
				if err != nil {
					t.Error(err)
					return
				}
				version := from.set(name)
				if k%2 == 0 {
					_ = reg.WaitFor(t.Context(), version) // there may be a pause between two runs
				}
				inf.Status()
				if err := reg.Close(t.Context()); err != nil || len(h.complaints()) > 0 {
					t.Errorf("%s: %v %v", name, err, h.complaints())
				}
			}
		})
	}
	all.Go(func() {
		for k := range 30 {
			n := 0
			for range inf.Events(t.Context()) {
				if n++; n > k {
					break
				}
			}
		}
	})
	gone := make(chan struct{})
	go func() {
		all.Wait()
		close(gone)
	}()
	for !closed(gone) {
		runForAWhile(t, inf, from)
	}
}

// runForAWhile runs inf until all handlers have seen a few changes.
func runForAWhile(t *testing.T, inf *Informer[*thing], from *collection) {
	ctx, cancel := context.WithCancel(klog.NewContext(context.Background(), klog.Logger{}))
	ended := make(chan error)
	go func() { ended <- inf.Run(ctx) }()
	if err := inf.WaitForSync(ctx); err != nil && !errors.Is(err, ErrStopped) {
		t.Error(err)
	}
	version := from.set("more")
	for range 20 {
		version = from.set("more")
	}
	if err := inf.WaitForHandlers(ctx, version); err != nil && !errors.Is(err, ErrStopped) {
		t.Error(err)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
