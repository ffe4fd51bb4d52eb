package cacher

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tidwall/btree"

	"github.com/listwatch/listwatch/fakeserver/storage"
)

// version is a key and a version.
type version struct {
	key string
	rv  uint64
}

func TestComparisonsNameTheFirstDifference(t *testing.T) {
	both := []version{{"n/a", 2}, {"n/b", 3}, {"o/a", 4}}
	for _, c := range []struct {
		what          string
		cached, store []version
		want          string
	}{
		{"equal", both, both, ""},
		{"empty", nil, nil, ""},
		{"lost creation", both[:2], both, "the store has o/a@4 where the cache has nothing"},
		{"lost update", both, []version{{"n/a", 2}, {"n/b", 5}, {"o/a", 4}}, "the store has n/b@5 where the cache has n/b@3"},
		{"lost deletion in the middle", both, []version{{"n/a", 2}, {"o/a", 4}}, "the store has o/a@4 where the cache has n/b@3"},
		{"lost deletion at the end", both, both[:2], "the store has nothing where the cache has o/a@4"},
		{"only the cache has something", both, nil, "the store has nothing where the cache has n/a@2"},
		{"another name", both[:1], []version{{"n/c", 2}}, "the store has n/c@2 where the cache has n/a@2"},
		{"what would be equal if run together", []version{{"n/a", 12}}, []version{{"n/a1", 2}}, "the store has n/a1@2 where the cache has n/a@12"},
	} {
		tree := btree.NewMap[string, *Item](treeDegree)
		for _, v := range c.cached {
			tree.Set(v.key, &Item{Key: v.key, ResourceVersion: v.rv})
		}
		got := newComparison(state{items: tree}, 9)
		for _, v := range c.store {
			got.stored(v.key, v.rv)
		}
		got.end()
		if got.first != c.want || got.equal() != (c.want == "") {
			t.Errorf("%s: %s", c.what, got)
		}
	}
}

func TestChecksAreSpreadOverHalfAPeriod(t *testing.T) {
	for random, want := range map[float64]time.Duration{0: 5 * time.Minute, 0.5: 375 * time.Second, 0.9999999: 450 * time.Second} {
		if got := checkDelay(5*time.Minute, random); got.Round(time.Second) != want {
			t.Errorf("%v: %v", random, got)
		}
	}
}

// lossy is a store whose watches lose events.
type lossy struct {
	storage.Store
	lose func(storage.Event) bool
}

func (l *lossy) Watch(ctx context.Context, prefix string, opts storage.WatchOptions) (storage.Watch, error) {
	inner, err := l.Store.Watch(ctx, prefix, opts)
	return &lossyWatch{Watch: inner, lose: l.lose}, err
}

type lossyWatch struct {
	storage.Watch
	lose func(storage.Event) bool
}

func (w *lossyWatch) Next(ctx context.Context) ([]storage.Event, error) {
	for {
		events, err := w.Watch.Next(ctx)
		kept := events[:0:0]
		for _, event := range events {
			if !w.lose(event) {
				kept = append(kept, event)
			}
		}
		if err != nil || len(kept) > 0 {
			return kept, err
		}
	}
}

// losing loses deletions while on is set.
func losing(on *bool, recorder Recorder) func(*Options) {
	return func(o *Options) {
		o.Store = &lossy{Store: o.Store, lose: func(e storage.Event) bool { return *on && e.Type == storage.Delete }}
		o.CheckPeriod, o.PageSize, o.Recorder = time.Minute, 2, recorder
	}
}

func TestACacheThatLostAnEventIsFoundOutAndItsSnapshotsAreNotServed(t *testing.T) {
	const checks = "apiserver_storage_consistency_checks_total "
	lose := false
	recorder := newMemoryRecorder()
	inBubble(t, losing(&lose, recorder), func(r *rig) {
		for _, name := range []string{"a", "b", "c", "d", "e"} {
			r.put("n/"+name, "") // 2 to 6
		}
		time.Sleep(90 * time.Second)
		if recorder.value(checks+"success") != 1 || recorder.value(checks+"failure") != 0 {
			t.Fatalf("checks: %v", recorder.values)
		}
		lose = true
		r.remove("n/c") // 7, lost
		synctest.Wait()
		lose = false
		r.put("n/f", "") // 8
		r.expectList(ListOptions{ResourceVersion: "8", Match: exact}, "n/a n/b n/c n/d n/e n/f@8")
		time.Sleep(90 * time.Second)
		if recorder.value(checks+"failure") == 0 {
			t.Fatalf("checks: %v", recorder.values)
		}
		r.expectList(ListOptions{ResourceVersion: "8", Match: exact}, "n/a n/b n/d n/e n/f@8") // the store's

		r.put("n/c", "") // 9: they are equal by chance
		time.Sleep(90 * time.Second)
		r.put("n/a", "") // 10
		r.expectList(ListOptions{ResourceVersion: "8", Match: exact}, "n/a n/b n/d n/e n/f@8")
		if r.cacher.trusted != 9 {
			t.Errorf("trusted from %d on", r.cacher.trusted)
		}
		r.expectList(ListOptions{ResourceVersion: "9", Match: exact}, "n/a n/b n/c n/d n/e n/f@9")
	})
}

func TestAnInconsistencyPanicsIfAskedTo(t *testing.T) {
	lose := true
	strict := func(o *Options) {
		losing(&lose, nil)(o)
		o.CheckPeriod, o.PanicOnInconsistency = 0, true
	}
	inBubble(t, strict, func(r *rig) {
		r.put("n/a", "")
		r.cacher.check(r.ctx)
		r.remove("n/a")
		r.put("n/b", "") // 4
		synctest.Wait()
		defer func() {
			want := "cacher: pods: cache differs from the store: at 4: "
			if got := fmt.Sprint(recover()); len(got) < len(want) || got[:len(want)] != want {
				t.Errorf("got %q", got)
			}
		}()
		r.cacher.check(r.ctx)
	})
}

func TestACheckThatCannotCompareCountsAsError(t *testing.T) {
	recorder := newMemoryRecorder()
	observed := func(o *Options) { gated(o); o.Recorder, o.CheckPeriod = recorder, time.Minute }
	inBubble(t, observed, func(r *rig) {
		r.put("n/a", "")
		synctest.Wait()
		for n, fault := range []func(){
			func() { r.gate().failLists(errDown) },
			func() { r.gate().failLists(nil); r.put("n/a", ""); r.gate().hold(); r.put("n/b", ""); r.compactStore() },
		} {
			fault()
			r.cacher.check(r.ctx)
			if got := recorder.value("apiserver_storage_consistency_checks_total error"); got != float64(n+1) {
				t.Errorf("%d errors after %d faults", int(got), n+1)
			}
		}
		r.gate().release()
		if r.cacher.trusted != 0 {
			t.Error("snapshots are disabled")
		}
	})
}

// compactStore compacts the store only.
func (r *rig) compactStore() {
	r.t.Helper()
	revision, err := r.memory.CurrentRevision(r.ctx)
	if err == nil {
		err = r.memory.Compact(r.ctx, revision)
	}
	if err != nil {
		r.t.Fatal(err)
	}
}

func TestACheckFindsOutThatTheStoreWentBack(t *testing.T) {
	machine := func(o *Options) { o.Store, o.CheckPeriod = &timeMachine{current: o.Store}, time.Minute }
	inBubble(t, machine, func(r *rig) {
		for range 8 {
			r.put("n/a", "")
		}
		synctest.Wait()
		r.memory = backup(r.t)
		r.store.(*timeMachine).travel(r.memory, false)
		time.Sleep(2 * time.Minute) // and nobody reads or writes
		r.expectRestored()
	})
}

func TestADayOfChecksOfAnIdleCacheCostsLittle(t *testing.T) {
	checked := func(o *Options) { gated(o); o.CheckPeriod = DefaultCheckPeriod }
	inBubble(t, checked, func(r *rig) {
		r.put("n/a", "")
		time.Sleep(24 * time.Hour)
		if got := r.gate().counts(); got.lists < 192 || got.lists > 289 {
			t.Errorf("%d lists", got.lists)
		}
	})
}
