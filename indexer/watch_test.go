package indexer_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/listwatch/listwatch/indexer"
)

// question is a query and what it means.
type question struct {
	query indexer.Query
	about func(key string, o *object) bool
}

func (w *world) question() question {
	key, digit := w.key(), w.IntN(10)
	namespace := namespaceOf(key)
	switch w.IntN(6) {
	case 0:
		return question{indexer.Key(key), func(k string, _ *object) bool { return k == key }}
	case 1:
		prefix := key[:w.IntN(len(key))]
		return question{indexer.Prefix(prefix), func(k string, _ *object) bool { return strings.HasPrefix(k, prefix) }}
	case 2:
		return question{indexer.Namespace(namespace), func(k string, _ *object) bool { return namespaceOf(k) == namespace }}
	case 3:
		label := fmt.Sprint("label-", w.IntN(w.labels))
		return question{indexer.Is("label", label), func(_ string, o *object) bool { return !o.poison && slices.Contains(o.labels, label) }}
	case 4:
		return question{byDigit.Is(digit), func(_ string, o *object) bool { return o.version%10 == digit || o.version%7 == digit }}
	default:
		return question{indexer.Prefix(""), everything}
	}
}

func namespaceOf(key string) string {
	namespace, _, found := strings.Cut(key, "/")
	if !found {
		return ""
	}
	return namespace
}

// watched is a watch and what must be true of it.
type watched struct {
	*indexer.Watch
	questions []question
	closed    bool
}

func (w *watched) isClosed() bool {
	select {
	case <-w.Changed():
		return true
	default:
		return false
	}
}

// differ reports whether one of the answers differs in two states.
func (w *watched) differ(a, b oracle) bool {
	return slices.ContainsFunc(w.questions, func(q question) bool { return !slices.Equal(a.pairs(q.about), b.pairs(q.about)) })
}

func TestAWatchIsClosedExactlyWhenAnAnswerHasChanged(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	for _, size := range []struct{ keys, labels, perBatch int }{{15, 3, 2}, {200, 40, 3}, {200, 40, 200}} {
		w := &world{Rand: rand.New(rand.NewPCG(seed, 0)), keys: size.keys, labels: size.labels}
		x := newTyped(t, indexer.Options[*object]{})
		states, snapshots := []oracle{{}}, []*indexer.Snapshot[*object]{x.Snapshot()}
		var open []*watched
		for range 150 {
			last := states[len(states)-1]
			next := oracle{}
			changes := w.changes(w.IntN(size.perBatch+1), 0.4)
			if w.IntN(20) == 0 {
				x.Replace(changes, "")
			} else {
				next.apply(last.changes())
				x.Apply(changes, "")
			}
			next.apply(changes)
			states, snapshots = append(states, next), append(snapshots, x.Snapshot())
			for _, o := range open {
				o.closed = o.closed || o.differ(last, next)
			}
			for range w.IntN(4) {
				since := max(0, len(states)-1-w.IntN(3)*w.IntN(3))
				o := &watched{questions: []question{w.question(), w.question()}[:1+w.IntN(2)]}
				o.closed = o.differ(states[since], next)
				o.watch(t, x, snapshots[since])
				open = append(open, o)
			}
			if len(open) > 20 {
				open[0].Stop()
				open = open[1:]
			}
			for _, o := range open {
				if o.isClosed() != o.closed {
					t.Fatalf("closed is %v for %v", !o.closed, o.questions)
				}
			}
		}
	}
}

func (w *watched) watch(t *testing.T, x *indexer.Indexer[*object], since *indexer.Snapshot[*object]) {
	t.Helper()
	var queries []indexer.Query
	for _, q := range w.questions {
		queries = append(queries, q.query)
	}
	var err error
	if w.Watch, err = x.Watch(since, queries...); err != nil {
		t.Fatal(err)
	}
}

// changes makes the state from nothing.
func (o oracle) changes() (all changes) {
	for key, now := range o {
		all = append(all, indexer.Change[*object]{Key: key, Object: now})
	}
	return all
}

func TestAWatchLeavesOutWhatDoesNotChangeTheAnswer(t *testing.T) {
	x := newTyped(t, indexer.Options[*object]{})
	red := put("a/1", 1, "red")
	s := x.Apply(changes{red, put("a/2", 2, "blue")}, "1")
	w, err := x.Watch(s, indexer.Key("a/1"), indexer.Is("label", "red"), indexer.Namespace("b"), indexer.Key("a/3"), byDigit.Is(9))
	if err != nil {
		t.Fatal(err)
	}
	x.Apply(nil, "2")
	x.Apply(changes{red, gone("a/3"), put("a/2", 3, "blue")}, "3") // the same object again, and nothing to delete
	if err := x.AddIndex("parity", parityOf); err != nil {
		t.Fatal(err)
	}
	if (&watched{Watch: w}).isClosed() {
		t.Error("closed although nothing watched has changed")
	}
	x.Apply(changes{put("a/2", 4, "red")}, "4")
	if !(&watched{Watch: w}).isClosed() {
		t.Error("not closed when the index got another object")
	}
}

func TestAStoppedWatchIsNotClosed(t *testing.T) {
	x := newTyped(t, indexer.Options[*object]{})
	w, err := x.Watch(x.Snapshot(), indexer.Key("a"), indexer.Key("a"), indexer.Prefix(""))
	if err != nil {
		t.Fatal(err)
	}
	w.Stop()
	w.Stop()
	x.Apply(changes{put("a", 1)}, "1")
	if (&watched{Watch: w}).isClosed() {
		t.Error("closed after Stop")
	}
}

func TestWatchesOfUnknownIndexesAreRefusedAndOfImpossibleValuesAreNeverClosed(t *testing.T) {
	x := newLabelled(t, nil)
	for _, term := range []indexer.Term{indexer.Is("nothing", "x"), byDigit.Is(1)} {
		if _, err := x.Watch(x.Snapshot(), indexer.Key("a"), term); !errors.Is(err, indexer.ErrUnknownIndex) {
			t.Errorf("Watch = %v", err)
		}
	}
	if _, err := x.Watch(x.Snapshot(), indexer.Key("a"), nil); !errors.Is(err, indexer.ErrUnknownIndex) {
		t.Errorf("Watch of a nil query = %v", err)
	}
	if _, err := x.Snapshot().ByIndexes(nil); !errors.Is(err, indexer.ErrUnknownIndex) {
		t.Errorf("ByIndexes of a nil term = %v", err)
	}
	byFloat := indexer.NewIndex("float", func(*object) []float64 { return []float64{1} })
	if err := x.Define(byFloat); err != nil {
		t.Fatal(err)
	}
	w, err := x.Watch(x.Snapshot(), byFloat.Is(math.NaN()))
	if err != nil {
		t.Fatal(err)
	}
	x.Apply(changes{put("a", 1)}, "1")
	if (&watched{Watch: w}).isClosed() {
		t.Error("closed")
	}
	w.Stop()
}

// TestNoChangeIsMissedBetweenLookingAndWatching would hang if one were.
func TestNoChangeIsMissedBetweenLookingAndWatching(t *testing.T) {
	x := newTyped(t, indexer.Options[*object]{})
	const last = 400
	var watchers sync.WaitGroup
	for i, q := range []indexer.Query{
		indexer.Key("ns/k"), indexer.Prefix("ns/"), indexer.Namespace("ns"), indexer.Is("label", "red"),
		indexer.Prefix(""), byLabel.Is("red"),
	} {
		watchers.Go(func() {
			for {
				s := x.Snapshot()
				if o, ok := s.Get("ns/k"); ok && o.version == last {
					return
				}
				w, err := x.Watch(s, q)
				if err != nil {
					t.Error(err)
					return
				}
				<-w.Changed()
				if x.Snapshot() == s {
					t.Error("closed before the change can be seen")
				}
				if i%2 == 0 {
					w.Stop()
				}
			}
		})
	}
	for version := 1; version <= last; version++ {
		x.Apply(changes{put("ns/k", version, "red"), put("other", version)}, strconv.Itoa(version))
	}
	watchers.Wait()
}

func TestWatchingCostsNothingWhenNobodyDoes(t *testing.T) {
	x := newTyped(t, indexer.Options[*object]{})
	change := changes{put("a", 1, "red")}
	x.Apply(change, "1")
	apply := func() { x.Apply(change, "1") }
	before := testing.AllocsPerRun(100, apply)
	w, err := x.Watch(x.Snapshot(), indexer.Prefix(""))
	if err != nil {
		t.Fatal(err)
	}
	w.Stop()
	if after := testing.AllocsPerRun(100, apply); after != before {
		t.Errorf("%v allocations after a watch, %v before", after, before)
	}
}

// The writer calls index functions before it publishes and, if they are watched,
// once more after; that is where this test begins its watches.
func TestAWatchThatBeginsWhileTheWriterTellsIsClosedOnlyByLaterChanges(t *testing.T) {
	x := newLabelled(t, nil)
	var begun []*watched
	spying := false
	spy := indexer.NewIndex("spy", func(o *object) []int {
		if spying {
			w, err := x.Watch(x.Snapshot(), indexer.Key("a"))
			if err != nil {
				t.Error(err)
			}
			begun = append(begun, &watched{Watch: w, closed: x.Snapshot().ResourceVersion() == "1"})
		}
		return []int{1}
	})
	if err := x.Define(spy); err != nil {
		t.Fatal(err)
	}
	s := x.Apply(changes{put("a", 1)}, "1")
	other, err := x.Watch(s, spy.Is(2))
	if err != nil {
		t.Fatal(err)
	}
	defer other.Stop()
	spying = true
	x.Apply(changes{put("a", 2)}, "2")
	if len(begun) < 2 || begun[len(begun)-1].closed {
		t.Fatalf("%d watches begun, none after the change was published", len(begun))
	}
	for i, w := range begun {
		if w.isClosed() != w.closed {
			t.Errorf("closed is %v for watch %d", !w.closed, i)
		}
		w.Stop()
	}
}
