package indexer_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/indexer"
)

func newLabelled(t *testing.T, onError func(*indexer.IndexError)) *indexer.Indexer[*object] {
	t.Helper()
	x, err := indexer.New(indexer.Options[*object]{
		Indexes: map[string]indexer.Func[*object]{"label": labelsOf},
		OnError: onError,
	})
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func put(key string, version int, labels ...string) indexer.Change[*object] {
	return indexer.Change[*object]{Key: key, Object: &object{version: version, labels: labels}}
}

func poisoned(key string, version int) indexer.Change[*object] {
	return indexer.Change[*object]{Key: key, Object: &object{version: version, poison: true}}
}

func gone(key string) indexer.Change[*object] {
	return indexer.Change[*object]{Key: key, Delete: true}
}

type changes = []indexer.Change[*object]

func under(t *testing.T, s *indexer.Snapshot[*object], index, value string) []string {
	t.Helper()
	seq, err := s.ByIndex(index, value)
	if err != nil {
		t.Fatal(err)
	}
	return collect(seq)
}

// TestDeletesFoundByARelistLeaveEveryIndex is fabric8#2994.
func TestDeletesFoundByARelistLeaveEveryIndex(t *testing.T) {
	x := newLabelled(t, nil)
	if err := x.AddIndex("parity", parityOf); err != nil {
		t.Fatal(err)
	}
	x.Apply(changes{put("a/1", 1, "red", "blue"), put("a/2", 2, "red"), put("a/3", 3, "blue")}, "3")
	s := x.Replace(changes{put("a/2", 2, "red")}, "9")
	check(t, s, oracle{"a/2": mustGet(t, s, "a/2")}, map[string]indexer.Func[*object]{"label": labelsOf, "parity": parityOf})
}

func TestAnIndexTellsWhatItWouldHaveOfAnyObject(t *testing.T) {
	x := newLabelled(t, nil)
	if err := x.Define(indexer.NewIndex("length", func(o *object) []int { return []int{len(o.labels)} })); err != nil {
		t.Fatal(err)
	}
	s := x.Apply(changes{put("a/1", 1, "red")}, "1")
	for value, want := range map[string]bool{"blue": true, "green": true, "red": false} {
		if got, err := s.Matches("label", value, put("a/1", 2, "blue", "green").Object); err != nil || got != want {
			t.Errorf("%s: %v, %v", value, got, err)
		}
	}
	if got, err := s.Matches("label", "red", poisoned("a/2", 1).Object); got || err != nil {
		t.Errorf("an object that the function fails for: %v, %v", got, err)
	}
	for _, name := range []string{"size", "length"} {
		if _, err := s.Matches(name, "1", mustGet(t, s, "a/1")); !errors.Is(err, indexer.ErrUnknownIndex) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func mustGet(t *testing.T, s *indexer.Snapshot[*object], key string) *object {
	t.Helper()
	o, ok := s.Get(key)
	if !ok {
		t.Fatalf("%q is missing", key)
	}
	return o
}

func TestStaleEntriesGoEvenIfTheFunctionChangesItsMind(t *testing.T) {
	answer := "before"
	x, err := indexer.New(indexer.Options[*object]{Indexes: map[string]indexer.Func[*object]{
		"fickle": func(*object) []string { return []string{answer} },
	}})
	if err != nil {
		t.Fatal(err)
	}
	x.Apply(changes{put("a", 1), put("b", 2)}, "1")
	answer = "after"
	s := x.Apply(changes{put("a", 3), gone("b")}, "2")
	if diff := cmp.Diff([]string{"a@3"}, under(t, s, "fickle", "after")); diff != "" {
		t.Error(diff)
	}
	if values, _ := s.IndexValues("fickle"); !cmp.Equal(values, []string{"after"}) {
		t.Errorf("values are %q", values)
	}
}

func TestAPanicCostsOneEntryInOneIndexAndIsReported(t *testing.T) {
	var reported []string
	x := newLabelled(t, func(e *indexer.IndexError) { reported = append(reported, e.Error()) })
	if err := x.AddIndex("parity", parityOf); err != nil {
		t.Fatal(err)
	}
	x.Apply(changes{put("a", 2, "red"), put("b", 4, "red")}, "1")
	s := x.Apply(changes{poisoned("a", 6), put("c", 8, "red")}, "2")

	for _, want := range []struct {
		index, value string
		keys         []string
	}{
		{"label", "red", []string{"b@4", "c@8"}},
		{"parity", "even", []string{"a@6", "b@4", "c@8"}},
	} {
		if diff := cmp.Diff(want.keys, under(t, s, want.index, want.value)); diff != "" {
			t.Errorf("%s %s (-want +got):\n%s", want.index, want.value, diff)
		}
	}
	want := []string{`indexer: function of index "label" panicked for "a": poison`}
	if diff := cmp.Diff(want, reported); diff != "" {
		t.Errorf("reported (-want +got):\n%s", diff)
	}
	if n := len(x.Errors()); n != 1 {
		t.Errorf("%d errors stand, want 1", n)
	}
}

func TestAnIndexErrorStandsUntilItsObjectChangesOrGoes(t *testing.T) {
	for name, cure := range map[string]func(x *indexer.Indexer[*object]){
		"changed":  func(x *indexer.Indexer[*object]) { x.Apply(changes{put("a", 2, "red")}, "2") },
		"deleted":  func(x *indexer.Indexer[*object]) { x.Apply(changes{gone("a")}, "2") },
		"replaced": func(x *indexer.Indexer[*object]) { x.Replace(changes{put("a", 2, "red")}, "2") },
	} {
		t.Run(name, func(t *testing.T) {
			x := newLabelled(t, nil)
			x.Apply(changes{poisoned("a", 1)}, "1")
			if n := len(x.Errors()); n != 1 {
				t.Fatalf("%d errors stand, want 1", n)
			}
			cure(x)
			if errs := x.Errors(); len(errs) != 0 {
				t.Fatalf("errors stand: %v", errs)
			}
		})
	}
}

func TestAPanicWithAnErrorCanBeUnwrapped(t *testing.T) {
	cause := errors.New("cause")
	x := newLabelled(t, nil)
	x.Apply(changes{put("a", 1)}, "1")
	if err := x.AddIndex("bad", func(*object) []string { panic(fmt.Errorf("wrapped: %w", cause)) }); err != nil {
		t.Fatal(err)
	}
	errs := x.Errors()
	if len(errs) != 1 || !errors.Is(errs[0], cause) {
		t.Fatalf("errors are %v", errs)
	}
}

func TestIndexesThatCannotBeAreRefused(t *testing.T) {
	x := newLabelled(t, nil)
	for _, try := range []struct {
		name string
		f    indexer.Func[*object]
		want error
	}{
		{"", parityOf, indexer.ErrInvalidIndex},
		{"nil", nil, indexer.ErrInvalidIndex},
		{"label", parityOf, indexer.ErrIndexExists},
	} {
		if err := x.AddIndex(try.name, try.f); !errors.Is(err, try.want) {
			t.Errorf("AddIndex(%q) = %v, want %v", try.name, err, try.want)
		}
	}
	if _, err := indexer.New(indexer.Options[int]{Indexes: map[string]indexer.Func[int]{"x": nil}}); !errors.Is(err, indexer.ErrInvalidIndex) {
		t.Errorf("New = %v", err)
	}
	s := x.Apply(changes{put("a", 1)}, "1") // the refusals left the writer free
	if _, err := s.ByIndex("other", "x"); !errors.Is(err, indexer.ErrUnknownIndex) {
		t.Errorf("ByIndex = %v", err)
	}
	if _, err := s.IndexValues("other"); !errors.Is(err, indexer.ErrUnknownIndex) {
		t.Errorf("IndexValues = %v", err)
	}
}

func TestAddIndexPublishesWithoutTouchingEarlierSnapshots(t *testing.T) {
	x := newLabelled(t, nil)
	before := x.Apply(changes{put("a", 1), put("b", 2)}, "7")
	if err := x.AddIndex("parity", parityOf); err != nil {
		t.Fatal(err)
	}
	after := x.Snapshot()
	if rv := after.ResourceVersion(); rv != "7" {
		t.Errorf("resourceVersion %q", rv)
	}
	if diff := cmp.Diff([]string{"a@1"}, under(t, after, "parity", "odd")); diff != "" {
		t.Error(diff)
	}
	if _, err := before.ByIndex("parity", "odd"); !errors.Is(err, indexer.ErrUnknownIndex) {
		t.Errorf("the earlier snapshot has the index: %v", err)
	}
}

func TestIteratorsStopWhenAskedTo(t *testing.T) {
	x := newLabelled(t, nil)
	var items changes
	for i := range 1000 {
		items = append(items, put(fmt.Sprintf("ns/%03d", i), i, "red"), put(fmt.Sprintf("cluster%03d", i), i))
	}
	s := x.Replace(items, "1")
	red, err := s.ByIndex("label", "red")
	if err != nil {
		t.Fatal(err)
	}
	for name, seq := range map[string]func(func(string, *object) bool){
		"All": s.All(), "Namespace": s.Namespace("ns"), "cluster": s.Namespace(""), "ByIndex": red,
	} {
		n := 0
		for range seq {
			if n++; n == 300 {
				break
			}
		}
		if n != 300 {
			t.Errorf("%s yielded %d", name, n)
		}
	}
}
