package informertest

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/listwatch/listwatch/informer"
)

// fakeTB notes failures.
type fakeTB struct {
	ctx      context.Context
	failures []string
}

func (t *fakeTB) Helper()                  {}
func (t *fakeTB) Context() context.Context { return t.ctx }
func (t *fakeTB) Fatalf(format string, args ...any) {
	t.failures = append(t.failures, fmt.Sprintf(format, args...))
}

// play makes calls such as makeTrace reads.
func play(t testing.TB, r *Recorder[*thing], text string) {
	t.Helper()
	for _, e := range makeTrace(t, text) {
		state := func(v Version) *thing {
			namespace, name, ok := strings.Cut(e.Key, "/")
			if !ok {
				namespace, name = "", e.Key
			}
			obj := object(name, string(v.UID), v.ResourceVersion)
			obj.Namespace = namespace
			return obj
		}
		switch e.Kind {
		case AddCall:
			r.OnAdd(state(e.Object), e.Initial)
		case UpdateCall:
			r.OnUpdate(state(e.Old), state(e.Object))
		case DeleteCall:
			r.OnDelete(informer.Deleted[*thing]{Key: e.Key, Last: state(e.Object), Exact: e.Exact})
		default:
			t.Fatalf("not a call: %v", e)
		}
	}
}

func TestExpectationsAreMetByTheCallsThatTheyDescribe(t *testing.T) {
	const calls = "initial a u@5, initial n/b v@6, update a u@5 u@7, update a u@7 u@8, delete a u@9, gone n/b v@6, add a w@12"
	for name, test := range map[string]struct {
		wants   []Want
		exactly bool
		failure []string // parts of it; none: it is met
	}{
		"each in order":           {wants: []Want{Added("a"), Updated("a"), Updated("a"), Deleted("a"), Added("a")}},
		"not all":                 {wants: []Want{Updated("a"), Added("a")}},
		"keys in any order":       {wants: []Want{Deleted("n/b"), Added("a"), Added("a")}},
		"a version":               {wants: []Want{Updated("a").At("8")}},
		"initial or not":          {wants: []Want{Added("a").Initial(true), Added("a").Initial(false)}},
		"exact or not":            {wants: []Want{Deleted("a").Exact(true), Deleted("n/b").Exact(false)}},
		"the object":              {wants: []Want{Where(Added("a"), "new", func(obj *thing) bool { return obj.UID == "w" })}},
		"in one order":            {wants: InOrder(Added("a"), Added("n/b"), Updated("a"), Deleted("n/b"), Added("a"))},
		"against the key's order": {wants: []Want{Deleted("a"), Updated("a")}, failure: []string{"did not come", "deleted a: came: #5 deleted a u@9, exact", "updated a: missing"}},
		"against the one order":   {wants: InOrder(Deleted("n/b"), Deleted("a")), failure: []string{"deleted a, after the one above: missing"}},
		"after what is missing":   {wants: InOrder(Added("c"), Added("a")), failure: []string{"added c: missing", "added a, after the one above: missing"}},
		"another version":         {wants: []Want{Updated("a").At("9")}, failure: []string{"updated a, at 9: missing", "#7 added a w@12"}},
		"another object":          {wants: []Want{Where(Deleted("a"), "green", func(obj *thing) bool { return obj.UID == "w" })}, failure: []string{"deleted a, where green: missing"}},
		"exactly all":             {exactly: true, wants: []Want{Added("n/b"), Deleted("n/b"), Added("a"), Updated("a"), Updated("a"), Deleted("a"), Added("a")}},
		"exactly, in one order":   {exactly: true, wants: InOrder(Added("a"), Added("n/b"), Updated("a"), Updated("a"), Deleted("a"), Deleted("n/b"), Added("a"))},
		"exactly, another order": {exactly: true, wants: append(InOrder(Added("n/b"), Added("a")), Updated("a"), Updated("a"), Deleted("a"), Deleted("n/b"), Added("a")),
			failure: []string{"not expected, or not yet: #1 added a"}},
		"exactly, one too many": {exactly: true, wants: []Want{Added("n/b"), Deleted("n/b"), Added("a"), Updated("a"), Updated("a"), Deleted("a")},
			failure: []string{"not expected, or not yet: #7 added a w@12"}},
		"exactly, one too few": {exactly: true, wants: []Want{Added("n/b"), Deleted("n/b"), Added("a"), Updated("a"), Updated("a"), Deleted("a"), Added("a"), Updated("a")},
			failure: []string{"did not come", "updated a: missing"}},
		"exactly, another key": {exactly: true, wants: []Want{Added("a")}, failure: []string{"not yet: #2 added n/b"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := &Recorder[*thing]{}
				play(t, r, calls)
				tb := &fakeTB{ctx: t.Context()}
				if test.exactly {
					r.ExpectExactly(tb, test.wants...)
				} else {
					r.Expect(tb, test.wants...)
				}
				if len(tb.failures) != min(1, len(test.failure)) {
					t.Fatalf("failures: %q", tb.failures)
				}
				for _, part := range test.failure {
					if !strings.Contains(tb.failures[0], part) {
						t.Errorf("%q is not in: %s", part, tb.failures[0])
					}
				}
			})
		})
	}
}

func TestExpectWaitsForCallsToCome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &Recorder[*thing]{Patience: time.Hour}
		go func() {
			time.Sleep(30 * time.Minute)
			play(t, r, "add a u@5")
			time.Sleep(20 * time.Minute)
			play(t, r, "update a u@5 u@7")
		}()
		begin := time.Now()
		r.Expect(t, Added("a"))
		if waited := time.Since(begin); waited != 30*time.Minute {
			t.Errorf("returned after %v", waited)
		}
		r.ExpectExactly(t, Updated("a"))
		tb := &fakeTB{ctx: t.Context()}
		r.Expect(tb, Deleted("a"))
		if waited := time.Since(begin); waited != 110*time.Minute || len(tb.failures) != 1 {
			t.Errorf("gave up after %v with %q", waited, tb.failures)
		}
	})
}

func TestExpectEndsWithTheTest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		tb := &fakeTB{ctx: ctx}
		(&Recorder[*thing]{}).Expect(tb, Added("a"))
		if len(tb.failures) != 1 || !strings.Contains(tb.failures[0], "within 1s (context deadline exceeded)") {
			t.Errorf("failures %q", tb.failures)
		}
	})
}

func TestWhatWasExpectedIsDoneWithAndTheRestIsNot(t *testing.T) {
	r, tb := &Recorder[*thing]{}, &fakeTB{ctx: t.Context()}
	play(t, r, "initial a u@5, initial b v@6, update a u@5 u@7, delete a u@9")
	r.Expect(tb, Updated("a")) // and the add before it
	r.ExpectExactly(tb, Deleted("a"), Added("b"))
	r.ExpectNone(tb, nil)
	if len(tb.failures) > 0 {
		t.Errorf("failures %q", tb.failures)
	}
	play(t, r, "add c w@12")
	r.ExpectNone(tb, nil)
	if len(tb.failures) != 1 || !strings.Contains(tb.failures[0], "#5 added c w@12") {
		t.Errorf("failures %q", tb.failures)
	}
	if got := len(r.Trace()); got != 5 {
		t.Errorf("the trace has %d entries, want all 5", got)
	}
}

func TestALongListOfCallsIsShortened(t *testing.T) {
	r, tb := &Recorder[*thing]{}, &fakeTB{ctx: t.Context()}
	for i := range 50 {
		play(t, r, fmt.Sprintf("add k%d u@%d", i, i+5))
	}
	r.ExpectNone(tb, nil)
	if lines := strings.Count(tb.failures[0], "\n"); lines != maxShown+1 || !strings.Contains(tb.failures[0], "… 30 more") {
		t.Errorf("%d lines: %s", lines, tb.failures[0])
	}
}
