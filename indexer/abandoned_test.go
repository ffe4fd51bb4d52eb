package indexer_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/indexer"
)

// quitter is an index function that ends its goroutine at a call to come.
type quitter struct {
	f     indexer.Func[*object]
	after int // calls that are still answered; negative for all
}

func (q *quitter) values(o *object) []string {
	if q.after == 0 {
		runtime.Goexit()
	}
	q.after--
	return q.f(o)
}

// quits makes q end the goroutine of write after some calls, and reports whether
// it came to that.
func (q *quitter) quits(after int, write func()) (gone bool) {
	q.after = after
	done := make(chan bool, 1)
	go func() {
		returned := false
		defer func() { done <- !returned }()
		write()
		returned = true
	}()
	gone = <-done
	q.after = -1
	return gone
}

func newQuitting(t *testing.T) (*indexer.Indexer[*object], *quitter) {
	t.Helper()
	x := newLabelled(t, nil)
	q := &quitter{f: parityOf, after: -1}
	if err := x.AddIndex("parity", q.values); err != nil {
		t.Fatal(err)
	}
	return x, q
}

func TestAWriteThatIsAbandonedChangesNothingAndLetsOthersGoOn(t *testing.T) {
	for name, write := range map[string]func(*indexer.Indexer[*object], *quitter){
		"Apply": func(x *indexer.Indexer[*object], _ *quitter) {
			x.Apply(changes{gone("a"), poisoned("b", 4), put("d", 5, "green"), put("e", 6, "red")}, "2")
		},
		"Replace": func(x *indexer.Indexer[*object], _ *quitter) {
			x.Replace(changes{poisoned("a", 4), put("x", 5, "green")}, "2")
		},
		"Define": func(x *indexer.Indexer[*object], q *quitter) { _ = x.AddIndex("other", q.values) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { // where a lost token is a deadlock, which is seen
				x, q := newQuitting(t)
				want := oracle{}
				first := changes{put("a", 1, "red"), put("b", 2, "red", "blue"), poisoned("c", 3)}
				want.apply(first)
				before := x.Apply(first, "1")
				funcs := map[string]indexer.Func[*object]{"label": labelsOf, "parity": parityOf}

				if !q.quits(1, func() { write(x, q) }) {
					t.Fatal("nothing was abandoned")
				}
				if x.Snapshot() != before {
					t.Fatal("half of a batch was published")
				}
				check(t, before, want, funcs)
				if diff := cmp.Diff([]string{"c@3"}, failedKeys(x, before)); diff != "" {
					t.Errorf("Errors (-want +got):\n%s", diff)
				}

				if err := x.AddIndex("other", labelsOf); err != nil {
					t.Fatal(err)
				}
				next := changes{put("a", 7, "red"), gone("b"), put("f", 8, "blue")}
				want.apply(next)
				funcs["other"] = labelsOf
				check(t, x.Apply(next, "2"), want, funcs)
			})
		})
	}
}

func TestRandomChangesAgreeWithAMapWhicheverAreAbandoned(t *testing.T) {
	for _, size := range []struct{ keys, labels, batches, perBatch int }{{20, 4, 200, 4}, {300, 10, 60, 60}, {1000, 300, 20, 300}} {
		seed := rand.Uint64()
		t.Run(fmt.Sprintf("%d keys, seed %d", size.keys, seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := &world{Rand: rand.New(rand.NewPCG(seed, 0)), keys: size.keys, labels: size.labels}
				w.abandon(t, size.batches, size.perBatch)
			})
		})
	}
}

func (w *world) abandon(t *testing.T, batches, perBatch int) {
	x, q := newQuitting(t)
	funcs := map[string]indexer.Func[*object]{"label": labelsOf, "parity": parityOf}
	now, abandoned := oracle{}, 0
	type kept struct {
		snapshot *indexer.Snapshot[*object]
		oracle   oracle
	}
	var old []kept
	for i := range batches {
		before := x.Snapshot()
		deletes := []float64{0.2, 0.5, 0.9}[w.IntN(3)]
		if i == 1 {
			deletes = 0
		}
		changes := w.changes(1+w.IntN(perBatch), deletes)
		next := maps.Clone(now)
		write := func() { x.Apply(changes, fmt.Sprint(i)) }
		if i%9 == 4 {
			next = oracle{}
			write = func() { x.Replace(changes, fmt.Sprint(i)) }
		}
		after := -1 // the first batch goes through, the second does not
		if i == 1 {
			after = 0
		} else if i > 1 && w.IntN(2) == 0 {
			after = w.IntN(1 + len(changes)/3)
		}
		if q.quits(after, write) {
			abandoned++
			if x.Snapshot() != before {
				t.Fatalf("batch %d was published, and abandoned", i)
			}
		} else {
			next.apply(changes)
			now = next
		}
		if diff := cmp.Diff(now.poisoned(), failedKeys(x, x.Snapshot())); diff != "" {
			t.Fatalf("Errors (-want +got):\n%s", diff)
		}
		if i%5 == 0 || batches < 50 {
			check(t, x.Snapshot(), now, funcs)
			old = append(old, kept{x.Snapshot(), now})
		}
	}
	for _, k := range old {
		check(t, k.snapshot, k.oracle, funcs)
	}
	if abandoned == 0 || abandoned == batches {
		t.Errorf("%d of %d batches were abandoned", abandoned, batches)
	}
}

func TestNoWatchIsMissedByAWriterThatEndsWhileItTells(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x, q := newQuitting(t)
		s := x.Apply(changes{put("a", 2)}, "1")
		var watches []*indexer.Watch
		for _, query := range []indexer.Query{indexer.Is("parity", "odd"), indexer.Key("a")} {
			w, err := x.Watch(s, query)
			if err != nil {
				t.Fatal(err)
			}
			watches = append(watches, w)
		}
		if !q.quits(1, func() { x.Apply(changes{put("a", 3)}, "2") }) { // the second call is for the watches
			t.Fatal("nothing was abandoned")
		}
		if rv := x.Snapshot().ResourceVersion(); rv != "2" {
			t.Fatalf("resourceVersion %q", rv)
		}
		for i, w := range watches {
			select {
			case <-w.Changed():
			default:
				t.Errorf("watch %d is open", i)
			}
		}
		if got := slices.Collect(maps.Keys(maps.Collect(x.Apply(changes{put("b", 5)}, "3").All()))); len(got) != 2 {
			t.Errorf("keys are %q", got)
		}
	})
}
