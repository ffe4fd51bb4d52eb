package informer

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"

	"github.com/listwatch/listwatch/indexer"
	"github.com/listwatch/listwatch/reflector"
)

// badIndex and badTransform end their goroutine for objects called "bad".
func badIndex(obj *thing) []string {
	quitAt("bad", obj)
	return []string{obj.Name}
}

func badTransform(obj *thing) (*thing, error) {
	quitAt("bad", obj)
	return obj, nil
}

// badSource ends the goroutine that lists.
type badSource struct{ *collection }

func (badSource) List(context.Context, metav1.ListOptions) (reflector.Page[*thing], error) {
	runtime.Goexit()
	return reflector.Page[*thing]{}, nil
}

type thingSource = reflector.Source[*thing]

// exitCase is an Informer whose functions end their goroutine.
type exitCase struct {
	make    func(thingSource) (*Informer[*thing], error)
	culprit string
}

func exitCases() map[string]exitCase {
	one := func(options Options[*thing]) func(thingSource) (*Informer[*thing], error) {
		return func(from thingSource) (*Informer[*thing], error) { return New(from, options) }
	}
	several := func(options Options[*thing]) func(thingSource) (*Informer[*thing], error) {
		return func(from thingSource) (*Informer[*thing], error) {
			return NewJoined([]Part[*thing]{{Name: "odd", Source: from}, {Name: "even", Source: newCollection()}}, options)
		}
	}
	indexed := Options[*thing]{Indexes: map[string]indexer.Func[*thing]{"bad": badIndex}}
	transformed := Options[*thing]{Transform: badTransform}
	lists := Options[*thing]{}
	lists.Reflector.DisableWatchList = true
	return map[string]exitCase{
		"an index function":            {one(indexed), ".badIndex ("},
		"an index function, joined":    {several(indexed), ".badIndex ("},
		"a transform":                  {one(transformed), ".badTransform ("},
		"a transform, joined":          {several(transformed), ".badTransform ("},
		"a transform, mapped":          {func(from thingSource) (*Informer[*thing], error) { return NewMapped(from, badTransform, lists) }, ".badTransform ("},
		"a source":                     {func(from thingSource) (*Informer[*thing], error) { return New(badSource{from.(*collection)}, lists) }, "badSource.List ("},
		"an index function, added":     {addingIndex(one(Options[*thing]{})), ".badIndex ("},
		"an index function, of a list": {one(Options[*thing]{Indexes: indexed.Indexes, Reflector: lists.Reflector}), ".badIndex ("},
	}
}

func TestARunEndsWithAnErrorThatNamesWhatEndedOneOfItsGoroutines(t *testing.T) {
	for name, c := range exitCases() {
		for _, before := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, in the first list: %v", name, before), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					from := newCollection()
					from.set("a")
					if before {
						from.set("bad")
					}
					inf, err := c.make(from)
					if err != nil {
						t.Fatal(err)
					}
					h := &recorder{}
					if _, err := inf.AddHandler(h); err != nil {
						t.Fatal(err)
					}
					done := make(chan error, 1)
					go func() { done <- inf.Run(klog.NewContext(t.Context(), klog.Logger{})) }()
					synctest.Wait()
					if !before {
						from.set("bad")
					}
					err = <-done // or the bubble is deadlocked
					if !errors.Is(err, ErrExited) || !strings.Contains(err.Error(), c.culprit) {
						t.Errorf("Run: %v, want one that names %s", err, c.culprit)
					}
					if problems := h.complaints(); len(problems) > 0 || inf.Status().Running {
						t.Errorf("handler: %q, running: %v", problems, inf.Status().Running)
					}
				})
			})
		}
	}
}

// addingIndex is an informer that gets its index before it runs.
func addingIndex(plain func(thingSource) (*Informer[*thing], error)) func(thingSource) (*Informer[*thing], error) {
	return func(from thingSource) (*Informer[*thing], error) {
		inf, err := plain(from)
		if err == nil {
			err = inf.AddIndex("bad", badIndex)
		}
		return inf, err
	}
}

func TestALeaseTellsWhatEndedTheRun(t *testing.T) {
	bubble(t, Options[*thing]{Transform: badTransform}, func(t *testing.T, r *rig) {
		out := r.logged()
		lease, err := r.Acquire(klog.NewContext(t.Context(), r.log))
		if err != nil {
			t.Fatal(err)
		}
		r.from.set("bad")
		<-lease.Done()
		if err := lease.Close(); !errors.Is(err, ErrExited) {
			t.Errorf("the lease says %v", err)
		}
		synctest.Wait()
		expectLines(t, out, "has ended a goroutine of the informer", []string{".badTransform (", "exits_run_test.go"})
	})
}

// unreliable ends its goroutine at a call to come.
type unreliable struct{ after atomic.Int64 }

func (u *unreliable) call() {
	if u.after.Add(-1) == 0 {
		runtime.Goexit()
	}
}

func (u *unreliable) index(obj *thing) []string {
	u.call()
	return []string{obj.ResourceVersion[len(obj.ResourceVersion)-1:]}
}

func (u *unreliable) transform(obj *thing) (*thing, error) {
	u.call()
	return obj, nil
}

func TestNothingIsLostOverRunsThatEndedInTheMiddle(t *testing.T) {
	for range 30 {
		seed := rand.Uint64()
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(seed, 0))
			u := &unreliable{}
			options := Options[*thing]{MaxPending: rnd.IntN(3) * 4, Indexes: map[string]indexer.Func[*thing]{"digit": u.index}}
			if rnd.IntN(2) == 0 {
				options.Transform = u.transform
			}
			options.Reflector.DisableWatchList = rnd.IntN(2) == 0
			if rnd.IntN(2) == 0 {
				bubble(t, options, func(t *testing.T, r *rig) { r.interrupted(rnd, u, []string{""}) })
				return
			}
			names := []string{"a", "b", "c"}
			joined(t, names, options, func(t *testing.T, r *joinedRig) { r.interrupted(rnd, u, names) })
		})
	}
}

// interrupted walks through runs that u ends.
func (r *rig) interrupted(rnd *rand.Rand, u *unreliable, namespaces []string) {
	h, latest := &recorder{}, &recorder{}
	r.add(h)
	r.add(latest, WithLatestOnly())
	key := func() string {
		name := string(rune('a' + rnd.IntN(6)))
		if namespace := namespaces[rnd.IntN(len(namespaces))]; namespace != "" {
			return namespace + "/" + name
		}
		return name
	}
	exits := 0
	for run := range 12 {
		if u.after.Store(1 + rnd.Int64N(30)); run == 11 {
			u.after.Store(0)
		}
		ctx, cancel := context.WithCancel(klog.NewContext(r.t.Context(), klog.Logger{}))
		done := make(chan error, 1)
		go func() { done <- r.Run(ctx) }()
		for range 20 {
			if _, err := r.Watch(r.Snapshot(), indexer.Is("digit", "3")); err != nil {
				r.t.Error(err)
			}
			if rnd.IntN(3) == 0 {
				r.from.remove(key())
			} else {
				r.from.set(key())
			}
			if rnd.IntN(3) == 0 {
				time.Sleep(time.Second)
			}
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if run == 11 {
			r.expectObjects(h, latest)
		}
		cancel()
		if err := <-done; errors.Is(err, ErrExited) {
			exits++
		} else if err != nil {
			r.t.Errorf("Run: %v", err)
		}
	}
	if exits == 0 {
		r.t.Error("nothing was interrupted")
	}
}

// expectObjects compares cache and handlers with the collection.
func (r *rig) expectObjects(handlers ...*recorder) {
	r.t.Helper()
	_, want := r.from.newest()
	got := map[string]string{}
	for _, obj := range r.Snapshot().All() {
		got[keyOf(obj)] = fmt.Sprintf("%s@%s", obj.UID, obj.ResourceVersion)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		r.t.Errorf("cache (-want +got):\n%s", diff)
	}
	for k, h := range handlers {
		if diff := cmp.Diff(want, h.state()); diff != "" {
			r.t.Errorf("handler %d (-collection +told):\n%s", k, diff)
		}
		for _, problem := range h.complaints() {
			r.t.Errorf("handler %d: %s", k, problem)
		}
	}
}

func TestAFunctionThatPanicsCostsItsObjectOnlyAndAgain(t *testing.T) {
	odd := func(obj *thing) []string {
		if obj.Name == "bad" {
			panic("odd object")
		}
		return []string{"good"}
	}
	bubble(t, Options[*thing]{Transform: func(obj *thing) (*thing, error) {
		if obj.Name == "worse" {
			panic("odder object")
		}
		return obj, nil
	}}, func(t *testing.T, r *rig) {
		overlay := NewOverlay(r.Informer, 0)
		for _, key := range []string{"a", "bad", "worse"} {
			r.from.set(key)
		}
		r.start()
		for what, happens := range map[string]func(){
			"an index that is added": func() {
				if err := errors.Join(r.AddIndex("odd", odd), r.Define(indexer.NewIndex("odder", odd))); err != nil {
					t.Error(err)
				}
			},
			"a relist": r.Relist,
			"events":   func() { r.from.set("bad"); r.from.set("worse"); r.from.set("a") },
			"a write of one's own": func() {
				overlay.Put(newThing("bad", "u2", 1000))
				overlay.Put(newThing("worse", "u3", 1000))
			},
		} {
			happens()
			synctest.Wait()
			if _, found := overlay.Get("a"); !found || r.Snapshot().Len() != 2 {
				t.Errorf("after %s: %d objects", what, r.Snapshot().Len())
			}
			if s := r.Status(); s.Transform.Standing != 1 || !s.Synced {
				t.Errorf("after %s: synced %v, transform %+v", what, s.Synced, s.Transform)
			}
		}
		if n, err := r.Snapshot().IndexLen("odd", "good"); n != 1 {
			t.Errorf("%d objects in the index, want 1 (%v)", n, err)
		}
		if obj, found := overlay.Get("worse"); !found || obj.ResourceVersion != "1000" {
			t.Errorf("the overlay has %v of what the cache lacks", obj)
		}
	})
}
