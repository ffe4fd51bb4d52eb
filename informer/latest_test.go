package informer

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
)

// gate lets the calls of a handler through one by one, or all when it is open.
type gate struct {
	recorder
	pass chan struct{}
}

func newGate() *gate {
	g := &gate{pass: make(chan struct{})}
	g.hold = func() { <-g.pass }
	return g
}

func TestALatestOnlyHandlerThatKeepsPaceIsToldWhatOthersAre(t *testing.T) {
	bubble(t, Options[*thing]{}, func(t *testing.T, r *rig) {
		r.from.set("a")
		every, latest := &recorder{}, &recorder{}
		r.add(every)
		reg := r.add(latest, WithLatestOnly())
		r.start()
		for range 3 {
			r.from.set("b")
			synctest.Wait()
		}
		r.from.remove("b")
		synctest.Wait()
		r.from.set("c")
		synctest.Wait()
		r.from.remove("a")
		want := []string{"initial a:u1@2", "add b:u2@3", "update b:u2@3 -> b:u2@4", "update b:u2@4 -> b:u2@5",
			"delete b:u2@6 exact", "add c:u3@7", "delete a:u1@8 exact"}
		r.expect(every, want...)
		r.expect(latest, want...)
		if !closed(reg.Synced()) || reg.Depth() != 0 || reg.ResourceVersion() != "8" {
			t.Errorf("synced %v, depth %d, seen %s", closed(reg.Synced()), reg.Depth(), reg.ResourceVersion())
		}
	})
}

func TestALatestOnlyHandlerIsToldWhatBecameOfEachObject(t *testing.T) {
	bubble(t, Options[*thing]{}, func(t *testing.T, r *rig) {
		for _, key := range []string{"updated", "deleted", "recreated", "same"} {
			r.from.set(key)
		}
		h := newGate()
		reg := r.add(h, WithLatestOnly())
		r.start()
		for range 4 {
			h.pass <- struct{}{}
		}
		r.expect(&h.recorder, "initial deleted:u2@3", "initial recreated:u3@4", "initial same:u4@5", "initial updated:u1@2")
		r.from.set("blocks")
		synctest.Wait()
		for range 1000 {
			r.from.set("updated")
			r.from.set("deleted")
			synctest.Wait()
		}
		r.from.remove("deleted")
		r.from.remove("recreated")
		r.from.set("recreated")
		r.from.set("came-and-went")
		r.from.remove("came-and-went")
		synctest.Wait()
		if depth := reg.Depth(); depth < 4 || depth > 10 {
			t.Errorf("depth %d, want not much more than the calls that follow", depth)
		}
		if reg.ResourceVersion() != "5" {
			t.Errorf("seen %s in the call for version 6", reg.ResourceVersion())
		}
		close(h.pass)
		synctest.Wait()
		got := h.take()
		slices.Sort(got[1:])
		want := []string{"add blocks:u5@6", "add recreated:u6@2009", "delete deleted:u2@3", "delete recreated:u3@4", "update updated:u1@2 -> updated:u1@2005"}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("calls (-want +got):\n%s", diff)
		}
		if problems := h.complaints(); len(problems) > 0 {
			t.Error(problems)
		}
		if reg.ResourceVersion() != r.Snapshot().ResourceVersion() || reg.Depth() != 0 {
			t.Errorf("seen %s, depth %d after all calls", reg.ResourceVersion(), reg.Depth())
		}
	})
}

// What is owed to a slow handler grows old while it waits; what is told does not.
func TestALatestOnlyHandlerIsToldTheStateOfTheMomentOfTheCall(t *testing.T) {
	bubble(t, Options[*thing]{}, func(t *testing.T, r *rig) {
		h := newGate()
		r.add(h, WithLatestOnly())
		for _, key := range []string{"a", "b", "c"} { // a list comes as one change
			r.from.set(key)
		}
		r.start() // a is being told
		r.from.set("b")
		r.from.remove("c")
		r.from.set("a")
		synctest.Wait()
		close(h.pass)
		r.expect(&h.recorder, "initial a:u1@2", "initial b:u2@5", "update a:u1@2 -> a:u1@7")
	})
}

func TestALatestOnlyHandlerCanFilterAndResync(t *testing.T) {
	bubble(t, Options[*thing]{}, func(t *testing.T, r *rig) {
		r.from.edit("in", labelled("yes"))
		r.from.edit("leaves", labelled("yes"))
		r.from.edit("enters", labelled("no"))
		h := newGate()
		r.add(h, WithLatestOnly(), WithFilter(isOn), WithResync(10*time.Second), WithPredicates(LabelsChanged))
		r.start()
		time.Sleep(time.Second)
		r.from.set("in")
		r.from.edit("leaves", labelled("no"))
		r.from.edit("enters", labelled("yes"))
		synctest.Wait()
		close(h.pass)
		synctest.Wait()
		got := h.take()
		slices.Sort(got[1:])
		want := []string{"initial in:u1@2", "add enters:u3@7"}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("calls (-want +got):\n%s", diff)
		}
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if diff := cmp.Diff([]string{"update enters:u3@7 -> enters:u3@7", "update in:u1@5 -> in:u1@5"}, h.take()); diff != "" {
			t.Errorf("resync (-want +got):\n%s", diff)
		}
	})
}

func TestALatestOnlyHandlerGoesOnWhereItStoppedAfterARestart(t *testing.T) {
	bubble(t, Options[*thing]{}, func(t *testing.T, r *rig) {
		h := &recorder{hold: func() { time.Sleep(time.Second) }}
		r.add(h, WithLatestOnly())
		r.start()
		for _, key := range []string{"a", "b", "c", "d"} {
			r.from.set(key)
		}
		synctest.Wait()
		r.stop()
		r.from.remove("a")
		r.from.set("b")
		time.Sleep(time.Hour)
		r.start()
		time.Sleep(time.Hour)
		synctest.Wait()
		if diff := cmp.Diff(r.Snapshot().Len(), len(h.state())); diff != "" || len(h.complaints()) > 0 {
			t.Errorf("knows %v after %v: %v", h.state(), h.take(), h.complaints())
		}
	})
}

// TestABlockedLatestOnlyHandlerKeepsNothingOfTheLog is the bound of a blocked
// handler: whatever happens, old objects and notices go.
func TestABlockedLatestOnlyHandlerKeepsNothingOfTheLog(t *testing.T) {
	t.Setenv(detectMutationsVariable, "") // it would measure the copies, too
	const keys, rounds = 1000, 10
	updates := 1_000_000
	if raced {
		updates /= 10
	}
	run := startFlood(t, keys)
	hold := make(chan struct{})
	blocked := run.add(HandlerFuncs[*thing]{AddFunc: func(*thing, bool) { <-hold }}, WithLatestOnly(), WithSlowAfter(0))
	slow := run.add(HandlerFuncs[*thing]{UpdateFunc: func(_, _ *thing) { <-hold }}, WithLatestOnly(), WithSlowAfter(0))
	defer close(hold)
	before := run.heap()
	for range rounds {
		run.update(updates / rounds)
		if after := run.heap(); after > before+10<<20 {
			t.Fatalf("heap grew from %d KB to %d KB", before>>10, after>>10)
		}
	}
	for _, reg := range []*Registration{blocked, slow} {
		if depth := reg.Depth(); depth < 1 || depth > 3*keys {
			t.Errorf("depth %d, want what is owed for %d keys at most", depth, keys)
		}
	}
}

func TestABlockedHandlerOfEveryChangeReportsItsDepth(t *testing.T) {
	run := startFlood(t, 10)
	hold := make(chan struct{})
	defer close(hold)
	reg := run.add(HandlerFuncs[*thing]{UpdateFunc: func(_, _ *thing) { <-hold }}, WithSlowAfter(0))
	<-reg.Synced()
	run.update(5000)
	if depth := reg.Depth(); depth != 5000 {
		t.Errorf("depth %d, want 5000", depth)
	}
}

// flood is an informer, not in a bubble, whose objects change very often.
type flood struct {
	*Informer[*thing]
	t       *testing.T
	keys    int
	version int64
}

func startFlood(t *testing.T, keys int) *flood {
	from := newCollection()
	inf, err := New(from, Options[*thing]{MaxPending: 1 << 30})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(klog.NewContext(context.Background(), klog.Logger{}))
	ended := make(chan error, 1)
	go func() { ended <- inf.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	if err := inf.WaitForSync(t.Context()); err != nil {
		t.Fatal(err)
	}
	f := &flood{Informer: inf, t: t, keys: keys, version: 1}
	f.update(keys)
	return f
}

func (f *flood) add(h Handler[*thing], opts ...HandlerOption) *Registration {
	reg, err := f.AddHandler(h, opts...)
	if err != nil {
		f.t.Fatal(err)
	}
	return reg
}

// heap is what is alive.
func (f *flood) heap() uint64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}

// update makes n changes and waits until the cache has them.
func (f *flood) update(n int) {
	f.mu.Lock()
	queue := f.run.queues[0]
	f.mu.Unlock()
	for k := range n {
		f.version++
		key := fmt.Sprint("object-", int(f.version)%f.keys)
		obj := newThing(key, "", f.version)
		obj.UID = types.UID(key)
		queue.Update(key, obj, obj.ResourceVersion)
		if k%5000 == 0 || k == n-1 {
			if err := f.WaitFor(f.t.Context(), obj.ResourceVersion); err != nil {
				f.t.Fatal(err)
			}
		}
	}
}
