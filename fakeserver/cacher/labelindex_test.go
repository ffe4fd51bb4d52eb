package cacher

import (
	"math/rand/v2"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/labels"
	operators "k8s.io/apimachinery/pkg/selection"
)

func mustRequire(t *testing.T, values []string) labels.Selector {
	required, err := labels.NewRequirement("x", operators.In, values)
	if err != nil {
		t.Fatal(err)
	}
	return labels.NewSelector().Add(*required)
}

func TestTheLabelIndexUsesTheRequirementWithTheFewestValues(t *testing.T) {
	many := make([]string, mostIndexed+1)
	for i := range many {
		many[i] = string(rune('a' + i))
	}
	for _, c := range []struct {
		selector labels.Selector
		key      string // "" of a selector that is not indexed
		values   []string
	}{
		{nil, "", nil},
		{labels.Everything(), "", nil},
		{labels.Nothing(), "", nil},
		{parse(t, "x"), "", nil},
		{parse(t, "!x"), "", nil},
		{parse(t, "x!=1"), "", nil},
		{parse(t, "x notin (1,2)"), "", nil},
		{parse(t, "x=1"), "x", []string{"1"}},
		{parse(t, "x in (2,1)"), "x", []string{"1", "2"}},
		{parse(t, "x in (2,1),y,z==3,w!=1"), "z", []string{"3"}},
		{mustRequire(t, []string{"1", "1"}), "x", []string{"1"}},
		{mustRequire(t, many), "", nil},
		{mustRequire(t, many[1:]), "x", many[1:]},
	} {
		got := requiredLabelOf(c.selector)
		if got == nil {
			got = &requiredLabel{}
		}
		if got.key != c.key || !slices.Equal(got.values, c.values) || len(got.slots) != len(c.values) {
			t.Errorf("%v: %+v", c.selector, got)
		}
	}
}

func parse(t *testing.T, text string) labels.Selector {
	t.Helper()
	selector, err := labels.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return selector
}

// someLabels are of few keys and values, so that selectors meet them.
func someLabels(random *rand.Rand) labels.Set {
	set := labels.Set{}
	for _, key := range []string{"x", "y"} {
		if value := random.IntN(4); value < 3 {
			set[key] = []string{"", "1", "2"}[value]
		}
	}
	return set
}

func TestAChangeIsShownOnceToEveryWatcherWhoseSelectorSeesIt(t *testing.T) {
	texts := []string{"", "x", "!x", "x=", "x=1", "x in (1,2)", "x in (,1)", "x notin (1)", "x=1,y=2", "y in (1,2),x", "z=1", "x=1,x=2"}
	for seed := range uint64(30) {
		random := rand.New(rand.NewPCG(seed, 0))
		registry := newRegistry(&Options{})
		var open []*Watcher
		want := map[*Watcher]int{}
		for seq := range uint64(300) {
			switch random.IntN(4) {
			case 0:
				w := &Watcher{slot: -1, limit: 1 << 30, predicate: Predicate{Labels: parse(t, texts[random.IntN(len(texts))])}}
				w.label = requiredLabelOf(w.predicate.Labels)
				registry.add(w)
				open = append(open, w)
			case 1:
				if n := len(open); n > 0 {
					i := random.IntN(n)
					registry.end(open[i])
					open = slices.Delete(open, i, i+1)
				}
			}
			added := &change{seq: seq, rv: seq + 1}
			kind := random.IntN(4)
			if kind != 0 {
				added.prev = &Item{Name: "a", Labels: someLabels(random)}
			}
			if kind != 1 {
				added.next = &Item{Name: "a", Labels: someLabels(random)}
			}
			for _, w := range open {
				if w.predicate.transition(added.prev, added.next) != "" {
					want[w]++
				}
			}
			registry.dispatch(added)
			for _, w := range open {
				if got := w.predicate.sees(added); got != w.predicate.transition(added.prev, added.next) {
					t.Fatalf("seed %d, %d: %v sees %q", seed, seq, w.predicate.Labels, got)
				}
				if w.pending != want[w] {
					t.Fatalf("seed %d, %d: %v was shown %d, want %d", seed, seq, w.predicate.Labels, w.pending, want[w])
				}
			}
		}
		if ended := registry.endAll(); len(ended) != len(open) || len(registry.scopes) != 0 || registry.count != 0 {
			t.Errorf("seed %d: endAll ended %d of %d, left %d", seed, len(ended), len(open), registry.count)
		}
	}
}
