package cacher

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/listwatch/listwatch/fakeserver/storage"
)

// shown writes a result: keys @rv, then "+" and what remains if there is more.
func shown(result ListResult) string {
	text := fmt.Sprintf("%s@%d", keys(result.Items), result.ResourceVersion)
	if result.Continue != "" {
		text += "+"
	}
	if result.Remaining != nil {
		text += fmt.Sprint(*result.Remaining)
	}
	return text
}

// expectList compares a list's result with its text, and returns its token.
func (r *rig) expectList(opts ListOptions, want string) string {
	r.t.Helper()
	result := r.list(opts)
	if got := shown(result); got != want {
		r.t.Errorf("list %+v\n got %s\nwant %s", opts, got, want)
	}
	if result.Items == nil {
		r.t.Errorf("list %+v: items are nil", opts)
	}
	return result.Continue
}

const exact, notOlder = metav1.ResourceVersionMatchExact, metav1.ResourceVersionMatchNotOlderThan

// past makes a history: a at 2, b at 3, c at 4, b gone at 5, a node at 6.
func (r *rig) past() {
	r.t.Helper()
	r.put("n/a", "1")
	r.put("n/b", "2")
	r.put("n/c", "1")
	r.remove("n/b")
	r.elsewhere()
}

func TestAListIsServedAsItsVersionAndMatchSay(t *testing.T) {
	for _, c := range []struct {
		rv    string
		match metav1.ResourceVersionMatch
		limit int64
		want  string
	}{
		{"", "", 0, "n/a n/c@6"},
		{"", "", -1, "n/a n/c@6"},
		{"", "", 1, "n/a@6+1"},
		{"", "", 2, "n/a n/c@6"},
		{"0", "", 0, "n/a n/c@5"},
		{"0", "", 1, "n/a n/c@5"}, // the limit does not count
		{"0", notOlder, 1, "n/a n/c@5"},
		{"3", "", 0, "n/a n/c@5"},
		{"3", notOlder, 0, "n/a n/c@5"},
		{"3", notOlder, 1, "n/a@5+1"},
		{"6", notOlder, 0, "n/a n/c@6"}, // reached by a progress request
		{"3", "", 1, "n/a@3+1"},         // as Exact
		{"3", exact, 0, "n/a n/b@3"},
		{"4", exact, 2, "n/a n/b@4+1"},
		{"1", exact, 0, "@1"},
		{"6", exact, 0, "n/a n/c@6"},
	} {
		t.Run(fmt.Sprintf("%s_%s_%d", c.rv, c.match, c.limit), func(t *testing.T) {
			inBubble(t, nil, func(r *rig) {
				r.past()
				synctest.Wait() // the cache is at 5 now and knows nothing of 6
				r.expectList(ListOptions{ResourceVersion: c.rv, Match: c.match, Limit: c.limit}, c.want)
			})
		})
	}
}

func TestVersionsAheadOfTheStoreAreTooLargeAfterTheBlockTimeout(t *testing.T) {
	for _, opts := range []ListOptions{
		{ResourceVersion: "99"},
		{ResourceVersion: "99", Match: exact},
		{ResourceVersion: "99", Limit: 1},
		{Continue: encodeContinue("", "n/a", 99)},
	} {
		inBubble(t, nil, func(r *rig) {
			r.past()
			synctest.Wait()
			start := time.Now()
			_, err := r.cacher.List(r.ctx, opts)
			got := status(err).ErrStatus
			if time.Since(start) != 3*time.Second || got.Code != 504 || got.Details.RetryAfterSeconds != 1 ||
				got.Message != "Timeout: Too large resource version: 99, current: 6" ||
				got.Details.Causes[0] != (metav1.StatusCause{Type: "ResourceVersionTooLarge", Message: "Too large resource version"}) {
				t.Errorf("%+v: after %v: %+v", opts, time.Since(start), got)
			}
		})
	}
}

func TestAWaitForAVersionEndsWithItsContext(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		ctx, cancel := context.WithTimeout(r.ctx, time.Second)
		defer cancel()
		_, err := r.cacher.List(ctx, ListOptions{ResourceVersion: "99"})
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		if left := len(r.cacher.waiters.list); left != 0 {
			t.Errorf("%d waiters are left", left)
		}
	})
}

func TestPagesMakeUpTheStateOfTheFirst(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		for _, name := range []string{"a", "b", "c", "d", "e"} {
			r.put("n/"+name, "")
		}
		r.put("o/a", "") // 7
		token := r.expectList(ListOptions{Limit: 2}, "n/a n/b@7+4")
		r.put("n/aa", "")
		r.remove("n/d")
		next := r.expectList(ListOptions{Limit: 2, Continue: token}, "n/c n/d@7+2")
		r.expectList(ListOptions{Limit: 2, Continue: next}, "n/e o/a@7")
		r.expectList(ListOptions{Continue: token}, "n/c n/d n/e o/a@7")
		r.expectList(ListOptions{Continue: token, Limit: 1, ResourceVersion: "0"}, "n/c n/d n/e o/a@7")

		within := Predicate{Scope: Scope{Namespace: "n"}}
		token = r.expectList(ListOptions{Predicate: within, Limit: 3}, "n/a n/aa n/b@9+2")
		if key, rv, err := decodeContinue("n", token); key != "n/b\x00" || rv != 9 || err != nil {
			t.Errorf("token is %q@%d, %v", key, rv, err)
		}
		r.expectList(ListOptions{Predicate: within, Continue: token}, "n/c n/e@9")
	})
}

func TestATokenWithASelectorHasNoCount(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		for i, name := range []string{"a", "b", "c", "d"} {
			r.put("n/"+name, fmt.Sprint(i%2))
		}
		r.expectList(ListOptions{Predicate: labelled("0"), Limit: 1}, "n/a@5+")
		r.expectList(ListOptions{Predicate: labelled("0"), Limit: 2}, "n/a n/c@5+") // though nothing more matches
		r.expectList(ListOptions{Predicate: labelled("1"), Limit: 2}, "n/b n/d@5")
	})
}

func TestAListByNameIsOneKey(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		r.past()
		one := func(namespace, name string) Predicate {
			return Predicate{Scope: Scope{Namespace: namespace, Name: name}}
		}
		r.expectList(ListOptions{Predicate: one("n", "a"), Limit: 1}, "n/a@6")
		r.expectList(ListOptions{Predicate: one("n", "b")}, "@6")
		r.expectList(ListOptions{Predicate: one("n", "b"), ResourceVersion: "4", Match: exact}, "n/b@4")
		r.expectList(ListOptions{Predicate: one("", "c")}, "n/c@6")
		past := encodeContinue("n", "n/b", 6)
		r.expectList(ListOptions{Predicate: one("n", "a"), Continue: past}, "@6")
		r.expectList(ListOptions{Predicate: one("n", "c"), Continue: past}, "n/c@6")
		named := labelled("2")
		named.Scope = Scope{Namespace: "n", Name: "a"}
		r.expectList(ListOptions{Predicate: named}, "@6")
	})
}

func TestForgottenVersionsAre410AndTokensGoOnInconsistently(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		for _, name := range []string{"a", "b", "c", "d"} {
			r.put("n/"+name, "")
		}
		within := Predicate{Scope: Scope{Namespace: "n"}}
		token := r.expectList(ListOptions{Predicate: within, Limit: 1}, "n/a@5+3")
		r.remove("n/b")
		r.compact()
		for _, opts := range []ListOptions{{ResourceVersion: "3", Match: exact}, {ResourceVersion: "3", Limit: 1}} {
			_, err := r.cacher.List(r.ctx, opts)
			if got := status(err).ErrStatus; got.Code != 410 || got.Reason != metav1.StatusReasonExpired ||
				got.Message != "The resourceVersion for the provided list is too old." || got.Details != nil {
				t.Errorf("%+v: %+v", opts, got)
			}
		}
		_, err := r.cacher.List(r.ctx, ListOptions{Predicate: within, Limit: 1, Continue: token})
		expired := status(err).ErrStatus
		if expired.Code != 410 || expired.ListMeta.Continue == "" {
			t.Fatalf("got %v", err)
		}
		if key, rv, err := decodeContinue("n", expired.ListMeta.Continue); key != "n/a\x00" || rv != inconsistent || err != nil {
			t.Errorf("token is %q@%d, %v", key, rv, err)
		}
		next := r.expectList(ListOptions{Predicate: within, Limit: 1, Continue: expired.ListMeta.Continue}, "n/c@6+1")
		r.expectList(ListOptions{Predicate: within, Limit: 1, Continue: next}, "n/d@6")
		r.expectList(ListOptions{Predicate: within, ResourceVersion: "6", Match: exact}, "n/a n/c n/d@6")
	})
}

func TestTheStoreAnswersForSnapshotsThatAreGone(t *testing.T) {
	small := func(o *Options) { o.MinCapacity, o.MaxCapacity, o.PageSize = 2, 2, 2 }
	inBubble(t, small, func(r *rig) {
		for i := range 6 {
			r.put(fmt.Sprintf("n/%d", i), fmt.Sprint(i/5)) // 2 to 7
		}
		for range 4 {
			r.put("n/0", "0")
		}
		synctest.Wait()
		if _, ok := r.cacher.snapshot(7); ok {
			t.Fatal("the snapshot is still there")
		}
		r.expectList(ListOptions{ResourceVersion: "7", Match: exact}, "n/0 n/1 n/2 n/3 n/4 n/5@7")
		token := r.expectList(ListOptions{ResourceVersion: "7", Match: exact, Limit: 4}, "n/0 n/1 n/2 n/3@7+2")
		r.expectList(ListOptions{Continue: token, Limit: 4}, "n/4 n/5@7")
		r.expectList(ListOptions{Predicate: labelled("1"), ResourceVersion: "7", Match: exact, Limit: 1}, "n/5@7")
		one := Predicate{Scope: Scope{Namespace: "n", Name: "3"}}
		r.expectList(ListOptions{Predicate: one, ResourceVersion: "7", Match: exact, Limit: 1}, "n/3@7")
	})
}

func TestAConsistentListSeesEveryWriteBeforeIt(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		for i := range 100 {
			rv := r.put(fmt.Sprintf("n/%d", i), "")
			if got := r.list(ListOptions{}); len(got.Items) != i+1 || got.ResourceVersion < rv {
				t.Fatalf("%d items @%d after %d writes", len(got.Items), got.ResourceVersion, i+1)
			}
		}
	})
}

func TestAConsistentListFallsBackToTheStoreWhileTheCacheLags(t *testing.T) {
	inBubble(t, func(o *Options) { o.Store = newGate(o.Store) }, func(r *rig) {
		r.gate().hold()
		r.put("n/a", "")
		start := time.Now()
		r.expectList(ListOptions{}, "n/a@2")
		if took := time.Since(start); took != 3*time.Second {
			t.Errorf("took %v", took)
		}
		r.expectList(ListOptions{ResourceVersion: "0"}, "@1")
		r.gate().release()
	})
}

func TestAGetReadsTheStoreOrTheCacheAsAsked(t *testing.T) {
	inBubble(t, func(o *Options) { o.Store = newGate(o.Store) }, func(r *rig) {
		r.put("n/a", "")
		synctest.Wait()
		r.gate().hold()
		r.put("n/a", "")
		for rv, want := range map[string]uint64{"": 3, "0": 2, "2": 2} {
			if item, err := r.cacher.Get(r.ctx, "n", "a", rv); err != nil || item.ResourceVersion != want {
				t.Errorf("rv %q: %v, %v", rv, item, err)
			}
		}
		if _, err := r.cacher.Get(r.ctx, "n", "a", "3"); !isTooLarge(err) {
			t.Errorf("got %v", err)
		}
		r.gate().release()
		if item, err := r.cacher.Get(r.ctx, "n", "a", "3"); err != nil || item.ResourceVersion != 3 {
			t.Errorf("got %v, %v", item, err)
		}
		for _, rv := range []string{"", "0"} {
			_, err := r.cacher.Get(r.ctx, "n", "none", rv)
			if !apierrors.IsNotFound(err) || err.Error() != `pods "none" not found` {
				t.Errorf("got %v", err)
			}
		}
	})
}

func TestReadsShareOneItemPerVersion(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		r.put("n/a", "")
		listed := r.list(ListOptions{}).Items[0]
		got, err := r.cacher.Get(r.ctx, "n", "a", "")
		if err != nil || got != listed {
			t.Errorf("Get made another item: %v", err)
		}
		event, err := r.watch(WatchOptions{ResourceVersion: "1"}).Next(r.ctx)
		if err != nil || event.Item != listed {
			t.Errorf("the event has another item: %v", err)
		}
	})
}

func TestAClosedCacherSaysSo(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		w := r.watch(WatchOptions{SendInitialEvents: ptr(false)})
		r.cacher.Close()
		r.expect(w, "EOF")
		_, err := r.cacher.List(r.ctx, ListOptions{})
		_, err2 := r.cacher.Watch(r.ctx, WatchOptions{})
		if !errors.Is(err, ErrClosed) || !errors.Is(err2, ErrClosed) {
			t.Errorf("got %v and %v", err, err2)
		}
	})
}

var _ storage.Store = (*gate)(nil)
