package cacher

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/listwatch/listwatch/fakeserver/storage"
)

// gated puts a gate before the store.
func gated(o *Options) { o.Store = newGate(o.Store) }

func TestALostProgressRequestIsRepeated(t *testing.T) {
	inBubble(t, gated, func(r *rig) {
		r.put("n/a", "")
		synctest.Wait()
		r.elsewhere() // 3
		r.gate().loseRequests(3)
		start := time.Now()
		r.expectList(ListOptions{}, "n/a@3")
		if took := time.Since(start); took != 3*progressPeriod {
			t.Errorf("took %v", took)
		}
	})
}

func TestAVersionThatTheStoreReachesLaterIsWaitedFor(t *testing.T) {
	inBubble(t, gated, func(r *rig) {
		r.put("n/a", "") // 2
		start := time.Now()
		var done sync.WaitGroup
		done.Go(func() { r.expectList(ListOptions{ResourceVersion: "4"}, "n/a@4") })
		time.Sleep(time.Second)
		r.elsewhere()
		time.Sleep(time.Second)
		r.elsewhere() // nothing of this comes to the feed by itself
		done.Wait()
		if took := time.Since(start); took > 2*time.Second+progressPeriod {
			t.Errorf("took %v", took)
		}
	})
}

func TestOneRequesterAsksForAllReadsThatWait(t *testing.T) {
	inBubble(t, gated, func(r *rig) {
		ctx, cancel := context.WithTimeout(r.ctx, 2050*time.Millisecond)
		defer cancel()
		var done sync.WaitGroup
		for range 500 {
			done.Go(func() { _, _ = r.cacher.List(ctx, ListOptions{ResourceVersion: "99"}) })
		}
		time.Sleep(time.Millisecond) // who comes asks at once if no answer is on its way
		before := r.gate().counts()
		done.Wait()
		if got := r.gate().counts().since(before); got != (gateCounts{asked: 20}) {
			t.Errorf("the store was called: %+v", got)
		}
		before = r.gate().counts()
		time.Sleep(24 * time.Hour)
		if got := r.gate().counts().since(before); got != (gateCounts{}) {
			t.Errorf("with no reads, the store was called: %+v", got)
		}
		if r.cacher.waiters.idle != nil {
			t.Error("the requester is still there")
		}
	})
}

func TestOnlyTheReadsThatReachedTheirVersionAreWoken(t *testing.T) {
	var w waiters
	three, idle := w.add(3)
	five, none := w.add(5)
	if idle == nil || none != nil {
		t.Fatal("the first waiter starts the requester")
	}
	if got := w.reached(2); got != nil {
		t.Errorf("woke %v", got)
	}
	if got := w.reached(4); len(got) != 1 || got[0] != three {
		t.Errorf("woke %v", got)
	}
	select {
	case <-idle:
		t.Error("idle with one left")
	default:
	}
	w.remove(five)
	<-idle
	if _, idle = w.add(1); idle == nil {
		t.Error("no requester for the next one")
	}
}

func TestReadsThatCannotWaitLongerShareOneReadOfTheStore(t *testing.T) {
	inBubble(t, gated, func(r *rig) {
		r.gate().hold() // the cache does not catch up
		r.put("n/a", "1")
		r.put("n/b", "2")
		r.put("o/a", "1")
		r.gate().delay(100 * time.Millisecond)
		before := r.gate().counts()
		start := time.Now()
		var done sync.WaitGroup
		for i := range 300 {
			done.Go(func() {
				switch i % 3 {
				case 0:
					r.expectList(ListOptions{}, "n/a n/b o/a@4")
				case 1:
					r.expectList(ListOptions{Predicate: labelled("1")}, "n/a o/a@4")
				case 2:
					r.expectList(ListOptions{Predicate: Predicate{Scope: Scope{Namespace: "n"}}}, "n/a n/b@4")
				}
			})
		}
		done.Wait()
		got := r.gate().counts().since(before)
		if took := time.Since(start); took > 3500*time.Millisecond {
			t.Errorf("took %v", took)
		}
		// Two questions for the revision, so that there are two ends of waiting: three
		// reads each of all and of n.
		if got.revisions > 2 || got.lists > 6 {
			t.Errorf("the store was called: %+v", got)
		}
		r.gate().release()
	})
}

func TestAConsistentListIsRefusedInsteadOfReadFromTheStoreIfAskedTo(t *testing.T) {
	strict := func(o *Options) { o.Store, o.RefuseStale = newGate(o.Store), true }
	inBubble(t, strict, func(r *rig) {
		r.gate().hold()
		r.put("n/a", "")
		_, err := r.cacher.List(r.ctx, ListOptions{})
		got := status(err).ErrStatus
		if got.Code != 429 || got.Details.RetryAfterSeconds != 1 || got.Message != "Timeout: Too large resource version: 2, current: 1" {
			t.Errorf("got %+v", got)
		}
		r.gate().release()
		r.expectList(ListOptions{}, "n/a@2")
	})
}

// Retold from kubernetes#138494: the wait for freshness ignored the request's
// context, so that clients that had gone kept it busy.
func TestEveryWaitEndsWithItsContext(t *testing.T) {
	for _, c := range []struct {
		what  string
		delay time.Duration
		call  func(*rig, context.Context) error
	}{
		{"a list", 0, func(r *rig, ctx context.Context) error {
			_, err := r.cacher.List(ctx, ListOptions{ResourceVersion: "99"})
			return err
		}},
		{"an exact list", 0, func(r *rig, ctx context.Context) error {
			_, err := r.cacher.List(ctx, ListOptions{ResourceVersion: "99", Match: exact})
			return err
		}},
		{"a get", 0, func(r *rig, ctx context.Context) error {
			_, err := r.cacher.Get(ctx, "n", "a", "99")
			return err
		}},
		{"a watch", 0, func(r *rig, ctx context.Context) error {
			_, err := r.cacher.Watch(ctx, WatchOptions{ResourceVersion: "99", SendInitialEvents: ptr(true)})
			return err
		}},
		{"a consistent list", time.Hour, func(r *rig, ctx context.Context) error {
			_, err := r.cacher.List(ctx, ListOptions{})
			return err
		}},
		{"a consistent watch", time.Hour, func(r *rig, ctx context.Context) error {
			_, err := r.cacher.Watch(ctx, WatchOptions{SendInitialEvents: ptr(true)})
			return err
		}},
	} {
		t.Run(c.what, func(t *testing.T) {
			inBubble(t, gated, func(r *rig) {
				r.gate().delay(c.delay)
				var done sync.WaitGroup
				for range 3 { // also those that wait for another one's call
					done.Go(func() {
						ctx, cancel := context.WithTimeout(r.ctx, time.Second)
						defer cancel()
						start := time.Now()
						if err := c.call(r, ctx); !contextError(err) || time.Since(start) != time.Second {
							t.Errorf("after %v: %v", time.Since(start), err)
						}
					})
				}
				done.Wait()
				synctest.Wait()
				if len(r.cacher.waiters.list) != 0 || r.cacher.waiters.idle != nil || r.cacher.watchers.count != 0 {
					t.Error("something is left")
				}
			})
		})
	}
}

func TestProgressIsAskedOnceForAllWhoComeBeforeTheAnswer(t *testing.T) {
	source := &countedWatch{}
	start := time.Now()
	p := progress{source: source}
	for i, step := range []struct {
		at     time.Duration
		answer bool
		want   storage.Watch
	}{
		{0, false, source},
		{time.Millisecond, false, nil},                       // an answer is on its way
		{2 * time.Millisecond, true, source},                 // it may be from before
		{3 * time.Millisecond, true, nil},                    // nobody came meanwhile
		{4 * time.Millisecond, false, source},                // asked anew
		{progressPeriod, false, nil},                         // still young
		{4*time.Millisecond + progressPeriod, false, source}, // lost
	} {
		now := start.Add(step.at)
		var got storage.Watch
		if step.answer {
			_, got = p.arrived(now)
		} else {
			got = p.ask(now)
		}
		if got != step.want {
			t.Errorf("step %d: %v", i, got)
		}
	}
	none := progress{}
	if none.ask(start) != nil || !none.wanted {
		t.Error("without a source it is wanted later")
	}
}

func TestAFirstListThatTakesLongIsWaitedForAsLongAsARequestMayBlock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, func(o *Options) {
			g := newGate(o.Store)
			g.slow = 10 * time.Second
			o.Store = g
		})
		r.put("n/a", "")
		ctx, cancel := context.WithTimeout(r.ctx, time.Second)
		defer cancel()
		if _, err := r.cacher.List(ctx, ListOptions{ResourceVersion: "0"}); !contextError(err) {
			t.Errorf("got %v", err)
		}
		start := time.Now()
		_, err := r.cacher.Watch(r.ctx, WatchOptions{})
		if got := status(err).ErrStatus; got.Code != 429 || got.Message != "storage is (re)initializing" || time.Since(start) != 3*time.Second {
			t.Errorf("after %v: %v", time.Since(start), err)
		}
		if _, err := r.cacher.Get(r.ctx, "n", "a", "0"); err != nil {
			t.Errorf("got %v", err)
		}
		time.Sleep(3 * time.Second)
		r.expectList(ListOptions{ResourceVersion: "0"}, "n/a@2")
	})
}

func TestRetryAfterGrowsWithTheTimeThatACacheIsDown(t *testing.T) {
	for _, c := range []struct {
		down time.Duration
		want int
	}{
		{-time.Second, 1}, {0, 1}, {11 * time.Second, 1}, {12 * time.Second, 2}, {20 * time.Second, 3},
		{30 * time.Second, 6}, {56 * time.Second, 28}, {57 * time.Second, 30}, {time.Hour, 30}, {1000 * time.Hour, 30},
	} {
		if got := retryAfterDown(c.down); got != c.want {
			t.Errorf("%v: %d", c.down, got)
		}
	}
	inBubble(t, func(o *Options) {
		g := newGate(o.Store)
		g.failLists(fmt.Errorf("no luck"))
		o.Store = g
	}, func(r *rig) {
		time.Sleep(30 * time.Second)
		_, err := r.cacher.List(r.ctx, ListOptions{})
		if got := status(err).ErrStatus.Details.RetryAfterSeconds; got != 6 {
			t.Errorf("after 30 s: %d", got)
		}
	})
}
