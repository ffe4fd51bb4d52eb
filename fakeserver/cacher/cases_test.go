package cacher

import (
	"fmt"
	"io"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/watch"
)

// Faults that users met in other servers. Two more are in feed_test.go: watches
// cut in the middle of the initial events (kubernetes#74022), and watches opened
// while the cache re-initialises (kubernetes#116122).

// kubernetes#24004
func TestAWatchFromAVersionNeverDeliversThatVersion(t *testing.T) {
	small := func(o *Options) { o.MinCapacity, o.MaxCapacity, o.Fresh = 4, 16, time.Second }
	inBubble(t, small, func(r *rig) {
		for i := range 60 {
			r.put(fmt.Sprintf("n/%d", i%7), "")
			if i%10 == 0 {
				time.Sleep(2 * time.Second)
			}
			synctest.Wait()
			newest := r.cacher.reached()
			for from := max(4, newest) - 3; from <= newest; from++ {
				w := r.watch(WatchOptions{ResourceVersion: strconv.FormatUint(from, 10), SendInitialEvents: ptr(false)})
				for next := from + 1; next <= newest; next++ {
					if event, err := w.Next(r.ctx); err == nil && event.ResourceVersion != next || err != nil && status(err).ErrStatus.Code != 410 {
						t.Fatalf("from %d: %s, %v", from, show(event), err)
					} else if err != nil {
						break
					}
				}
				w.Stop()
			}
		}
	})
}

// kubernetes#58545
func TestADeletedEventCarriesItsOwnVersionHoweverTheObjectLeft(t *testing.T) {
	indexed := func(o *Options) { o.Fields, o.TriggerField = fieldsByLabel, "x" }
	inBubble(t, indexed, func(r *rig) {
		for _, predicate := range []Predicate{labelled("1"), byField("1"), {Scope: Scope{Namespace: "n", Name: "a"}, Labels: labelled("1").Labels}} {
			for _, leave := range []func() uint64{
				func() uint64 { return r.remove("n/a") },
				func() uint64 { return r.put("n/a", "2") },
			} {
				from := r.put("n/a", "1")
				w := r.watch(WatchOptions{Predicate: predicate, ResourceVersion: strconv.FormatUint(from, 10)})
				rv := leave()
				event, err := w.Next(r.ctx)
				if err != nil || event.Type != watch.Deleted || event.ResourceVersion != rv || event.Item.ResourceVersion != rv ||
					describeObject(event.Item) != fmt.Sprintf("rv=%d x=1", rv) {
					t.Errorf("%s, %v; want the deletion at %d", show(event), err, rv)
				}
			}
		}
	})
}

// kubernetes#122805, #135895
func TestInitialEventsOfNoVersionEndWithTheBookmarkWhateverIsSelected(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		for _, predicate := range []Predicate{{}, labelled("1"), {Scope: Scope{Namespace: "n"}}, {Scope: Scope{Name: "a"}}} {
			w := r.watch(WatchOptions{Predicate: predicate, SendInitialEvents: ptr(true), AllowBookmarks: true})
			r.expect(w, fmt.Sprintf("BOOKMARK@%d end", r.elsewhere()-1))
		}
		rv := r.put("n/a", "1")
		for _, predicate := range []Predicate{{}, labelled("1"), {Scope: Scope{Namespace: "n"}}, {Scope: Scope{Name: "a"}}} {
			w := r.watch(WatchOptions{Predicate: predicate, SendInitialEvents: ptr(true), AllowBookmarks: true})
			r.expect(w, fmt.Sprintf("ADDED n/a@%d", rv), fmt.Sprintf("BOOKMARK@%d end", rv))
		}
	})
}

// kubernetes#139766
func TestReadsOfALaggingCacheWaitThenFallBackOrSayThatItLags(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		r.put("n/a", "")
		synctest.Wait()
		r.memory.Hold()
		r.put("n/b", "")

		start := time.Now()
		r.expectList(ListOptions{ResourceVersion: "0"}, "n/a@2") // any state will do
		if took := time.Since(start); took != 0 {
			t.Errorf("the list of any version took %v", took)
		}
		r.expectList(ListOptions{}, "n/a n/b@3") // the store's
		if took := time.Since(start); took != DefaultBlockTimeout {
			t.Errorf("the consistent list took %v", took)
		}
		_, err := r.cacher.List(r.ctx, ListOptions{ResourceVersion: "3"})
		if got := status(err).ErrStatus; got.Code != 504 || got.Details.RetryAfterSeconds != 1 {
			t.Errorf("a list of version 3: %v", err)
		}
		w := r.watch(WatchOptions{ResourceVersion: "3", SendInitialEvents: ptr(true), AllowBookmarks: true})
		if _, err := w.Next(r.ctx); status(err).ErrStatus.Code != 504 {
			t.Errorf("a watch of version 3: %v", err)
		}

		go func() {
			time.Sleep(time.Second)
			r.memory.Release()
		}()
		start = time.Now()
		r.expectList(ListOptions{}, "n/a n/b@3")
		if took := time.Since(start); took < time.Second || took > 1200*time.Millisecond {
			t.Errorf("the consistent list took %v after a lag of a second", took)
		}
	})
}

// kubernetes#106754
func TestAWatchWithASelectorDeliversOnlyWhatMatchesAndItsComingAndGoing(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		random := rand.New(rand.NewPCG(1, 0))
		w := r.watch(WatchOptions{Predicate: labelled("1"), SendInitialEvents: ptr(false)})
		inside := map[string]bool{}
		for range 500 {
			key, label := "n/"+string('a'+byte(random.IntN(4))), strconv.Itoa(random.IntN(3))
			rv := r.put(key, label)
			kind := map[[2]bool]string{{false, true}: "ADDED", {true, true}: "MODIFIED", {true, false}: "DELETED"}[[2]bool{inside[key], label == "1"}]
			inside[key] = label == "1"
			if kind != "" {
				r.expect(w, fmt.Sprintf("%s %s@%d", kind, key, rv))
			} else {
				r.expectNothing(w)
			}
		}
	})
}

// kubernetes#135959
func TestAnObjectDeletedBetweenListAndWatchIsDeletedInTheWatch(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		r.put("n/a", "1")
		r.put("n/b", "1")
		for _, predicate := range []Predicate{{}, labelled("1"), {Scope: Scope{Namespace: "n"}}} {
			list := r.list(ListOptions{Predicate: predicate})
			gone := r.remove("n/a")
			back := r.put("n/a", "1")
			w := r.watch(WatchOptions{Predicate: predicate, ResourceVersion: strconv.FormatUint(list.ResourceVersion, 10)})
			r.expect(w, fmt.Sprintf("DELETED n/a@%d", gone), fmt.Sprintf("ADDED n/a@%d", back))
		}
	})
}

// client-go#1103
func TestAWatcherThatNobodyDrainsBlocksNothingAndItsClientCanResume(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		w := r.watch(WatchOptions{SendInitialEvents: ptr(false)})
		first := r.put("n/a", "")
		r.expect(w, fmt.Sprintf("ADDED n/a@%d", first))
		start := time.Now()
		for range 5000 {
			r.put("n/a", "")
		}
		r.expectList(ListOptions{}, "n/a@5002")
		if took := time.Since(start); took != 0 {
			t.Errorf("it held others up for %v", took)
		}
		if _, err := w.Next(r.ctx); err != io.EOF {
			t.Errorf("it ended with %v", err)
		}
		again := r.watch(WatchOptions{ResourceVersion: strconv.FormatUint(first, 10)})
		for rv := first + 1; rv <= 5002; rv++ {
			if got := strings.Join(r.take(again, 1), ""); got != fmt.Sprintf("MODIFIED n/a@%d", rv) {
				t.Fatalf("resumed: %s at %d", got, rv)
			}
		}
	})
}
