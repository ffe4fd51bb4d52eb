package cacher

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

// brokenDown makes a cache that is not ready for a long time: n/a at 2, n/b at 3,
// n/c at 4; the store can be read, but not listed to fill the cache.
func brokenDown(t *testing.T, test func(r *rig)) {
	inBubble(t, gated, func(r *rig) {
		for _, name := range []string{"a", "b", "c"} {
			r.put("n/"+name, "")
		}
		time.Sleep(time.Hour)                    // which does not count as down
		r.cacher.interrupted(errors.New("gone")) // the feed itself is well, and waits
		test(r)
	})
}

func TestWhatTheStoreAnswersForACacheThatIsNotReadyIsComplete(t *testing.T) {
	brokenDown(t, func(r *rig) {
		token := r.expectList(ListOptions{Limit: 1}, "n/a@4+2")
		next := r.expectList(ListOptions{Limit: 1, Continue: token}, "n/b@4+1")
		r.expectList(ListOptions{Limit: 1, Continue: next}, "n/c@4")
		r.expectList(ListOptions{Limit: 1, ResourceVersion: "0"}, "n/a@4+2") // the store minds the limit
		r.expectList(ListOptions{Limit: 2, ResourceVersion: "3"}, "n/a n/b@3")
		r.expectList(ListOptions{Limit: 2, ResourceVersion: "3", Match: notOlder}, "n/a n/b@4+1")
		onward := encodeContinue("", "n/b", inconsistent)
		r.put("n/d", "") // 5
		r.expectList(ListOptions{Limit: 2, Continue: onward}, "n/b n/c@5+1")
		for _, rv := range []string{"", "0", "4", "99"} {
			if item, err := r.cacher.Get(r.ctx, "n", "a", rv); err != nil || item.ResourceVersion != 2 {
				t.Errorf("get at %q: %v, %v", rv, item, err)
			}
		}
	})
}

func TestWhatNeedsACacheThatIsNotReadyIsRefusedAtOnce(t *testing.T) {
	brokenDown(t, func(r *rig) {
		start := time.Now()
		refused := func(what string, err error) {
			t.Helper()
			got := status(err).ErrStatus
			if got.Code != 429 || got.Message != "storage is (re)initializing: gone" || got.Details.RetryAfterSeconds != 1 {
				t.Errorf("%s: %v", what, err)
			}
		}
		for _, opts := range []ListOptions{
			{}, {ResourceVersion: "0"}, {ResourceVersion: "4"}, {ResourceVersion: "4", Match: exact},
			{Predicate: labelled("1"), Limit: 1}, {Predicate: Predicate{Scope: Scope{Namespace: "n", Name: "a"}}, Limit: 1},
			{Continue: encodeContinue("", "n/b", 4)},
		} {
			_, err := r.cacher.List(r.ctx, opts)
			refused(fmt.Sprintf("list %+v", opts), err)
		}
		for _, opts := range []WatchOptions{
			{}, {ResourceVersion: "0"}, {ResourceVersion: "4"}, {SendInitialEvents: ptr(true)}, {SendInitialEvents: ptr(false)},
		} {
			_, err := r.cacher.Watch(r.ctx, opts)
			refused(fmt.Sprintf("watch %+v", opts), err)
		}
		if took := time.Since(start); took != 0 {
			t.Errorf("took %v", took)
		}
	})
}

func TestTheStoreSaysAtOnceThatAVersionIsTooLarge(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		r.put("n/a", "")
		r.elsewhere() // 3
		one := Predicate{Scope: Scope{Namespace: "n", Name: "a"}}
		for _, opts := range []ListOptions{
			{Predicate: one, ResourceVersion: "99", Match: exact},
			{Predicate: one, Continue: encodeContinue("n", "n/a", 99)},
		} {
			start := time.Now()
			_, err := r.cacher.List(r.ctx, opts)
			got := status(err).ErrStatus
			if !isTooLarge(err) || got.Details.RetryAfterSeconds != 0 || time.Since(start) != 0 ||
				got.Message != "Timeout: Too large resource version: 99, current: 3" {
				t.Errorf("%+v: after %v: %+v", opts, time.Since(start), got)
			}
		}
	})
}

func TestAStoreThatFailsIsAnInternalError(t *testing.T) {
	inBubble(t, gated, func(r *rig) {
		r.put("n/a", "")
		synctest.Wait()
		r.gate().failLists(errDown)
		one := Predicate{Scope: Scope{Namespace: "n", Name: "a"}}
		_, err := r.cacher.List(r.ctx, ListOptions{Predicate: one, ResourceVersion: "2", Match: exact})
		if got := status(err).ErrStatus; got.Code != 500 || got.Message != "Internal error occurred: pods: connection refused" {
			t.Errorf("got %+v", got)
		}
	})
}
