package deltafifo

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// told is what a test says to a queue, and what it pops, written down: "A k 5".
func told(q *Queue[string], ops ...string) {
	for _, op := range ops {
		var kind, key, rv string
		fmt.Sscan(op, &kind, &key, &rv)
		object := key + rv
		switch kind {
		case "A":
			q.Add(key, object, rv)
		case "U":
			q.Update(key, object, rv)
		case "D":
			q.Delete(key, object, rv)
		case "R":
			q.Replace([]Item[string]{{key, object}}, rv)
		case "B":
			q.Bookmark(key)
		case "S":
			q.Resync()
		}
	}
}

func written(batch []Delta[string]) []string {
	var lines []string
	for _, d := range batch {
		switch d.Type {
		case Replaced:
			lines = append(lines, fmt.Sprintf("R %s %s", d.Replacement.Items[0].Key, d.ResourceVersion))
		case Bookmark:
			lines = append(lines, "B "+d.ResourceVersion)
		case Resync:
			lines = append(lines, "S "+d.ResourceVersion)
		default:
			lines = append(lines, fmt.Sprintf("%s %s %s", d.Type.String()[:1], d.Object, d.ResourceVersion))
		}
	}
	return lines
}

func popAll(t *testing.T, q *Queue[string]) []string {
	t.Helper()
	batch, err := q.Pop(context.Background(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return written(batch)
}

// TestMergeRules follows the table of doc.go. MaxPending 1 merges at every delta.
func TestMergeRules(t *testing.T) {
	for _, test := range []struct {
		name      string
		ops, want []string
	}{
		{"Added, Added", []string{"A k 1", "A k 2"}, []string{"A k2 2"}},
		{"Added, Updated", []string{"A k 1", "U k 2"}, []string{"A k2 2"}},
		{"Added, Deleted", []string{"A k 1", "D k 2"}, []string{"D k2 2"}},
		{"Updated, Added", []string{"U k 1", "A k 2"}, []string{"U k2 2"}},
		{"Updated, Updated", []string{"U k 1", "U k 2"}, []string{"U k2 2"}},
		{"Updated, Deleted", []string{"U k 1", "D k 2"}, []string{"D k2 2"}},
		{"Deleted, Deleted", []string{"D k 1", "D k 2"}, []string{"D k2 2"}},
		{"Deleted, Added", []string{"D k 1", "A k 2"}, []string{"D k1 1", "A k2 2"}},
		{"Deleted, Updated", []string{"D k 1", "U k 2"}, []string{"D k1 1", "A k2 2"}},
		{"Deleted, Added, Updated", []string{"D k 1", "A k 2", "U k 3"}, []string{"D k1 1", "A k3 3"}},
		{"Deleted, Added, Deleted", []string{"D k 1", "A k 2", "D k 3"}, []string{"D k1 3"}},
		{"twice reborn", []string{"D k 1", "A k 2", "D k 3", "A k 4"}, []string{"D k1 3", "A k4 4"}},
		{"Deleted, Replaced", []string{"U x 1", "D k 2", "R k 3"}, []string{"D k2 2", "R k 3"}},
		{"Deleted, Added, Replaced", []string{"D k 1", "A k 2", "R x 3"}, []string{"D k1 1", "R x 3"}},
		{"Replaced, Replaced", []string{"D k 1", "R k 2", "D k 3", "R k 4"}, []string{"D k1 1", "R k 4"}},
		{"Replaced, Updated", []string{"R k 1", "U k 2", "U k 3"}, []string{"R k 1", "U k3 3"}},
		{"Bookmark, Bookmark", []string{"B 1", "B 2"}, []string{"B 2"}},
		{"Bookmark, Updated", []string{"B 1", "U k 2"}, []string{"U k2 2"}},
		{"Updated, Bookmark", []string{"U k 1", "B 2"}, []string{"U k1 1", "B 2"}},
		{"Bookmark, Replaced", []string{"B 1", "R k 2"}, []string{"R k 2"}},
		{"Resync, Resync", []string{"U k 1", "S", "U x 2", "S"}, []string{"U k1 1", "S 1", "U x2 2"}},
		{"Updated, Resync, Updated", []string{"U k 1", "U x 2", "S", "U k 3"}, []string{"U x2 2", "S 2", "U k3 3"}},
		{"Deleted, Resync, Added", []string{"D k 1", "S", "A k 2"}, []string{"D k1 1", "S 1", "A k2 2"}},
		{"Resync, Replaced", []string{"U k 1", "D x 2", "S", "D y 3", "R k 4"}, []string{"D x2 2", "S 2", "D y3 3", "R k 4"}},
		{"Replaced, Resync, Replaced", []string{"R k 1", "S", "R k 2", "S"}, []string{"S 1", "R k 2"}},
		{"Bookmark, Resync", []string{"B 1", "S"}, []string{"S 1"}},
		{"Resync, Bookmark", []string{"U k 1", "S", "B 2"}, []string{"U k1 1", "S 1", "B 2"}},
		{"a merged delta stands where its newest part stood",
			[]string{"U k 1", "U x 2", "U k 3"}, []string{"U x2 2", "U k3 3"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			q := New[string](Options{MaxPending: 1})
			told(q, test.ops...)
			q.mu.Lock() // the limit has doubled since the last merge
			q.merge()
			q.mu.Unlock()
			if diff := cmp.Diff(test.want, popAll(t, q)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestWhatStandsForOlderDeltasIsMarkedAsMerged(t *testing.T) {
	for _, test := range []struct {
		name      string
		ops, want []string
	}{
		{"updates", []string{"A a 1", "A b 2", "U a 3", "D c 4", "U d 5"}, []string{"a3"}},
		{"deletes", []string{"U a 1", "D b 2", "D a 3", "D c 4", "D c 5"}, []string{"a3", "c5"}},
		{"an object between deletes", []string{"D a 1", "A a 2", "D a 3", "D b 4"}, []string{"a1"}},
		{"a replacement", []string{"U a 1", "D b 2", "D a 3", "A b 4", "D c 5", "D c 6", "D b 7", "R x 8", "D y 9"}, []string{"a3", "c6"}},
		{"two replacements", []string{"D a 1", "R a 2", "D b 3", "R b 4", "D b 5"}, []string{"b3"}},
	} {
		q := New[string](Options{MaxPending: 4})
		told(q, test.ops...)
		q.merge()
		batch, err := q.Pop(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		var merged []string
		for _, d := range batch {
			if d.Merged {
				merged = append(merged, d.Object)
			}
		}
		slices.Sort(merged)
		if !slices.Equal(merged, test.want) {
			t.Errorf("%s: marked %v, want %v of %v", test.name, merged, test.want, written(batch))
		}
	}
}

func TestNothingIsMergedWhileTheConsumerKeepsUp(t *testing.T) {
	q := New[string](Options{})
	ops := []string{"A k 1", "U k 2", "U k 3", "D k 4"}
	told(q, ops...)
	want := []string{"A k1 1", "U k2 2", "U k3 3", "D k4 4"}
	if diff := cmp.Diff(want, popAll(t, q)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestASlowConsumerCostsMemoryByKeysNotByDeltas(t *testing.T) {
	q := New[string](Options{MaxPending: 10})
	for i := range 100_000 {
		told := fmt.Sprint("key-", i%20)
		q.Update(told, told, fmt.Sprint(i))
		if n := q.Len(); n > 2*(3*20+3) {
			t.Fatalf("%d deltas wait", n)
		}
	}
	if merged := q.Status().Merged; merged < 99_000 {
		t.Errorf("%d were merged", merged)
	}
}

func TestPopWaitsUntilSomethingIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New[string](Options{})
		start := time.Now()
		time.AfterFunc(time.Hour, func() { told(q, "A k 1") })
		if got := popAll(t, q); !cmp.Equal(got, []string{"A k1 1"}) {
			t.Errorf("popped %q", got)
		}
		if waited := time.Since(start); waited != time.Hour {
			t.Errorf("waited %v", waited)
		}
	})
}

func TestPopEndsWithItsContextAndTakesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New[string](Options{})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		into := make([]Delta[string], 0, 5)
		got, err := q.Pop(ctx, into)
		if !errors.Is(err, context.DeadlineExceeded) || cap(got) != cap(into) {
			t.Errorf("Pop = %v, %v", got, err)
		}
		told(q, "A k 1")
		if _, err := q.Pop(ctx, nil); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Pop with an ended context = %v", err)
		}
		if q.Len() != 1 {
			t.Errorf("%d deltas wait", q.Len())
		}
	})
}

func TestCloseDrainsThenFails(t *testing.T) {
	q := New[string](Options{})
	told(q, "A k 1")
	q.Close()
	q.Close()
	told(q, "A late 2", "R late 3")
	if got := popAll(t, q); !cmp.Equal(got, []string{"A k1 1"}) {
		t.Errorf("popped %q", got)
	}
	if _, err := q.Pop(t.Context(), nil); !errors.Is(err, ErrClosed) {
		t.Errorf("Pop = %v", err)
	}
	if !q.Status().Closed {
		t.Error("the status does not say that it is closed")
	}
}

func TestCloseWakesEveryPop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New[string](Options{})
		results := make(chan error, 3)
		for range 3 {
			go func() {
				_, err := q.Pop(t.Context(), nil)
				results <- err
			}()
		}
		synctest.Wait()
		q.Close()
		for range 3 {
			if err := <-results; !errors.Is(err, ErrClosed) {
				t.Errorf("Pop = %v", err)
			}
		}
	})
}

func TestACancelledPopDoesNotEatTheWakeUpOfAnother(t *testing.T) {
	for range 50 {
		synctest.Test(t, func(t *testing.T) {
			q := New[string](Options{})
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan struct{})
			popped := make(chan []string)
			go func() { _, _ = q.Pop(ctx, nil); close(ended) }()
			go func() { popped <- popAll(t, q) }()
			synctest.Wait()
			go cancel()
			told(q, "A k 1")
			<-ended
			synctest.Wait()
			select {
			case <-popped:
			default:
				// The one that was cancelled may have taken it just before.
				told(q, "A k 2")
				<-popped
			}
			if q.Len() != 0 {
				t.Errorf("%d deltas wait while a Pop sleeps", q.Len())
			}
		})
	}
}

func TestAResyncHasTheVersionToldBeforeItAndWakesPop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New[string](Options{})
		time.AfterFunc(time.Hour, q.Resync)
		for _, step := range []struct{ ops, want []string }{
			{nil, []string{"S "}},
			{[]string{"A k 1"}, []string{"A k1 1"}},
			{[]string{"S", "S"}, []string{"S 1"}},
			{[]string{"S", "U k 2", "S"}, []string{"S 1", "U k2 2"}},
		} {
			told(q, step.ops...)
			if diff := cmp.Diff(step.want, popAll(t, q)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		}
		q.Close()
		q.Resync()
		if q.Len() != 0 {
			t.Error("a closed queue took a Resync")
		}
	})
}

func TestStatusTellsDepthAndAge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New[string](Options{})
		if q.OldestAge() != 0 || !q.Status().OldestSince.IsZero() {
			t.Error("an empty queue has an age")
		}
		told(q, "A k 1")
		time.Sleep(time.Minute)
		told(q, "U k 2", "R k 3")
		if status := q.Status(); q.OldestAge() != time.Minute || status.Depth != 1 || status.Merged != 2 {
			t.Errorf("age %v, %+v", q.OldestAge(), status)
		}
		popAll(t, q)
		if status := q.Status(); q.OldestAge() != 0 || status.Depth != 0 {
			t.Errorf("age %v, %+v", q.OldestAge(), status)
		}
	})
}

func TestASteadyStateMakesNoGarbage(t *testing.T) {
	q := New[string](Options{MaxPending: 64})
	keys := []string{"a", "b", "c"}
	var batch []Delta[string]
	ctx := context.Background()
	round := func() {
		for i := range 200 { // merges on the way
			q.Update(keys[i%3], "object", "1")
		}
		batch, _ = q.Pop(ctx, batch)
	}
	round()
	round()
	if n := testing.AllocsPerRun(50, round); n != 0 {
		t.Errorf("%v allocations a round", n)
	}
}

func TestInvalidOptionsPanic(t *testing.T) {
	defer func() {
		if err, _ := recover().(error); !errors.Is(err, ErrInvalidOptions) {
			t.Errorf("panicked with %v", err)
		}
	}()
	New[string](Options{MaxPending: -1})
}

func TestTypesHaveNames(t *testing.T) {
	if got := fmt.Sprint(Added, Updated, Deleted, Replaced, Bookmark, Resync, DeltaType(0), DeltaType(9)); got != "Added Updated Deleted Replaced Bookmark Resync DeltaType(0) DeltaType(9)" {
		t.Error(got)
	}
}
