package cacher

import (
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/labels"
)

// The weaknesses of kube-apiserver's cache that this one does not have, by their
// numbers in the specification, and the tests that would find them:
//
//	4   TestEveryWaitEndsWithItsContext, TestOnlyTheReadsThatReachedTheirVersionAreWoken,
//	    TestReadsThatCannotWaitLongerShareOneReadOfTheStore, TestOneRequesterAsksForAllReadsThatWait
//	5   TestAWindowShrinksAfterABurstWithoutAnybodyLooking
//	6   TestAnEventThatDoesNotDecodeIsNotPassedOver
//	7   TestAnObjectThatIsRepairedInTimeIsReadAtOnceWithAllThatWasMissed
//	8   TestAStoreWhoseHistoryWentBackIsNoticed and what follows it
//	11  TestACompactionLeavesTheStateOfAnIdleResource
//	12  TestAWatcherThatOwesTheEndOfInitialEventsDrainsWhatItHasSeen
//	13  TestWhatIsOfOneNamespaceLooksAtNothingElse
//	14  TestARequestThatFailsLeavesNoWatcher

// countingSelector selects all, and counts what it is asked.
type countingSelector struct {
	labels.Selector
	asked *atomic.Int64
}

func (s countingSelector) Matches(labels.Labels) bool {
	s.asked.Add(1)
	return true
}

func (s countingSelector) Empty() bool { return false }

func TestWhatIsOfOneNamespaceLooksAtNothingElse(t *testing.T) {
	recorder := newMemoryRecorder()
	inBubble(t, func(o *Options) { o.Recorder = recorder }, func(r *rig) {
		for i := range 300 {
			r.put(fmt.Sprintf("m/%d", i), "")
			r.put(fmt.Sprintf("o/%d", i), "")
		}
		r.put("n/a", "")
		r.put("n/b", "")
		synctest.Wait()
		var asked atomic.Int64
		selector := countingSelector{labels.Everything(), &asked}
		within := Predicate{Scope: Scope{Namespace: "n"}, Labels: selector}
		w := r.watch(WatchOptions{Predicate: within, ResourceVersion: "0", SendInitialEvents: ptr(true), AllowBookmarks: true})
		r.expect(w, "ADDED n/a@602", "ADDED n/b@603", "BOOKMARK@603 end")
		if got := asked.Swap(0); got != 2 {
			t.Errorf("initial events: %d objects were tested", got)
		}
		r.expectList(ListOptions{Predicate: within, ResourceVersion: "0"}, "n/a n/b@603")
		r.expectList(ListOptions{Predicate: within, ResourceVersion: "603", Match: exact, Limit: 9}, "n/a n/b@603")
		if got := asked.Swap(0); got != 4 {
			t.Errorf("two lists: %d objects were tested", got)
		}
		recorder.expect(t, map[string]float64{"apiserver_cache_list_fetched_objects_total ": 4})
		for i := range 300 {
			r.put(fmt.Sprintf("m/%d", i), "")
		}
		r.put("n/a", "")
		r.expect(w, "MODIFIED n/a@904")
		if got := asked.Load(); got > 4 {
			t.Errorf("one event: %d objects were tested", got)
		}
	})
}

func TestACompactionLeavesTheStateOfAnIdleResource(t *testing.T) {
	inBubble(t, gated, func(r *rig) {
		r.put("n/a", "") // 2
		r.put("n/b", "") // 3
		r.expectList(ListOptions{}, "n/a n/b@3")
		before := r.gate().listCount()
		for range 5 {
			for range 10 {
				r.elsewhere()
			}
			now := r.compact()
			time.Sleep(time.Hour)
			r.expectList(ListOptions{ResourceVersion: fmt.Sprint(now), Match: exact}, fmt.Sprintf("n/a n/b@%d", now))
			token := r.expectList(ListOptions{Limit: 1}, fmt.Sprintf("n/a@%d+1", now))
			r.expectList(ListOptions{Continue: token}, fmt.Sprintf("n/b@%d", now))
		}
		if got := r.gate().listCount(); got != before {
			t.Errorf("the store was listed %d times", got-before)
		}
	})
}

func TestARequestThatFailsLeavesNoWatcher(t *testing.T) {
	inBubble(t, gated, func(r *rig) {
		r.put("n/a", "")
		r.put("n/a", "")
		r.compact()
		for _, opts := range []WatchOptions{
			{ResourceVersion: "1"},                                // too old
			{ResourceVersion: "abc"},                              // unreadable
			{ResourceVersion: "99", SendInitialEvents: ptr(true)}, // too large
		} {
			w, err := r.cacher.Watch(r.ctx, opts)
			if err == nil {
				_, err = w.Next(r.ctx)
			}
			if status(err).ErrStatus.Code == 0 {
				t.Errorf("%+v: %v", opts, err)
			}
		}
		r.gate().failLists(errDown)
		r.gate().breakWatches()
		synctest.Wait()
		if _, err := r.cacher.Watch(r.ctx, WatchOptions{}); status(err).ErrStatus.Code != 429 {
			t.Errorf("got %v", err)
		}
		if got := r.cacher.watchers.count; got != 0 || len(r.cacher.watchers.scopes) != 0 || len(r.cacher.waiters.list) != 0 {
			t.Errorf("%d watchers are left", got)
		}
	})
}
