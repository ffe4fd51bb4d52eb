package indexer_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/indexer"
)

func sameObject(a, b *object) bool { return a == b }

// differences compares two maps by looking at everything.
func (o oracle) differences(older oracle) map[string]string {
	found := map[string]string{}
	for key, old := range older {
		if now, stays := o[key]; !stays || now != old {
			found[key] = fmt.Sprintf("%p true -> %p %v", old, now, stays)
		}
	}
	for key, now := range o {
		if _, was := older[key]; !was {
			found[key] = fmt.Sprintf("%p false -> %p true", (*object)(nil), now)
		}
	}
	return found
}

func collectDifferences(t *testing.T, s, older *indexer.Snapshot[*object]) map[string]string {
	t.Helper()
	found := map[string]string{}
	for d := range s.Differences(older, sameObject) {
		if _, twice := found[d.Key]; twice {
			t.Errorf("%q is told twice", d.Key)
		}
		found[d.Key] = fmt.Sprintf("%p %v -> %p %v", d.Old, d.Was, d.New, d.Is)
	}
	return found
}

func TestDifferencesOfRandomSnapshotsAreThoseOfTwoMaps(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	for _, keys := range []int{3, 40, 3000} {
		w := &world{Rand: rand.New(rand.NewPCG(seed, 0)), keys: keys, labels: 4}
		x, err := indexer.New(indexer.Options[*object]{})
		if err != nil {
			t.Fatal(err)
		}
		snapshots, oracles := []*indexer.Snapshot[*object]{x.Snapshot()}, []oracle{{}}
		now := oracle{}
		for i := range 30 {
			changes := w.changes(1+w.IntN(2*keys), []float64{0.1, 0.5, 0.9}[w.IntN(3)])
			if i%3 == 0 {
				changes = w.changes(w.IntN(3), 0.5)
			}
			if w.IntN(8) == 0 {
				now = oracle{}
				x.Replace(changes, "")
			} else {
				x.Apply(changes, "")
			}
			now.apply(changes)
			snapshots, oracles = append(snapshots, x.Snapshot()), append(oracles, maps.Clone(now))
			for k := range 4 { // forwards, backwards, and with itself
				a, b := i+1, max(0, i+1-k*k)
				if k == 3 {
					a, b = b, a
				}
				if diff := cmp.Diff(oracles[a].differences(oracles[b]), collectDifferences(t, snapshots[a], snapshots[b])); diff != "" {
					t.Fatalf("%d keys, from batch %d to %d (-want +got):\n%s", keys, b, a, diff)
				}
			}
		}
	}
}

func TestTheEmptyKeyIsNotTakenForAFreePlace(t *testing.T) {
	x, err := indexer.New(indexer.Options[*object]{})
	if err != nil {
		t.Fatal(err)
	}
	empty, one, two := x.Snapshot(), &object{version: 1}, &object{version: 2}
	with := x.Apply([]indexer.Change[*object]{{Key: "", Object: one}, {Key: "a", Object: two}}, "1")
	without := x.Apply([]indexer.Change[*object]{{Key: "", Delete: true}}, "2")
	for _, c := range []struct {
		name       string
		now, older *indexer.Snapshot[*object]
		want       map[string]string
	}{
		{"added", with, empty, oracle{"": one, "a": two}.differences(oracle{})},
		{"deleted", without, with, oracle{"a": two}.differences(oracle{"": one, "a": two})},
	} {
		if diff := cmp.Diff(c.want, collectDifferences(t, c.now, c.older)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

// BenchmarkDifferencesOfOneChange finds one change among 100,000 objects.
func BenchmarkDifferencesOfOneChange(b *testing.B) {
	x, err := indexer.New(indexer.Options[*object]{})
	if err != nil {
		b.Fatal(err)
	}
	changes := make([]indexer.Change[*object], 100_000)
	for i := range changes {
		changes[i] = indexer.Change[*object]{Key: fmt.Sprint("key-", i), Object: &object{version: i}}
	}
	older := x.Apply(changes, "1")
	now := x.Apply([]indexer.Change[*object]{{Key: "key-4711", Object: &object{}}}, "2")
	b.ReportAllocs()
	for b.Loop() {
		n := 0
		for range now.Differences(older, sameObject) {
			n++
		}
		if n != 1 {
			b.Fatal(n, "differences, want 1")
		}
	}
}
