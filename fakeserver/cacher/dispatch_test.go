package cacher

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/fields"
)

func TestAWatcherThatNobodyDrainsIsEndedAndHarmsNobody(t *testing.T) {
	inBubble(t, func(o *Options) { o.LagLimit = 5 }, func(r *rig) {
		stuck := r.watch(WatchOptions{SendInitialEvents: ptr(false)})
		well := r.watch(WatchOptions{SendInitialEvents: ptr(false)})
		elsewhere := r.watch(WatchOptions{Predicate: Predicate{Scope: Scope{Namespace: "m"}}, SendInitialEvents: ptr(false)})
		for i := range 20 {
			rv := r.put(fmt.Sprintf("n/%d", i), "")
			r.expect(well, fmt.Sprintf("ADDED n/%d@%d", i, rv))
			time.Sleep(200 * time.Millisecond)
		}
		r.expect(stuck, "EOF")
		r.expectNothing(well)
		r.expectNothing(elsewhere)
		if got := r.cacher.watchers.count; got != 2 {
			t.Errorf("%d watchers are registered", got)
		}
	})
}

func TestAWatcherOverItsLimitHasTheBudgetToCatchUp(t *testing.T) {
	for _, c := range []struct {
		name  string
		age   time.Duration // of the cacher: how much budget there is
		pause time.Duration // before it takes what is over the limit
		ended bool
	}{
		{"no budget yet", 0, 0, true},
		{"in time", time.Minute, 90 * time.Millisecond, false},
		{"too late", time.Minute, 106 * time.Millisecond, true},
		{"too late for a young budget", time.Second, 60 * time.Millisecond, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			inBubble(t, func(o *Options) { o.LagLimit = 5 }, func(r *rig) {
				time.Sleep(c.age)
				w := r.watch(WatchOptions{SendInitialEvents: ptr(false)})
				for range 6 {
					r.put("n/a", "")
				}
				synctest.Wait()
				time.Sleep(c.pause)
				if c.ended {
					r.expect(w, "EOF")
					return
				}
				r.expect(w, "ADDED n/a@2")
				time.Sleep(time.Hour) // at its limit it may stay
				r.put("n/a", "")      // and this is over it again
				r.expect(w, "MODIFIED n/a@3", "MODIFIED n/a@4")
			})
		})
	}
}

func TestTheBudgetIsSharedAndAlsoUsedUpByOthers(t *testing.T) {
	inBubble(t, func(o *Options) { o.LagLimit = 5 }, func(r *rig) {
		time.Sleep(time.Minute)
		stuck := r.watch(WatchOptions{SendInitialEvents: ptr(false)})
		other := r.watch(WatchOptions{Predicate: Predicate{Scope: Scope{Namespace: "m"}}, SendInitialEvents: ptr(false)})
		for range 6 {
			r.put("n/a", "")
		}
		time.Sleep(110 * time.Millisecond)
		for range 6 {
			r.put("m/a", "")
		}
		synctest.Wait()
		r.expect(stuck, "EOF")
		r.expect(other, "EOF")
	})
}

func TestAWatcherEndedForSlownessIsToldWhyAndWhereToResumeIfAsked(t *testing.T) {
	for _, tell := range []bool{false, true} {
		inBubble(t, func(o *Options) { o.LagLimit, o.TellSlow = 2, tell }, func(r *rig) {
			w := r.watch(WatchOptions{SendInitialEvents: ptr(false)})
			r.put("n/a", "")
			r.expect(w, "ADDED n/a@2")
			for range 3 {
				r.put("n/a", "")
			}
			synctest.Wait()
			if !tell {
				r.expect(w, "EOF")
				return
			}
			_, err := w.Next(r.ctx)
			got := status(err).ErrStatus
			if got.Code != 410 || got.Reason != "Expired" || !apierrors.HasStatusCause(err, CauseWatcherTooSlow) || resumeHint(err) != "2" {
				t.Errorf("got %+v", got)
			}
			r.expect(w, "EOF")
			r.expect(r.watch(WatchOptions{ResourceVersion: resumeHint(err)}), "MODIFIED n/a@3")
		})
	}
}

func TestAWatcherThatOwesTheEndOfInitialEventsDrainsWhatItHasSeen(t *testing.T) {
	inBubble(t, func(o *Options) { o.LagLimit, o.TellSlow = 2, true }, func(r *rig) {
		r.put("n/a", "")
		r.put("n/b", "")
		owing := r.watch(WatchOptions{SendInitialEvents: ptr(true), AllowBookmarks: true})
		plain := r.watch(WatchOptions{SendInitialEvents: ptr(true)})
		for _, w := range []*Watcher{owing, plain} {
			r.expect(w, "ADDED n/a@2")
		}
		r.put("n/a", "")
		r.put("n/a", "")
		r.put("n/a", "") // over the limit, and no budget
		r.put("n/a", "") // and this is seen by nobody
		synctest.Wait()
		r.expect(owing, "ADDED n/b@3", "BOOKMARK@3 end", "MODIFIED n/a@4", "MODIFIED n/a@5", "MODIFIED n/a@6",
			tooSlow(6).Error())
		r.expect(plain, tooSlow(0).Error())
		for _, w := range []*Watcher{owing, plain} {
			r.expect(w, "EOF")
		}
		if left := len(r.cacher.watchers.draining); left != 0 {
			t.Errorf("%d are draining still", left)
		}
	})
}

func TestDropWatchesEndsAlsoWhoIsDraining(t *testing.T) {
	inBubble(t, func(o *Options) { o.LagLimit = 1 }, func(r *rig) {
		r.put("n/a", "")
		w := r.watch(WatchOptions{SendInitialEvents: ptr(true), AllowBookmarks: true})
		r.put("n/a", "")
		r.put("n/a", "")
		synctest.Wait()
		if got := r.cacher.DropWatches(); got != 1 {
			t.Errorf("dropped %d", got)
		}
		r.expect(w, "EOF")
	})
}

func TestDrainWatchesLetsEachDeliverWhatHasHappened(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		r.put("n/a", "")
		behind := r.watch(WatchOptions{SendInitialEvents: ptr(true)})
		idle := r.watch(WatchOptions{Predicate: Predicate{Scope: Scope{Namespace: "other"}}, SendInitialEvents: ptr(false)})
		r.put("n/b", "")
		synctest.Wait()
		r.cacher.DrainWatches()
		r.put("n/c", "")
		synctest.Wait()
		r.expect(behind, "ADDED n/a@2", "ADDED n/b@3", "EOF")
		r.expect(idle, "EOF")
		if n := len(r.cacher.watchers.draining); n != 0 {
			t.Errorf("%d still drain", n)
		}
	})
}

func TestOneWatchTooManyIsRefused(t *testing.T) {
	inBubble(t, func(o *Options) { o.MaxWatchers = 2 }, func(r *rig) {
		first := r.watch(WatchOptions{SendInitialEvents: ptr(false)})
		r.watch(WatchOptions{SendInitialEvents: ptr(false)})
		_, err := r.cacher.Watch(r.ctx, WatchOptions{SendInitialEvents: ptr(false)})
		if got := status(err).ErrStatus; got.Code != 429 || got.Details.RetryAfterSeconds != 1 ||
			got.Message != "2 watches of pods are open already" {
			t.Errorf("got %+v", got)
		}
		first.Stop()
		r.watch(WatchOptions{SendInitialEvents: ptr(false)})
	})
}

// byField selects pods by the trigger field of these tests.
func byField(x string) Predicate { return Predicate{Fields: fields.OneTermEqualSelector("x", x)} }

func TestTheTriggerIndexFindsTheWatchersOfBothValues(t *testing.T) {
	indexed := func(o *Options) { o.Fields, o.TriggerField = fieldsByLabel, "x" }
	inBubble(t, indexed, func(r *rig) {
		open := func(p Predicate) *Watcher {
			return r.watch(WatchOptions{Predicate: p, SendInitialEvents: ptr(false)})
		}
		one, two, other := open(byField("1")), open(byField("2")), open(byField("3"))
		all, none := open(Predicate{}), open(byField(""))
		unlike := open(Predicate{Fields: fields.OneTermNotEqualSelector("x", "1")})
		r.put("n/a", "1") // 2
		r.put("n/a", "2") // 3
		r.put("n/a", "2") // 4
		r.remove("n/a")   // 5
		r.put("n/b", "")  // 6
		r.expect(one, "ADDED n/a@2", "DELETED n/a@3")
		r.expect(two, "ADDED n/a@3", "MODIFIED n/a@4", "DELETED n/a@5")
		r.expect(all, "ADDED n/a@2", "MODIFIED n/a@3", "MODIFIED n/a@4", "DELETED n/a@5", "ADDED n/b@6")
		r.expect(none, "ADDED n/b@6")
		r.expect(unlike, "ADDED n/a@3", "MODIFIED n/a@4", "DELETED n/a@5", "ADDED n/b@6")
		for _, w := range []*Watcher{one, two, other, all, none, unlike} {
			r.expectNothing(w)
		}
		if one.limit != 2*10+DefaultLagSlack || !one.triggered || all.triggered || unlike.triggered {
			t.Errorf("limit %d, triggered %v, %v, %v", one.limit, one.triggered, all.triggered, unlike.triggered)
		}
	})
}

func TestABurstWithinTheSlackEndsNoWatcher(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		w := r.watch(WatchOptions{SendInitialEvents: ptr(false)})
		const burst = 2*10 + DefaultLagSlack
		for i := range burst {
			r.put(fmt.Sprintf("n/%d", i), "")
		}
		synctest.Wait()
		for i := range burst {
			if got := r.take(w, 1)[0]; got != fmt.Sprintf("ADDED n/%d@%d", i, i+2) {
				t.Fatalf("event %d is %s", i, got)
			}
		}
		r.expectNothing(w)
	})
}

func TestAWatcherThatTheWindowOvertakesEnds(t *testing.T) {
	small := func(o *Options) { o.MinCapacity, o.MaxCapacity, o.LagLimit = 4, 4, 100 }
	inBubble(t, small, func(r *rig) {
		live := r.watch(WatchOptions{SendInitialEvents: ptr(false)})
		idle := r.watch(WatchOptions{Predicate: labelled("1"), SendInitialEvents: ptr(false)})
		past := r.watch(WatchOptions{ResourceVersion: "1"})
		for range 9 {
			r.put("n/a", "")
		}
		synctest.Wait()
		r.expect(live, "EOF")
		r.expect(past, "EOF")
		r.expectNothing(idle) // nothing was for it
		rv := r.put("n/b", "1")
		r.expect(idle, fmt.Sprintf("ADDED n/b@%d", rv))
	})
}

func TestAnIdleWatcherIsNotWokenByWhatItDoesNotSee(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		w := r.watch(WatchOptions{Predicate: labelled("1"), SendInitialEvents: ptr(false)})
		r.put("n/a", "0")
		r.put("n/a", "0")
		synctest.Wait()
		if len(w.wake) != 0 {
			t.Error("it was woken")
		}
		r.put("n/a", "1")
		synctest.Wait()
		if len(w.wake) != 1 {
			t.Error("it was not woken")
		}
	})
}

func TestScopesOfAnObjectAreThoseThatHoldIt(t *testing.T) {
	for _, object := range []Scope{{"n", "a"}, {"", "a"}} {
		item := &Item{Namespace: object.Namespace, Name: object.Name}
		found := map[Scope]int{}
		scopes, n := scopesOf(object.Namespace, object.Name)
		for _, scope := range scopes[:n] {
			found[scope]++
		}
		for _, scope := range []Scope{{}, {"n", ""}, {"n", "a"}, {"", "a"}, {"m", ""}, {"m", "a"}, {"n", "b"}, {"", "b"}} {
			want := 0
			if (&Predicate{Scope: scope}).matches(item) {
				want = 1
			}
			if found[scope] != want {
				t.Errorf("%+v in %+v: %d times", object, scope, found[scope])
			}
		}
	}
}

func TestTheRegistryForgetsWhomItEnds(t *testing.T) {
	registry := newRegistry(&Options{TriggerField: "x"})
	var all []*Watcher
	for i := range 18 {
		w := &Watcher{slot: -1, predicate: Predicate{Scope: Scope{Namespace: strings.Repeat("n", i%3)}}}
		w.trigger, w.triggered = fmt.Sprint(i%2), i >= 9
		registry.add(w)
		all = append(all, w)
	}
	for _, i := range []int{4, 0, 8, 4, 1, 7, 12, 17, 9} {
		registry.end(all[i])
	}
	if registry.count != 10 {
		t.Errorf("%d are left", registry.count)
	}
	for _, w := range all {
		if w.slot >= 0 && (w.ended.Load() || registry.scopes[w.predicate.Scope].list(w)[w.slot] != w) {
			t.Errorf("slot %d of %+v, %v holds a stranger", w.slot, w.predicate.Scope, w.triggered)
		}
	}
	if ended := registry.endAll(); len(ended) != 10 || len(registry.scopes) != 0 || registry.count != 0 {
		t.Errorf("endAll ended %d, left %d", len(ended), registry.count)
	}
}
