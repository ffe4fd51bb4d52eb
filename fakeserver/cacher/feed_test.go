package cacher

import (
	"errors"
	"fmt"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/listwatch/listwatch/fakeserver/storage"
)

func TestABrokenFeedEndsWatchersListsAgainAndGoesOn(t *testing.T) {
	inBubble(t, func(o *Options) { o.Store = newGate(o.Store) }, func(r *rig) {
		time.Sleep(time.Minute) // the feed has been well for a while
		r.put("n/a", "")
		w := r.watch(WatchOptions{SendInitialEvents: ptr(false)})
		r.gate().hold()
		b := r.put("n/b", "")
		r.gate().breakWatches()
		r.gate().release()
		start := time.Now()
		r.expect(w, "EOF")
		synctest.Wait()
		r.expectList(ListOptions{ResourceVersion: "0"}, fmt.Sprintf("n/a n/b@%d", b))
		if took := time.Since(start); took != 0 {
			t.Errorf("back after %v", took)
		}
		r.expect(r.watch(WatchOptions{ResourceVersion: "2"}), fmt.Sprintf("too old resource version: 2 (%d)", b))
		next := r.watch(WatchOptions{ResourceVersion: fmt.Sprint(b)})
		c := r.put("n/c", "")
		r.expect(next, fmt.Sprintf("ADDED n/c@%d", c))
	})
}

func TestARelistKeepsTheItemsThatDidNotChange(t *testing.T) {
	inBubble(t, func(o *Options) { o.Store = newGate(o.Store) }, func(r *rig) {
		time.Sleep(time.Minute)
		r.put("n/a", "")
		before := r.list(ListOptions{}).Items[0]
		r.gate().breakWatches()
		synctest.Wait()
		if after := r.list(ListOptions{}).Items[0]; after != before {
			t.Error("the item was decoded again")
		}
	})
}

func TestWhileTheListFailsRequestsAreRefusedOrTheStoreAnswers(t *testing.T) {
	broken := func(o *Options) {
		g := newGate(o.Store)
		g.failLists(errors.New("no luck"))
		o.Store = g
	}
	inBubble(t, broken, func(r *rig) {
		r.put("n/a", "")
		start := time.Now()
		_, err := r.cacher.List(r.ctx, ListOptions{ResourceVersion: "0"})
		_, err2 := r.cacher.Watch(r.ctx, WatchOptions{SendInitialEvents: ptr(true)})
		for _, err := range []error{err, err2} {
			got := status(err).ErrStatus
			if got.Code != 429 || got.Message != "storage is (re)initializing: no luck" ||
				got.Details.RetryAfterSeconds != 1 {
				t.Errorf("got %+v", got)
			}
		}
		if took := time.Since(start); took != 0 {
			t.Errorf("refused after %v", took)
		}
		if _, err := r.cacher.Get(r.ctx, "n", "a", "0"); err != nil {
			t.Errorf("a get fails with %v", err)
		}
		r.gate().failLists(nil)
		time.Sleep(1100 * time.Millisecond)
		r.expectList(ListOptions{ResourceVersion: "0"}, "n/a@2")
	})
}

func TestAShortListIsAnsweredByTheStoreWhileTheCacheIsNotReady(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		r.put("n/a", "")
		r.put("n/b", "")
		synctest.Wait()
		r.cacher.interrupted(errors.New("gone")) // the feed itself is well
		r.expectList(ListOptions{Limit: 1}, "n/a@3+1")
		r.expectList(ListOptions{Limit: 1, ResourceVersion: "2"}, "n/a@2")
		_, err := r.cacher.List(r.ctx, ListOptions{Limit: 1, ResourceVersion: "99", Match: notOlder})
		if !isTooLarge(err) || status(err).ErrStatus.Details.RetryAfterSeconds != 0 {
			t.Errorf("got %v", err)
		}
		_, err = r.cacher.List(r.ctx, ListOptions{Predicate: labelled("1"), Limit: 1})
		if status(err).ErrStatus.Code != 429 {
			t.Errorf("got %v", err)
		}
	})
}

func TestAFailingFeedTriesAgainOncePerDelay(t *testing.T) {
	broken := func(o *Options) {
		g := newGate(o.Store)
		g.failLists(errors.New("no luck"))
		o.Store = g
	}
	inBubble(t, broken, func(r *rig) {
		time.Sleep(time.Minute + time.Millisecond)
		if got := r.gate().listCount(); got != 61 {
			t.Errorf("%d lists in a minute", got)
		}
	})
}

func TestRequestsWaitForTheFirstList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil)
		a := r.put("n/a", "") // perhaps before the feed lists
		r.expectList(ListOptions{}, fmt.Sprintf("n/a@%d", a))
	})
}

func TestRestartDelayPausesUnlessTheRunWasGood(t *testing.T) {
	for _, c := range []struct {
		synced bool
		ran    time.Duration
		want   time.Duration
	}{
		{false, time.Hour, time.Second},
		{true, 0, time.Second},
		{true, time.Second, 0},
		{true, time.Hour, 0},
	} {
		if got := restartDelay(c.synced, c.ran, time.Second); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

func TestDropWatchesEndsAllAndSaysHowMany(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		var open []*Watcher
		for _, scope := range []Scope{{}, {Namespace: "n"}, {Namespace: "n"}, {Namespace: "n", Name: "a"}} {
			open = append(open, r.watch(WatchOptions{Predicate: Predicate{Scope: scope}, SendInitialEvents: ptr(true)}))
		}
		open[1].Stop()
		if got := r.cacher.DropWatches(); got != 3 {
			t.Errorf("dropped %d", got)
		}
		for _, w := range open {
			if _, err := w.Next(r.ctx); !errors.Is(err, io.EOF) {
				t.Errorf("got %v", err)
			}
			w.Stop()
		}
		if got := r.cacher.DropWatches(); got != 0 || len(r.cacher.watchers.scopes) != 0 {
			t.Errorf("dropped %d more, %d scopes are left", got, len(r.cacher.watchers.scopes))
		}
	})
}

// Regression of kubernetes#116122: events were missed by watches opened during
// a re-initialisation.
func TestAWatchOpenedWhileTheCacheReinitialisesIsClosedOrComplete(t *testing.T) {
	inBubble(t, func(o *Options) { o.Store = newGate(o.Store) }, func(r *rig) {
		for round := range 50 {
			time.Sleep(time.Minute)
			start := r.put("n/a", "")
			synctest.Wait()
			var open []*Watcher
			for i := range 20 {
				if i == round%20 {
					r.gate().breakWatches()
				}
				w, err := r.cacher.Watch(r.ctx, WatchOptions{ResourceVersion: fmt.Sprint(start)})
				if err == nil {
					open = append(open, w)
				} else if status(err).ErrStatus.Code != 429 {
					t.Fatal(err)
				}
				r.put("n/a", "")
			}
			synctest.Wait()
			for _, w := range open {
				for rv := start + 1; rv <= start+20; rv++ {
					got := r.take(w, 1)[0]
					if got == "EOF" || got == fmt.Sprintf("too old resource version: %d (%d)", start, r.cacher.window.floor) {
						break
					}
					if got != fmt.Sprintf("MODIFIED n/a@%d", rv) {
						t.Fatalf("round %d: %s came at %d", round, got, rv)
					}
				}
			}
		}
	})
}

// Retold from kubernetes#74022: a client whose watch is cut in the middle of the
// initial events comes back with what it has.
func TestAWatchResumedFromTheMiddleOfTheInitialEventsLosesNothing(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		r.put("n/c", "") // 2
		r.put("n/a", "") // 3
		r.put("n/b", "") // 4
		synctest.Wait()
		w := r.watch(WatchOptions{ResourceVersion: "0", SendInitialEvents: ptr(true), AllowBookmarks: true})
		r.expect(w, "ADDED n/a@3")
		w.Stop()
		r.expect(w, "EOF")
		r.remove("n/a") // 5
		synctest.Wait()
		r.expect(r.watch(WatchOptions{ResourceVersion: "0", SendInitialEvents: ptr(true), AllowBookmarks: true}),
			"ADDED n/b@4", "ADDED n/c@2", "BOOKMARK@5 end")
		r.expect(r.watch(WatchOptions{ResourceVersion: "3"}), "ADDED n/b@4", "DELETED n/a@5")
	})
}

func TestTheFeedListsInPagesAtOneRevision(t *testing.T) {
	paged := func(o *Options) { o.Store, o.PageSize = newGate(o.Store), 2 }
	inBubble(t, paged, func(r *rig) {
		for _, key := range []string{"m/a", "n/a", "n/b", "o/a", "o/b"} {
			r.put(key, "")
		}
		time.Sleep(time.Minute)
		r.gate().breakWatches()
		synctest.Wait()
		r.expectList(ListOptions{ResourceVersion: "0"}, "m/a n/a n/b o/a o/b@6")
	})
}

func TestAWatchIsClosedIfTheCacheWentBackBehindIt(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		w := r.cacher.newWatcher(&WatchOptions{})
		if err := r.cacher.register(w, watchRoute{start: initialNotOlder, rv: 9}); err != nil {
			t.Fatal(err)
		}
		r.expect(w, "EOF")
	})
}

func TestACompactionBetweenListAndWatchCostsNoTime(t *testing.T) {
	busy := func(o *Options) {
		g := newGate(o.Store)
		g.compactions = openAttempts - 1
		o.Store = g
	}
	inBubble(t, busy, func(r *rig) {
		start := time.Now()
		r.expectList(ListOptions{ResourceVersion: "0"}, "@1")
		if took := time.Since(start); took != 0 || r.gate().listCount() != openAttempts {
			t.Errorf("%d lists in %v", r.gate().listCount(), took)
		}
	})
}

func TestWhatComesBeforeABadEventOfABatchIsApplied(t *testing.T) {
	stored := func(kind storage.EventType, rv int64, key string, value []byte) storage.Event {
		return storage.Event{Type: kind, KV: storage.KeyValue{Key: "/pods/" + key, Value: value, ModRevision: rv}}
	}
	for name, c := range map[string]struct {
		bad    storage.Event
		failed func(err error) bool
	}{
		"undecodable": {stored(storage.Put, 6, "n/c", []byte("{")), func(err error) bool {
			var bad *undecodable
			return errors.As(err, &bad)
		}},
		"older":          {stored(storage.Put, 4, "n/c", value("n/c", "")), func(err error) bool { return errors.Is(err, errWentBack) }},
		"older progress": {stored(storage.Progress, 4, "", nil), func(err error) bool { return errors.Is(err, errWentBack) }},
		"none":           {stored(storage.Progress, 5, "", nil), func(err error) bool { return err == nil }},
	} {
		inBubble(t, nil, func(r *rig) {
			r.list(ListOptions{})
			w := r.watch(WatchOptions{SendInitialEvents: ptr(false)})
			err := r.cacher.feed(r.ctx, []storage.Event{
				stored(storage.Put, 2, "n/a", value("n/a", "")),
				stored(storage.Put, 3, "n/b", value("n/b", "")),
				stored(storage.Progress, 4, "", nil),
				stored(storage.Delete, 5, "n/a", nil),
				c.bad,
			})
			if !c.failed(err) {
				t.Errorf("%s: %v", name, err)
			}
			r.expect(w, "ADDED n/a@2", "ADDED n/b@3", "DELETED n/a@5")
			r.expectNothing(w)
			if got := r.cacher.reached(); got != 5 {
				t.Errorf("%s: reached %d", name, got)
			}
		})
	}
}
