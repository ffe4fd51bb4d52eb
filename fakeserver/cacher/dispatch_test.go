package cacher

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestAWatcherIsTooSlowOnlyOverItsLimitAndWithoutTakingForTheGrace(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	ago := func(d time.Duration) time.Time { return now.Add(-d) }
	limits := lagLimits{events: 10, grace: time.Second}
	for _, c := range []struct {
		name       string
		behind     int
		over, took time.Time
		want       bool
	}{
		{"within the limit", 10, ago(time.Hour), ago(time.Hour), false},
		{"over it for long", 11, ago(2 * time.Second), ago(time.Hour), true},
		{"over it just now", 11, ago(time.Millisecond), ago(time.Hour), false},
		{"over it, but taking", 500, ago(time.Minute), ago(time.Millisecond), false},
		{"exactly the grace", 11, ago(time.Second), ago(time.Hour), false},
	} {
		if got := limits.tooSlow(c.behind, now, c.over, c.took); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}

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

func TestABurstEndsNoWatcher(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		w := r.watch(WatchOptions{SendInitialEvents: ptr(false)})
		for i := range 5000 {
			r.put(fmt.Sprintf("n/%d", i), "")
		}
		synctest.Wait()
		for i := range 5000 {
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
		for _, scope := range scopesOf(object.Namespace, object.Name) {
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
	registry := newRegistry()
	var all []*Watcher
	for i := range 9 {
		w := &Watcher{slot: -1, predicate: Predicate{Scope: Scope{Namespace: strings.Repeat("n", i%3)}}}
		registry.add(w)
		all = append(all, w)
	}
	for _, i := range []int{4, 0, 8, 4, 1, 7} {
		registry.end(all[i])
	}
	if registry.count != 4 {
		t.Errorf("%d are left", registry.count)
	}
	for scope, list := range registry.scopes {
		for slot, w := range list {
			if w.slot != slot || w.predicate.Scope != scope || w.ended.Load() {
				t.Errorf("%+v holds a stranger in slot %d", scope, slot)
			}
		}
	}
	if ended := registry.endAll(); len(ended) != 4 || len(registry.scopes) != 0 || registry.count != 0 {
		t.Errorf("endAll ended %d, left %d", len(ended), registry.count)
	}
}

func TestAWatcherThatIsBehindButTakesIsNotEnded(t *testing.T) {
	inBubble(t, func(o *Options) { o.LagLimit = 5 }, func(r *rig) {
		w := r.watch(WatchOptions{SendInitialEvents: ptr(false)})
		for range 20 {
			r.put("n/a", "")
		}
		r.expect(w, "ADDED n/a@2")
		for i := range 30 {
			time.Sleep(900 * time.Millisecond)
			r.put("n/a", "")
			r.expect(w, fmt.Sprintf("MODIFIED n/a@%d", i+3))
		}
	})
}
