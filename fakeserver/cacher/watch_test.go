package cacher

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/fields"
)

// status returns the Status in err, an empty one if there is none.
func status(err error) *apierrors.StatusError {
	var found *apierrors.StatusError
	if !errors.As(err, &found) {
		return &apierrors.StatusError{}
	}
	return found
}

func TestAWatchWithInitialEventsDeliversTheStateThenTheBookmarkThenChanges(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		b, a := r.put("n/b", ""), r.put("n/a", "")
		for _, rv := range []string{"", "0", fmt.Sprint(a)} {
			w := r.watch(WatchOptions{ResourceVersion: rv, SendInitialEvents: ptr(true), AllowBookmarks: true})
			r.expect(w,
				fmt.Sprintf("ADDED n/a@%d", a),
				fmt.Sprintf("ADDED n/b@%d", b),
				fmt.Sprintf("BOOKMARK@%d end", max(a, b)))
			r.expectNothing(w)
			b = r.put("n/b", "")
			r.expect(w, fmt.Sprintf("MODIFIED n/b@%d", b))
			w.Stop()
			r.expect(w, "EOF")
		}
	})
}

func TestInitialEventsEndWithABookmarkAlsoOfAnEmptyCollection(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		rv := r.elsewhere()
		w := r.watch(WatchOptions{SendInitialEvents: ptr(true), AllowBookmarks: true})
		r.expect(w, fmt.Sprintf("BOOKMARK@%d end", rv))
		r.expectNothing(w)
	})
}

func TestWithoutLeaveForBookmarksThereIsNone(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		a := r.put("n/a", "")
		w := r.watch(WatchOptions{SendInitialEvents: ptr(true), Deadline: time.Now().Add(time.Hour)})
		r.expect(w, fmt.Sprintf("ADDED n/a@%d", a))
		time.Sleep(2 * time.Hour)
		r.expectNothing(w)
	})
}

func TestALegacyWatchGetsTheStateWithoutABookmark(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		a := r.put("n/a", "")
		for _, rv := range []string{"", "0"} {
			w := r.watch(WatchOptions{ResourceVersion: rv, AllowBookmarks: true})
			r.expect(w, fmt.Sprintf("ADDED n/a@%d", a))
			r.expectNothing(w)
		}
	})
}

func TestAWatchWithoutInitialEventsIsLive(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		r.put("n/a", "")
		synctest.Wait()
		var open []*Watcher
		for _, rv := range []string{"", "0"} {
			open = append(open, r.watch(WatchOptions{ResourceVersion: rv, SendInitialEvents: ptr(false)}))
		}
		for _, w := range open {
			r.expectNothing(w)
		}
		b := r.put("n/b", "")
		for _, w := range open {
			r.expect(w, fmt.Sprintf("ADDED n/b@%d", b))
		}
	})
}

func TestAWatchFromTheUnsetVersionSkipsWhatTheStoreHasAlready(t *testing.T) {
	// The cache lags: it must not replay what was written before the watch.
	inBubble(t, func(o *Options) { o.Store = newGate(o.Store) }, func(r *rig) {
		r.gate().hold()
		r.put("n/a", "")
		w := r.watch(WatchOptions{SendInitialEvents: ptr(false)})
		b := r.put("n/b", "")
		r.gate().release()
		r.expect(w, fmt.Sprintf("ADDED n/b@%d", b))
	})
}

func TestAWatchFromAVersionDeliversWhatCameAfterItOnly(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		a := r.put("n/a", "")
		b := r.put("n/b", "")
		gone := r.remove("n/a")
		synctest.Wait()
		r.expect(r.watch(WatchOptions{ResourceVersion: fmt.Sprint(a)}),
			fmt.Sprintf("ADDED n/b@%d", b), fmt.Sprintf("DELETED n/a@%d", gone))
		w := r.watch(WatchOptions{ResourceVersion: fmt.Sprint(b), SendInitialEvents: ptr(false)})
		r.expect(w, fmt.Sprintf("DELETED n/a@%d", gone))
		r.expectNothing(w)
		r.expectNothing(r.watch(WatchOptions{ResourceVersion: fmt.Sprint(gone)}))
	})
}

func TestAWatchFromTheFutureIsSilentUntilThen(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		a := r.put("n/a", "")
		w := r.watch(WatchOptions{ResourceVersion: fmt.Sprint(a + 2), AllowBookmarks: true})
		r.put("n/b", "")
		r.put("n/c", "")
		time.Sleep(3 * time.Minute)
		r.expectNothing(w)
		d := r.put("n/d", "")
		r.expect(w, fmt.Sprintf("ADDED n/d@%d", d))
	})
}

func TestInitialEventsFromTheFutureFailInTheStreamAfterTheBlockTimeout(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		start := time.Now()
		w := r.watch(WatchOptions{ResourceVersion: "99", SendInitialEvents: ptr(true), AllowBookmarks: true})
		if took := time.Since(start); took != 3*time.Second {
			t.Errorf("took %v", took)
		}
		if !w.Pending() {
			t.Error("the error is not pending")
		}
		_, err := w.Next(r.ctx)
		if got := status(err).ErrStatus; got.Code != 504 || got.Details.RetryAfterSeconds != 1 ||
			got.Message != "Timeout: Too large resource version: 99, current: 1" {
			t.Errorf("got %v", err)
		}
		r.expect(w, "EOF")
	})
}

func TestInitialEventsWaitForAVersionThatComes(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		a := r.put("n/a", "")
		go func() {
			time.Sleep(time.Second)
			r.put("n/b", "")
		}()
		w := r.watch(WatchOptions{ResourceVersion: fmt.Sprint(a + 1), SendInitialEvents: ptr(true), AllowBookmarks: true})
		r.expect(w, fmt.Sprintf("ADDED n/a@%d", a), fmt.Sprintf("ADDED n/b@%d", a+1), fmt.Sprintf("BOOKMARK@%d end", a+1))
	})
}

func TestAWatchFromBeforeTheWindowIsTooOld(t *testing.T) {
	small := func(o *Options) { o.MinCapacity, o.MaxCapacity = 4, 4 }
	inBubble(t, small, func(r *rig) {
		for range 3 {
			r.put("n/a", "") // 2, 3, 4
		}
		synctest.Wait()
		r.expect(r.watch(WatchOptions{ResourceVersion: "1"}), "ADDED n/a@2") // nothing evicted: from the list on
		for range 3 {
			r.put("n/a", "") // 5, 6, 7; the ring holds 4 to 7
		}
		synctest.Wait()
		r.expect(r.watch(WatchOptions{ResourceVersion: "3"}), "MODIFIED n/a@4")
		w := r.watch(WatchOptions{ResourceVersion: "2"})
		r.expect(w, "too old resource version: 2 (3)")
		r.expect(w, "EOF")
		_, err := r.watch(WatchOptions{ResourceVersion: "2"}).Next(r.ctx)
		if got := status(err).ErrStatus; got.Code != 410 || got.Reason != "Expired" {
			t.Errorf("got %+v", got)
		}
		r.expect(r.watch(WatchOptions{ResourceVersion: "2", SendInitialEvents: ptr(true)}), "ADDED n/a@7")
	})
}

func TestCompactionMakesOlderWatchesTooOldAndHarmsNoOpenOne(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		open := r.watch(WatchOptions{SendInitialEvents: ptr(false)})
		r.put("n/a", "")
		r.put("n/b", "")
		compacted := r.compact()
		r.expect(r.watch(WatchOptions{ResourceVersion: "2"}), fmt.Sprintf("too old resource version: 2 (%d)", compacted))
		r.expectNothing(r.watch(WatchOptions{ResourceVersion: fmt.Sprint(compacted)}))
		c := r.put("n/c", "")
		r.expect(open, "ADDED n/a@2", "ADDED n/b@3", fmt.Sprintf("ADDED n/c@%d", c))
		r.expect(r.watch(WatchOptions{ResourceVersion: fmt.Sprint(compacted)}), fmt.Sprintf("ADDED n/c@%d", c))
	})
}

func TestChangesOfSelectionAreAddedModifiedAndDeleted(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		w := r.watch(WatchOptions{Predicate: labelled("1"), SendInitialEvents: ptr(false)})
		r.put("n/a", "0") // 2: outside
		r.put("n/a", "1") // 3: enters
		r.put("n/a", "1") // 4: stays
		r.put("n/a", "0") // 5: leaves
		r.put("n/a", "0") // 6: outside
		r.put("n/a", "1") // 7: enters
		r.remove("n/a")   // 8: deleted inside
		r.put("n/b", "0") // 9: outside
		r.remove("n/b")   // 10: deleted outside
		r.expect(w, "ADDED n/a@3", "MODIFIED n/a@4")
		left, err := w.Next(r.ctx)
		if err != nil {
			t.Fatal(err)
		}
		if show(left) != "DELETED n/a@5" || left.Item.Labels["x"] != "1" || !strings.Contains(describeObject(left.Item), "rv=5 x=1") {
			t.Errorf("leaving is %s of %s", show(left), describeObject(left.Item))
		}
		r.expect(w, "ADDED n/a@7")
		gone, err := w.Next(r.ctx)
		if err != nil {
			t.Fatal(err)
		}
		if show(gone) != "DELETED n/a@8" || describeObject(gone.Item) != "rv=8 x=1" || gone.Item.ResourceVersion != 8 {
			t.Errorf("deletion is %s of %s", show(gone), describeObject(gone.Item))
		}
		r.expectNothing(w)
	})
}

func TestADeletionIsCopiedOnceForAllWatchersAndLeavesThePastAlone(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		r.put("n/a", "1")
		first, second := r.watch(WatchOptions{ResourceVersion: "1"}), r.watch(WatchOptions{ResourceVersion: "1"})
		r.remove("n/a")
		r.expect(first, "ADDED n/a@2")
		added, _ := second.Next(r.ctx)
		one, _ := first.Next(r.ctx)
		two, _ := second.Next(r.ctx)
		if one.Item != two.Item {
			t.Error("two copies")
		}
		if describeObject(added.Item) != "rv=2 x=1" {
			t.Errorf("the version before is now %s", describeObject(added.Item))
		}
	})
}

func TestAWatcherSeesItsScopeOnly(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		scopes := map[Scope]string{
			{}:                          "ADDED n/a@2|ADDED m/a@3|ADDED n/b@4",
			{Namespace: "n"}:            "ADDED n/a@2|ADDED n/b@4",
			{Namespace: "n", Name: "a"}: "ADDED n/a@2",
			{Name: "a"}:                 "ADDED n/a@2|ADDED m/a@3",
			{Namespace: "none"}:         "",
		}
		open := map[Scope]*Watcher{}
		for scope := range scopes {
			open[scope] = r.watch(WatchOptions{Predicate: Predicate{Scope: scope}, SendInitialEvents: ptr(false)})
		}
		r.put("n/a", "")
		r.put("m/a", "")
		r.put("n/b", "")
		for scope, want := range scopes {
			synctest.Wait()
			var got []string
			for open[scope].Pending() {
				got = append(got, r.take(open[scope], 1)...)
			}
			if strings.Join(got, "|") != want {
				t.Errorf("%+v: got %q, want %q", scope, got, want)
			}
			past := r.watch(WatchOptions{Predicate: Predicate{Scope: scope}, ResourceVersion: "1"})
			if want != "" {
				r.expect(past, strings.Split(want, "|")...)
			}
			r.expectNothing(past)
		}
	})
}

func TestFieldSelectorsSelectByNameAndByWhatFieldsReturns(t *testing.T) {
	fieldsOf := func(o *Options) { o.Fields = fieldsByLabel }
	inBubble(t, fieldsOf, func(r *rig) {
		byName := Predicate{Fields: fields.OneTermEqualSelector("metadata.name", "a")}
		byLabel := Predicate{Fields: fields.OneTermEqualSelector("x", "2")}
		name := r.watch(WatchOptions{Predicate: byName, SendInitialEvents: ptr(false)})
		label := r.watch(WatchOptions{Predicate: byLabel, SendInitialEvents: ptr(false)})
		r.put("n/a", "1")
		r.put("n/b", "2")
		r.expect(name, "ADDED n/a@2")
		r.expect(label, "ADDED n/b@3")
		if got := keys(r.list(ListOptions{Predicate: byLabel}).Items); got != "n/b" {
			t.Errorf("listed %s", got)
		}
	})
}

func TestUnreadableVersionsOfAWatchAre500WithoutAReason(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		_, err := r.cacher.Watch(r.ctx, WatchOptions{ResourceVersion: "-5"})
		if got := status(err).ErrStatus; got.Code != 500 || got.Reason != "" ||
			got.Message != `resourceVersion: Invalid value: "-5": strconv.ParseUint: parsing "-5": invalid syntax` {
			t.Errorf("got %+v", got)
		}
	})
}

func TestAfterACompactionTheVersionOfAnIdleResourceCanBeWatchedFrom(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		r.put("n/a", "")
		r.elsewhere()
		r.compact()
		synctest.Wait()
		rv := r.list(ListOptions{ResourceVersion: "0"}).ResourceVersion
		r.expectNothing(r.watch(WatchOptions{ResourceVersion: fmt.Sprint(rv)}))
	})
}

func TestALiveWatchDeliversWhatCameWhileItWasOpened(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		w := r.cacher.newWatcher(&WatchOptions{})
		r.put("n/a", "")
		synctest.Wait() // as if it was written after the store named its revision
		if err := r.cacher.register(w, watchRoute{start: liveNow, rv: 1, generation: 1}); err != nil {
			t.Fatal(err)
		}
		r.expect(w, "ADDED n/a@2")
		old := r.cacher.newWatcher(&WatchOptions{})
		r.compact()
		if err := r.cacher.register(old, watchRoute{start: liveNow, rv: 1, generation: 1}); err != nil {
			t.Fatal(err)
		}
		r.expect(old, "EOF")
	})
}
