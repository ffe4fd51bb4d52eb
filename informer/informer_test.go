package informer

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/klog/v2"

	"github.com/listwatch/listwatch/indexer"
)

// rig is an informer over a collection.
//
// bubble: made by bubble, which runs the test in one
type rig struct {
	*Informer[*thing]
	t    *testing.T
	from *collection
	stop func()      // ends the run and waits for it
	log  klog.Logger // quiet if zero
}

// bubble runs f in a synctest bubble with an informer that does not run yet.
func bubble(t *testing.T, options Options[*thing], f func(*testing.T, *rig)) {
	synctest.Test(t, func(t *testing.T) {
		from := newCollection()
		inf, err := New(from, options)
		if err != nil {
			t.Fatal(err)
		}
		r := &rig{Informer: inf, t: t, from: from}
		f(t, r)
		if r.stop != nil {
			r.stop()
		}
	})
}

// start runs the informer in the background until stop or the end of the test.
func (r *rig) start() {
	r.t.Helper()
	stop := runLogged(r.t, r.Informer, r.log)
	r.stop = func() {
		r.stop = nil
		stop()
	}
}

// runInBubble runs inf quietly until the function that it returns is called.
func runInBubble[T Object](t *testing.T, inf *Informer[T]) (stop func()) {
	t.Helper()
	return runLogged(t, inf, klog.Logger{})
}

func runLogged[T Object](t *testing.T, inf *Informer[T], log klog.Logger) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(klog.NewContext(t.Context(), log))
	done := make(chan error, 1)
	go func() { done <- inf.Run(ctx) }()
	synctest.Wait()
	return func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
	}
}

func (r *rig) add(h Handler[*thing], opts ...HandlerOption) *Registration {
	r.t.Helper()
	reg, err := r.AddHandler(h, opts...)
	if err != nil {
		r.t.Fatal(err)
	}
	synctest.Wait()
	return reg
}

// expect waits until nothing moves, then compares the calls since the last time.
func (r *rig) expect(h *recorder, want ...string) {
	r.t.Helper()
	synctest.Wait()
	if diff := cmp.Diff(want, h.take()); diff != "" {
		r.t.Errorf("calls (-want +got):\n%s", diff)
	}
	if problems := h.complaints(); len(problems) > 0 {
		r.t.Errorf("illegal history: %v", problems)
	}
}

// expectCache waits until nothing moves, then compares the snapshot with the
// collection.
func (r *rig) expectCache() {
	r.t.Helper()
	synctest.Wait()
	version, want := r.from.newest()
	if got := r.Snapshot().ResourceVersion(); got != version {
		r.t.Errorf("snapshot at %q, want %q", got, version)
	}
	if diff := cmp.Diff(want, idents(slices.Values(r.Snapshot().List()))); diff != "" {
		r.t.Errorf("cache (-want +got):\n%s", diff)
	}
}

// outage breaks the connection, lets happen what happens, and heals; after that
// all has been received again.
func (r *rig) outage(happens func()) {
	r.from.refuse(errors.New("connection refused"))
	synctest.Wait()
	happens()
	time.Sleep(time.Minute)
	r.from.refuse(nil)
	time.Sleep(time.Hour)
	synctest.Wait()
}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

func TestTheVersionOfASnapshotGoesBackOnlyByAReplacement(t *testing.T) {
	bubble(t, Options[*thing]{}, func(t *testing.T, r *rig) {
		r.from.set("a")
		newest := r.from.set("a")
		r.start()
		r.queue().Update("a", newThing("a", "u1", 1), "1")
		synctest.Wait()
		if got := r.Snapshot().ResourceVersion(); got != newest {
			t.Errorf("after an older event at %q, want %q", got, newest)
		}
		r.queue().Replace(nil, "1")
		synctest.Wait()
		if got := r.Snapshot().ResourceVersion(); got != "1" {
			t.Errorf("after an older replacement at %q, want 1", got)
		}
	})
}

func TestHandlersSeeTheInitialListThenEachChange(t *testing.T) {
	for _, disable := range []bool{false, true} {
		t.Run(fmt.Sprintf("DisableWatchList=%v", disable), func(t *testing.T) {
			options := Options[*thing]{}
			options.Reflector.DisableWatchList = disable
			bubble(t, options, func(t *testing.T, r *rig) {
				r.from.set("ns/a")
				r.from.set("b")
				h := &recorder{}
				reg := r.add(h)
				r.start()
				r.expect(h, "initial b:u2@3", "initial ns/a:u1@2")
				if !closed(reg.Synced()) {
					t.Error("handler is not synced after the initial adds")
				}
				r.from.set("b")
				r.from.set("c")
				r.from.remove("ns/a")
				r.expect(h, "update b:u2@3 -> b:u2@4", "add c:u3@5", "delete ns/a:u1@6 exact")
				r.expectCache()
			})
		})
	}
}

func TestAHandlerFindsTheChangeInTheSnapshotWhenItIsTold(t *testing.T) {
	bubble(t, Options[*thing]{}, func(t *testing.T, r *rig) {
		missing := 0
		r.add(HandlerFuncs[*thing]{
			AddFunc: func(obj *thing, _ bool) {
				if _, ok := r.Snapshot().Get(keyOf(obj)); !ok {
					missing++
				}
			},
			DeleteFunc: func(d Deleted[*thing]) {
				if _, ok := r.Snapshot().Get(d.Key); ok {
					missing++
				}
			},
		})
		r.start()
		for range 10 {
			r.from.set("a")
			synctest.Wait()
			r.from.remove("a")
			synctest.Wait()
		}
		if missing > 0 {
			t.Errorf("%d calls came before the snapshot", missing)
		}
	})
}

// Case 8 (kubernetes#83810).
func TestADeleteQueuedBeforeAReplaceWithTheKeyIsSeenAsDeleteThenAdd(t *testing.T) {
	bubble(t, Options[*thing]{}, func(t *testing.T, r *rig) {
		r.from.set("a")
		h := &recorder{}
		r.add(h)
		r.start()
		r.expect(h, "initial a:u1@2")
		// Keep the apply loop from popping while the delete, a cut, and the
		// relist with the key again arrive.
		r.writing <- struct{}{}
		r.from.set("b") // popped, and stuck
		synctest.Wait()
		r.from.remove("a")
		synctest.Wait()
		r.outage(func() {
			r.from.set("a")
			r.from.compact()
		})
		<-r.writing
		r.expect(h, "add b:u2@3", "delete a:u1@4 exact", "add a:u3@5")
		r.expectCache()
	})
}

// Case 9 (kubernetes#133565).
func TestDeleteAndRecreateWhileDisconnectedIsDeleteThenAdd(t *testing.T) {
	bubble(t, Options[*thing]{}, func(t *testing.T, r *rig) {
		r.from.set("a")
		h := &recorder{}
		r.add(h)
		r.start()
		h.take()
		r.outage(func() {
			r.from.remove("a")
			r.from.set("a")
			r.from.compact()
		})
		r.expect(h, "delete a:u1@2", "add a:u2@4")
		r.expectCache()
	})
}

// Case 10 (javascript#494) and 11 (fabric8#2994).
func TestObjectsDeletedWhileDisconnectedLeaveCacheAndIndexesAndAreToldInexactly(t *testing.T) {
	byName := func(obj *thing) []string { return []string{"name " + obj.Name} }
	options := Options[*thing]{Indexes: map[string]indexer.Func[*thing]{"name": byName}}
	bubble(t, options, func(t *testing.T, r *rig) {
		r.from.set("a")
		r.from.set("b")
		h := &recorder{}
		r.add(h)
		r.start()
		h.take()
		r.outage(func() {
			r.from.remove("a")
			r.from.compact()
		})
		r.expect(h, "delete a:u1@2")
		r.expectCache()
		values, err := r.Snapshot().IndexValues("name")
		if diff := cmp.Diff([]string{"name b"}, slices.Collect(slices.Values(values))); diff != "" || err != nil {
			t.Errorf("index (-want +got), %v:\n%s", err, diff)
		}
	})
}

func TestARelistTellsNothingAboutUnchangedObjectsAndKeepsThem(t *testing.T) {
	bubble(t, Options[*thing]{}, func(t *testing.T, r *rig) {
		r.from.set("a")
		r.from.set("b")
		h := &recorder{}
		r.add(h)
		r.start()
		before, _ := r.Snapshot().Get("a")
		h.take()
		lists := r.from.lists
		r.outage(func() {
			r.from.set("b")
			r.from.compact()
		})
		if r.from.lists == lists {
			t.Error("there was no relist")
		}
		r.expect(h, "update b:u2@3 -> b:u2@4")
		if after, _ := r.Snapshot().Get("a"); after != before {
			t.Error("the cached object of an unchanged key was exchanged")
		}
	})
}

// Case 24 (kubernetes#135959), the informer's part of it.
func TestAnObjectDeletedBetweenListAndWatchLeavesTheCache(t *testing.T) {
	bubble(t, Options[*thing]{}, func(t *testing.T, r *rig) {
		r.from.set("a")
		h := &recorder{}
		r.add(h)
		first := true
		h.hold = func() {
			if first {
				first = false
				r.from.remove("a")
			}
		}
		r.start()
		r.expect(h, "initial a:u1@2", "delete a:u1@3 exact")
		r.expectCache()
	})
}

func TestRunAgainKeepsCacheAndHandlersAndTellsTheDifferences(t *testing.T) {
	bubble(t, Options[*thing]{}, func(t *testing.T, r *rig) {
		for _, key := range []string{"a", "b", "c"} {
			r.from.set(key)
		}
		h := &recorder{}
		reg := r.add(h)
		r.start()
		h.take()
		r.stop()
		if closed(reg.Done()) {
			t.Error("the end of Run ended the registration")
		}
		if r.Snapshot().Len() != 3 {
			t.Errorf("%d objects are left in the cache, want 3", r.Snapshot().Len())
		}
		r.from.set("a")
		r.from.remove("b")
		between := &recorder{}
		late := r.add(between)
		r.expect(between)

		r.start()
		r.expect(h, "delete b:u2@3", "update a:u1@2 -> a:u1@5")
		r.expect(between, "initial a:u1@2", "initial b:u2@3", "initial c:u3@4", "delete b:u2@3", "update a:u1@2 -> a:u1@5")
		if !closed(late.Synced()) {
			t.Error("the handler added between the runs is not synced")
		}
		r.from.set("d")
		r.expect(h, "add d:u4@7")
		r.expectCache()
	})
}

func TestNoticesPendingAtTheEndOfARunAreDeliveredByTheNext(t *testing.T) {
	bubble(t, Options[*thing]{}, func(t *testing.T, r *rig) {
		h := &recorder{}
		calls := make(chan struct{})
		h.hold = func() { <-calls }
		reg := r.add(h)
		r.start()
		for _, key := range []string{"a", "b", "c"} {
			r.from.set(key)
		}
		synctest.Wait()
		if got := reg.Depth(); got != 3 {
			t.Errorf("depth %d, want 3", got)
		}
		go func() {
			time.Sleep(time.Second)
			calls <- struct{}{}
		}()
		r.stop() // waits for the call in progress
		r.expect(h, "add a:u1@2")
		close(calls)
		r.start()
		r.expect(h, "add b:u2@3", "add c:u3@4")
		if got := reg.Depth(); got != 0 {
			t.Errorf("depth %d, want 0", got)
		}
	})
}

func TestASecondConcurrentRunIsAnError(t *testing.T) {
	bubble(t, Options[*thing]{Name: "things"}, func(t *testing.T, r *rig) {
		r.start()
		err := r.Run(t.Context())
		if !errors.Is(err, ErrRunning) || !strings.Contains(err.Error(), `"things"`) {
			t.Errorf("got %v, want ErrRunning that names the informer", err)
		}
	})
}

func TestRunWithAnEndedContextReturns(t *testing.T) {
	bubble(t, Options[*thing]{}, func(t *testing.T, r *rig) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		r.add(&recorder{})
		if err := r.Run(ctx); err != nil {
			t.Error(err)
		}
	})
}

// Case 16 (kubernetes#134565, istio#60909): the bubble itself fails if a
// goroutine is left.
func TestStopBeforeSyncLeavesNoGoroutine(t *testing.T) {
	bubble(t, Options[*thing]{}, func(t *testing.T, r *rig) {
		r.from.refuse(errors.New("connection refused"))
		r.add(&recorder{})
		r.start()
		time.Sleep(10 * time.Second)
		began := time.Now()
		r.stop()
		if took := time.Since(began); took > 0 {
			t.Errorf("the stop took %v", took)
		}
	})
}

func TestAddIndexWhileRunningIndexesWhatIsThereAndWhatComes(t *testing.T) {
	bubble(t, Options[*thing]{}, func(t *testing.T, r *rig) {
		r.from.set("ns/a")
		r.start()
		err := r.AddIndex("namespace", func(obj *thing) []string { return []string{obj.Namespace} })
		if err != nil {
			t.Fatal(err)
		}
		r.from.set("ns/b")
		synctest.Wait()
		found, err := r.Snapshot().ByIndex("namespace", "ns")
		if err != nil {
			t.Fatal(err)
		}
		got := slices.Sorted(maps.Keys(maps.Collect(found)))
		if diff := cmp.Diff([]string{"ns/a", "ns/b"}, got); diff != "" {
			t.Errorf("index (-want +got):\n%s", diff)
		}
	})
}

func TestNewRefusesWhatMakesNoSense(t *testing.T) {
	if _, err := New[*thing](nil, Options[*thing]{}); !errors.Is(err, ErrInvalidOptions) {
		t.Errorf("no source: got %v", err)
	}
	if _, err := New(newCollection(), Options[*thing]{MaxPending: -1}); !errors.Is(err, ErrInvalidOptions) {
		t.Errorf("negative MaxPending: got %v", err)
	}
	inf, err := New(newCollection(), Options[*thing]{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := inf.AddHandler(nil); !errors.Is(err, ErrInvalidOptions) {
		t.Errorf("no handler: got %v", err)
	}
}
