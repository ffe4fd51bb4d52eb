package informer

import (
	"context"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
)

// Case 14 (client-go#675, kubernetes#92777).
func TestAHandlerAddedAfterStartGetsTheCacheAsInitialAddsAndSyncs(t *testing.T) {
	bubble(t, Options[*thing]{}, func(t *testing.T, r *rig) {
		r.from.set("a")
		r.from.set("b")
		r.start()
		h := &recorder{}
		reg := r.add(h)
		r.expect(h, "initial a:u1@2", "initial b:u2@3")
		if !closed(reg.Synced()) {
			t.Error("the late handler is not synced")
		}
		r.from.set("b")
		r.from.set("c")
		r.expect(h, "update b:u2@3 -> b:u2@4", "add c:u3@5")
	})
}

func TestAHandlerOnAnEmptyCollectionSyncs(t *testing.T) {
	bubble(t, Options[*thing]{}, func(t *testing.T, r *rig) {
		early := r.add(&recorder{})
		if closed(early.Synced()) {
			t.Error("synced before Run")
		}
		r.start()
		late := r.add(&recorder{})
		if !closed(early.Synced()) || !closed(late.Synced()) {
			t.Error("not synced though there is nothing to wait for")
		}
	})
}

// Case 15 (kubernetes#113763).
func TestAHandlerThatBlocksInItsFirstAddIsNotSyncedThoughTheInformerIs(t *testing.T) {
	bubble(t, Options[*thing]{}, func(t *testing.T, r *rig) {
		r.from.set("a")
		r.from.set("b")
		block := make(chan struct{})
		slow, fast := &recorder{hold: func() { <-block }}, &recorder{}
		slowReg, fastReg := r.add(slow), r.add(fast)
		r.start()
		late := r.add(&recorder{hold: func() { <-block }})
		if err := r.WaitForSync(t.Context()); err != nil {
			t.Error(err)
		}
		r.expect(fast, "initial a:u1@2", "initial b:u2@3")
		if !closed(fastReg.Synced()) {
			t.Error("the fast handler waits for the slow one")
		}
		if closed(slowReg.Synced()) || closed(late.Synced()) {
			t.Error("a handler in its first add is synced")
		}
		if slowReg.Depth() != 2 || late.Depth() != 2 {
			t.Errorf("depths %d and %d, want 2", slowReg.Depth(), late.Depth())
		}
		time.Sleep(time.Minute)
		if status := r.Status().Handlers; len(status) != 3 || status[0].Age != time.Minute || status[1].Age != 0 {
			t.Errorf("handlers %+v, want the first to be a minute behind", status)
		}
		close(block)
		synctest.Wait()
		if !closed(slowReg.Synced()) || !closed(late.Synced()) {
			t.Error("not synced after the initial adds returned")
		}
	})
}

func TestOnlyChangesAfterTheFirstListAreNotInitial(t *testing.T) {
	bubble(t, Options[*thing]{}, func(t *testing.T, r *rig) {
		r.from.set("a")
		h := &recorder{}
		r.add(h)
		r.writing <- struct{}{} // the list and the event come in one batch
		r.start()
		r.from.set("b")
		synctest.Wait()
		<-r.writing
		r.expect(h, "initial a:u1@2", "add b:u2@3")
	})
}

func TestRemoveDropsWhatIsQueuedAndCanBeRepeated(t *testing.T) {
	bubble(t, Options[*thing]{}, func(t *testing.T, r *rig) {
		block := make(chan struct{})
		h := &recorder{hold: func() { <-block }}
		reg := r.add(h)
		r.start()
		r.from.set("a")
		r.from.set("b")
		synctest.Wait()
		reg.Remove()
		reg.Remove()
		synctest.Wait()
		if closed(reg.Done()) {
			t.Error("done while the handler is being called")
		}
		if reg.Depth() != 0 {
			t.Errorf("depth %d after Remove", reg.Depth())
		}
		close(block)
		<-reg.Done()
		r.from.set("c")
		r.expect(h, "add a:u1@2")
		reg.Remove()
		if handlers := r.Status().Handlers; len(handlers) != 0 {
			t.Errorf("handlers %+v are left", handlers)
		}
	})
}

func TestAHandlerMayRemoveItself(t *testing.T) {
	bubble(t, Options[*thing]{}, func(t *testing.T, r *rig) {
		h := &recorder{}
		var reg *Registration
		h.hold = func() { reg.Remove() }
		reg = r.add(h)
		r.start()
		r.from.set("a")
		<-reg.Done()
		r.from.set("b")
		r.expect(h, "add a:u1@2")
	})
}

func TestRemoveOfAnIdleHandlerIsDoneSoon(t *testing.T) {
	bubble(t, Options[*thing]{}, func(t *testing.T, r *rig) {
		before := r.add(&recorder{})
		before.Remove()
		if !closed(before.Done()) {
			t.Error("not done though nothing runs")
		}
		r.start()
		idle := r.add(&recorder{})
		idle.Remove()
		<-idle.Done()
		stopped := r.add(&recorder{})
		r.stop()
		stopped.Remove()
		if !closed(stopped.Done()) {
			t.Error("not done after the end of Run")
		}
	})
}

func TestAHandlerAddedInsideAHandlerSeesEachChangeOnce(t *testing.T) {
	bubble(t, Options[*thing]{}, func(t *testing.T, r *rig) {
		inner := &recorder{}
		added := false
		outer := &recorder{hold: func() {
			if !added {
				added = true
				if _, err := r.AddHandler(inner, WithName("inner")); err != nil {
					t.Error(err)
				}
			}
		}}
		r.add(outer)
		r.start()
		r.from.set("a")
		r.from.set("b")
		synctest.Wait()
		r.from.set("a")
		synctest.Wait()
		r.expect(outer, "add a:u1@2", "add b:u2@3", "update a:u1@2 -> a:u1@4")
		if problems := inner.complaints(); len(problems) > 0 {
			t.Error(problems)
		}
		if got := inner.state(); len(got) != 2 {
			t.Errorf("inner handler knows %v, want a and b", got)
		}
	})
}

// Case 16 (kubernetes#134565, istio#60909): the bubble itself fails if a
// goroutine is left.
func TestRepeatedAddAndRemoveOfHandlersLeavesNothingBehind(t *testing.T) {
	bubble(t, Options[*thing]{}, func(t *testing.T, r *rig) {
		r.from.set("a")
		r.start()
		for range 100 {
			reg, err := r.AddHandler(&recorder{})
			if err != nil {
				t.Fatal(err)
			}
			r.from.set("a")
			reg.Remove()
			<-reg.Done()
		}
		if n := len(r.Status().Handlers); n != 0 {
			t.Errorf("%d handlers are left", n)
		}
		synctest.Wait()
	})
}

func TestARecoveredPanicCountsAsDelivered(t *testing.T) {
	defer func(crash bool) { utilruntime.ReallyCrash = crash }(utilruntime.ReallyCrash)
	utilruntime.ReallyCrash = false
	bubble(t, Options[*thing]{}, func(t *testing.T, r *rig) {
		h := &recorder{}
		first := true
		reg := r.add(HandlerFuncs[*thing]{AddFunc: func(obj *thing, initial bool) {
			if first {
				first = false
				panic("odd object")
			}
			h.OnAdd(obj, initial)
		}})
		r.from.set("a")
		r.from.set("b")
		r.start()
		r.expect(h, "initial b:u2@3")
		if !closed(reg.Synced()) || reg.Depth() != 0 {
			t.Errorf("depth %d, want a synced handler with nothing to do", reg.Depth())
		}
	})
}

func TestAPanicInAHandlerEndsTheProcess(t *testing.T) {
	const child = "INFORMER_TEST_PANIC"
	if os.Getenv(child) == "" {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$")
		cmd.Env = append(os.Environ(), child+"=1", "GORACE=atexit_sleep_ms=0")
		out, err := cmd.CombinedOutput()
		if err == nil || !strings.Contains(string(out), "Observed a panic") || !strings.Contains(string(out), "panic: odd object") {
			t.Errorf("got %v, want a logged panic that ends the process, and:\n%s", err, out)
		}
		return
	}
	from := newCollection()
	from.set("a")
	inf, err := New(from, Options[*thing]{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := inf.AddHandler(HandlerFuncs[*thing]{AddFunc: func(*thing, bool) { panic("odd object") }}); err != nil {
		t.Fatal(err)
	}
	_ = inf.Run(context.Background())
}

func TestNoticesThatAllHandlersHavePassedAreGarbage(t *testing.T) {
	bubble(t, Options[*thing]{}, func(t *testing.T, r *rig) {
		block := make(chan struct{})
		r.add(&recorder{})
		slow := r.add(HandlerFuncs[*thing]{AddFunc: func(*thing, bool) { <-block }})
		r.start()
		next := weak.Make(r.state.Load().tail)
		r.from.set("a")
		synctest.Wait()
		runtime.GC()
		if next.Value() == nil {
			t.Error("a batch is gone that a handler is in the middle of")
		}
		close(block)
		synctest.Wait()
		runtime.GC()
		if next.Value() != nil {
			t.Errorf("a batch is left that nobody needs; depth %d", slow.Depth())
		}
	})
}

func TestARemovedHandlerThatNeverRanKeepsNothing(t *testing.T) {
	bubble(t, Options[*thing]{}, func(t *testing.T, r *rig) {
		r.from.set("a")
		r.start()
		r.stop()
		idle := r.add(&recorder{})
		pinned := weak.Make(r.Snapshot())
		idle.Remove()
		r.from.set("b")
		r.start()
		runtime.GC()
		if pinned.Value() != nil {
			t.Error("the snapshot of the registration is left")
		}
		runtime.KeepAlive(idle)
	})
}
