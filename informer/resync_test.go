package informer

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// resyncs writes down when a handler was told of which object once more.
//
// bubble: used in them only
type resyncs struct {
	recorder
	start time.Time
	at    []string
	pause time.Duration // of each call
}

func (h *resyncs) OnUpdate(old, obj *thing) {
	h.recorder.OnUpdate(old, obj)
	if old == obj {
		h.at = append(h.at, fmt.Sprintf("%v %s", time.Since(h.start), show(obj)))
	}
	time.Sleep(h.pause)
}

func (h *resyncs) expect(t *testing.T, want ...string) {
	t.Helper()
	synctest.Wait()
	if diff := cmp.Diff(want, h.at); diff != "" {
		t.Errorf("resyncs (-want +got):\n%s", diff)
	}
	if problems := h.complaints(); len(problems) > 0 {
		t.Error(problems)
	}
	h.at = nil
}

func TestAResyncGoesOverWhatEachHandlerKnowsInItsOwnPeriod(t *testing.T) {
	bubble(t, Options[*thing]{}, func(t *testing.T, r *rig) {
		r.from.edit("a", labelled("yes"))
		r.from.set("b")
		some, all, none := &resyncs{start: time.Now()}, &resyncs{start: time.Now()}, &resyncs{}
		r.add(some, WithResync(10*time.Second), WithFilter(isOn), WithPredicates(GenerationChanged))
		reg := r.add(all, WithResync(15*time.Second))
		r.add(none)
		r.start()
		time.Sleep(31 * time.Second)
		some.expect(t, "10s a:u1@2", "20s a:u1@2", "30s a:u1@2")
		all.expect(t, "15s a:u1@2", "15s b:u2@3", "30s a:u1@2", "30s b:u2@3")
		none.expect(t)
		late := &resyncs{start: time.Now()}
		r.add(late, WithResync(time.Second))
		reg.Remove()
		time.Sleep(1500 * time.Millisecond)
		late.expect(t, "1s a:u1@2", "1s b:u2@3")
		all.expect(t)
	})
}

func TestAResyncFallsTogetherWithChanges(t *testing.T) {
	bubble(t, Options[*thing]{}, func(t *testing.T, r *rig) {
		r.from.set("a")
		r.from.set("b")
		h := &resyncs{start: time.Now()}
		r.add(h, WithResync(10*time.Second))
		r.start()
		time.Sleep(9 * time.Second)
		r.writing <- struct{}{} // all in one batch, with the resync in the middle
		r.from.set("a")
		r.from.remove("b")
		synctest.Wait()
		time.Sleep(2 * time.Second)
		r.from.set("c")
		synctest.Wait()
		<-r.writing
		h.expect(t, "11s a:u1@4", "11s c:u3@6")
		r.expect(&h.recorder, "initial a:u1@2", "initial b:u2@3", "update a:u1@2 -> a:u1@4", "delete b:u2@5 exact",
			"add c:u3@6", "update a:u1@4 -> a:u1@4", "update c:u3@6 -> c:u3@6")
	})
}

func TestASlowHandlerHasOneResyncAheadAtMost(t *testing.T) {
	bubble(t, Options[*thing]{}, func(t *testing.T, r *rig) {
		r.from.set("a")
		h := &resyncs{start: time.Now(), pause: time.Minute}
		reg := r.add(h, WithResync(time.Second))
		r.start()
		time.Sleep(30 * time.Second)
		if reg.Depth() != 1 {
			t.Errorf("depth %d in the call of a resync, want 1", reg.Depth())
		}
		time.Sleep(100 * time.Second)
		h.expect(t, "1s a:u1@2", "1m2s a:u1@2", "2m3s a:u1@2")
	})
}

func TestThereIsNoResyncOutOfSync(t *testing.T) {
	bubble(t, Options[*thing]{}, func(t *testing.T, r *rig) {
		r.from.refuse(errors.New("connection refused"))
		h := &resyncs{start: time.Now()}
		r.add(h, WithResync(time.Second))
		r.start()
		time.Sleep(time.Hour)
		h.expect(t)
		r.from.set("a")
		r.from.refuse(nil)
		time.Sleep(2 * time.Minute) // the next try may take one of them
		synctest.Wait()
		if len(h.at) < 10 {
			t.Errorf("only %d resyncs in sync", len(h.at))
		}
		r.stop()
		h.at = nil
		time.Sleep(time.Hour)
		h.expect(t)
		h.start = time.Now()
		r.start()
		time.Sleep(1500 * time.Millisecond)
		h.expect(t, "1s a:u1@2")
	})
}

// A resync goes on while the connection is down: the cache is what it is.
func TestAResyncNeedsNoServer(t *testing.T) {
	bubble(t, Options[*thing]{}, func(t *testing.T, r *rig) {
		r.from.set("a")
		h := &resyncs{start: time.Now()}
		r.add(h, WithResync(time.Minute))
		r.start()
		r.from.refuse(errors.New("connection refused"))
		time.Sleep(61 * time.Second)
		h.expect(t, "1m0s a:u1@2")
	})
}

func TestAnInterruptedResyncLeavesALegalHistory(t *testing.T) {
	bubble(t, Options[*thing]{}, func(t *testing.T, r *rig) {
		for _, key := range []string{"a", "b", "c"} {
			r.from.set(key)
		}
		h := &resyncs{start: time.Now(), pause: time.Second}
		reg := r.add(h, WithResync(10*time.Second))
		r.start()
		time.Sleep(11500 * time.Millisecond) // in the second of three calls
		r.from.set("c")
		synctest.Wait()
		r.stop()
		r.start()
		r.from.remove("a")
		time.Sleep(5 * time.Second)
		h.expect(t, "10s a:u1@2", "11s b:u2@3")
		if got := h.take(); !slices.Contains(got, "update c:u3@4 -> c:u3@5") || !slices.Contains(got, "delete a:u1@6 exact") || reg.Depth() != 0 {
			t.Errorf("calls %v, depth %d, want the update of c and the delete of a", got, reg.Depth())
		}
	})
}

func TestWithoutResyncsAndCallsNoTimerRuns(t *testing.T) {
	bubble(t, Options[*thing]{}, func(t *testing.T, r *rig) {
		r.add(&recorder{})
		r.start()
		r.from.set("a")
		time.Sleep(time.Hour)
		r.alarm.mu.Lock()
		defer r.alarm.mu.Unlock()
		if !r.alarm.at.IsZero() {
			t.Errorf("the timer is set to %v though nobody needs it", r.alarm.at)
		}
	})
}

func TestAPeriodBelowASecondIsRefused(t *testing.T) {
	inf, err := New(newCollection(), Options[*thing]{})
	if err != nil {
		t.Fatal(err)
	}
	for _, period := range []time.Duration{-time.Second, time.Nanosecond, time.Second - 1} {
		if _, err := inf.AddHandler(&recorder{}, WithResync(period)); !errors.Is(err, ErrInvalidOptions) {
			t.Errorf("period %v: got %v, want ErrInvalidOptions", period, err)
		}
	}
	for _, period := range []time.Duration{0, time.Second} {
		if _, err := inf.AddHandler(&recorder{}, WithResync(period)); err != nil {
			t.Errorf("period %v: %v", period, err)
		}
	}
}
