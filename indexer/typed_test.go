package indexer_test

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/indexer"
)

// pair is a value of more than one part.
type pair struct {
	parity string
	digit  int
}

var errOdd = errors.New("odd")

var (
	byLabel = indexer.NewIndex("label", func(o *object) []string { return labelsOf(o) })
	byDigit = indexer.NewIndex("digit", func(o *object) []int { return []int{o.version % 10, o.version % 7} })
	byPair  = indexer.NewFallibleIndex("pair", func(o *object) ([]pair, error) {
		if o.version%9 == 0 {
			return []pair{{"lost", 0}}, errOdd
		}
		return []pair{{parityOf(o)[0], o.version % 3}}, nil
	})
)

func newTyped(t *testing.T, options indexer.Options[*object]) *indexer.Indexer[*object] {
	t.Helper()
	options.Defined = []indexer.Definition[*object]{byLabel, byDigit, byPair}
	x, err := indexer.New(options)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// terms returns a few conditions, and what they mean.
func terms(w *world) ([]indexer.Term, func(*object) bool) {
	var all []indexer.Term
	var means []func(*object) bool
	for range w.IntN(4) {
		switch label, digit := fmt.Sprint("label-", w.IntN(w.labels)), w.IntN(11); w.IntN(3) {
		case 0:
			all = append(all, indexer.Is("label", label))
			means = append(means, func(o *object) bool { return !o.poison && slices.Contains(o.labels, label) })
		case 1:
			all = append(all, byDigit.Is(digit))
			means = append(means, func(o *object) bool { return o.version%10 == digit || o.version%7 == digit })
		case 2:
			all = append(all, byPair.Is(pair{"odd", digit % 3}))
			means = append(means, func(o *object) bool {
				return o.version%9 != 0 && o.version%2 == 1 && o.version%3 == digit%3
			})
		}
	}
	return all, func(o *object) bool {
		return !slices.ContainsFunc(means, func(holds func(*object) bool) bool { return !holds(o) })
	}
}

func TestTypedIndexesAndTheirIntersectionsAgreeWithAMap(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	for _, size := range []struct{ keys, labels, batches, perBatch int }{{30, 3, 100, 3}, {2000, 5, 20, 500}} {
		w := &world{Rand: rand.New(rand.NewPCG(seed, 0)), keys: size.keys, labels: size.labels}
		x := newTyped(t, indexer.Options[*object]{})
		now := oracle{}
		for range size.batches {
			changes := w.changes(1+w.IntN(size.perBatch), 0.4)
			now.apply(changes)
			s := x.Apply(changes, "")
			for digit := range 11 {
				want := now.pairs(func(_ string, o *object) bool { return o.version%10 == digit || o.version%7 == digit })
				if diff := cmp.Diff(want, collect(byDigit.Objects(s, digit))); diff != "" {
					t.Fatalf("digit %d (-want +got):\n%s", digit, diff)
				}
				if n := byDigit.Len(s, digit); n != len(want) {
					t.Fatalf("Len(%d) = %d, want %d", digit, n, len(want))
				}
			}
			checkPairs(t, s, now)
			for range 10 {
				all, meaning := terms(w)
				got, err := s.ByIndexes(all...)
				if err != nil {
					t.Fatal(err)
				}
				want := now.pairs(func(_ string, o *object) bool { return meaning(o) })
				if diff := cmp.Diff(want, collect(got)); diff != "" {
					t.Fatalf("%v (-want +got):\n%s", all, diff)
				}
			}
		}
	}
}

func checkPairs(t *testing.T, s *indexer.Snapshot[*object], now oracle) {
	t.Helper()
	want := map[pair]bool{}
	for _, o := range now {
		if o.version%9 != 0 {
			want[pair{parityOf(o)[0], o.version % 3}] = true
		}
	}
	got := map[pair]bool{}
	for p := range byPair.Values(s) {
		if got[p] {
			t.Fatalf("%v comes twice", p)
		}
		got[p] = true
	}
	if !maps.Equal(got, want) {
		t.Fatalf("Values are %v, want %v", got, want)
	}
}

func TestAnErrorCostsOneEntryInOneIndexAndIsReported(t *testing.T) {
	var reported []*indexer.IndexError
	x := newTyped(t, indexer.Options[*object]{OnError: func(e *indexer.IndexError) { reported = append(reported, e) }})
	s := x.Apply(changes{put("a", 9, "red"), put("b", 1, "red")}, "1")
	if len(reported) != 1 || !errors.Is(reported[0], errOdd) || reported[0].Key != "a" || reported[0].Index != "pair" {
		t.Fatalf("reported %v", reported)
	}
	if got, want := reported[0].Error(), `indexer: function of index "pair" failed for "a": odd`; got != want {
		t.Errorf("the error is %q, want %q", got, want)
	}
	if n := byPair.Len(s, pair{"lost", 0}); n != 0 {
		t.Errorf("what came with the error was posted")
	}
	if diff := cmp.Diff([]string{"a@9", "b@1"}, collect(byLabel.Objects(s, "red"))); diff != "" {
		t.Errorf("the other index (-want +got):\n%s", diff)
	}
	if x.Apply(changes{put("a", 2)}, "2"); len(x.Errors()) != 0 {
		t.Errorf("errors stand: %v", x.Errors())
	}
}

func TestValuesThatNobodyCouldFindAreErrors(t *testing.T) {
	byFloat := indexer.NewIndex("float", func(o *object) []float64 { return []float64{math.Log(float64(o.version))} })
	byAny := indexer.NewIndex("any", func(o *object) []any { return []any{o.labels} })
	x, err := indexer.New(indexer.Options[*object]{Defined: []indexer.Definition[*object]{byFloat, byAny}})
	if err != nil {
		t.Fatal(err)
	}
	s := x.Apply(changes{put("a", -1, "red"), put("b", 1)}, "1")
	if n := byFloat.Len(s, 0); n != 1 {
		t.Errorf("%d objects have 0", n)
	}
	if errs := x.Errors(); len(errs) != 3 || errs[2].Index != "float" || errs[0].Panic == nil {
		t.Errorf("errors are %v", errs)
	}
	if s = x.Apply(changes{gone("a"), gone("b")}, "2"); s.Len() != 0 || len(x.Errors()) != 0 {
		t.Errorf("%d objects, errors %v", s.Len(), x.Errors())
	}
}

func TestOneDefinitionServesManyIndexersAndOnlyThoseItWasGivenTo(t *testing.T) {
	a, b := newTyped(t, indexer.Options[*object]{}), newLabelled(t, nil)
	before := b.Apply(changes{put("k", 3)}, "1")
	a.Apply(changes{put("k", 4)}, "1")
	if err := b.Define(byDigit); err != nil {
		t.Fatal(err)
	}
	if byDigit.Len(a.Snapshot(), 4) != 1 || byDigit.Len(b.Snapshot(), 3) != 1 {
		t.Error("an object is missing")
	}
	if _, err := before.ByIndexes(byDigit.Is(3)); !errors.Is(err, indexer.ErrUnknownIndex) {
		t.Errorf("ByIndexes = %v", err)
	}
	if _, err := b.Snapshot().ByIndexes(byLabel.Is("x")); !errors.Is(err, indexer.ErrUnknownIndex) {
		t.Errorf("another index of the same name was taken: %v", err)
	}
	if _, err := b.Snapshot().ByIndex("digit", "3"); !errors.Is(err, indexer.ErrUnknownIndex) {
		t.Errorf("an index of numbers answers to strings: %v", err)
	}
	if got, err := b.Snapshot().ValuesOf("digit", "k"); err != nil || !slices.Equal(got, []string{"3"}) {
		t.Errorf("ValuesOf = %q, %v", got, err)
	}
	defer func() {
		if err, _ := recover().(error); !errors.Is(err, indexer.ErrUnknownIndex) {
			t.Errorf("panicked with %v", err)
		}
	}()
	byDigit.Objects(before, 3)
}

func TestDefinitionsThatCannotBeAreRefused(t *testing.T) {
	x := newTyped(t, indexer.Options[*object]{})
	for _, try := range []struct {
		definition indexer.Definition[*object]
		want       error
	}{
		{nil, indexer.ErrInvalidIndex},
		{(*indexer.Index[*object, int])(nil), indexer.ErrInvalidIndex},
		{indexer.NewIndex[*object, int]("nil", nil), indexer.ErrInvalidIndex},
		{indexer.NewFallibleIndex[*object, int]("nil", nil), indexer.ErrInvalidIndex},
		{indexer.NewIndex("", parityOf), indexer.ErrInvalidIndex},
		{indexer.NewIndex("digit", parityOf), indexer.ErrIndexExists},
		{byDigit, indexer.ErrIndexExists},
	} {
		if err := x.Define(try.definition); !errors.Is(err, try.want) {
			t.Errorf("Define(%v) = %v, want %v", try.definition, err, try.want)
		}
	}
	if _, err := indexer.New(indexer.Options[*object]{
		Indexes: map[string]indexer.Func[*object]{"digit": parityOf}, Defined: []indexer.Definition[*object]{byDigit},
	}); !errors.Is(err, indexer.ErrIndexExists) {
		t.Errorf("New = %v", err)
	}
}
