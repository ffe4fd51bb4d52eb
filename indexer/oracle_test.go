package indexer_test

import (
	"fmt"
	"iter"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/indexer"
)

// object is immutable, like everything in an indexer.
type object struct {
	version int
	labels  []string
	poison  bool // the index "label" panics on it
}

func labelsOf(o *object) []string {
	if o.poison {
		panic("poison")
	}
	return o.labels
}

func parityOf(o *object) []string { return []string{[]string{"even", "odd"}[o.version%2]} }

// survive is f, with no values if it panics.
func survive(f indexer.Func[*object], o *object) (values []string) {
	defer func() { _ = recover() }()
	return f(o)
}

// oracle is the dumb model: a map, and every answer computed by looking at all.
type oracle map[string]*object

func (o oracle) apply(changes []indexer.Change[*object]) {
	for _, c := range changes {
		if c.Delete {
			delete(o, c.Key)
		} else {
			o[c.Key] = c.Object
		}
	}
}

// pairs returns what satisfies keep, as "key@version" in key order.
func (o oracle) pairs(keep func(string, *object) bool) []string {
	found := []string{}
	for _, key := range slices.Sorted(maps.Keys(o)) {
		if keep(key, o[key]) {
			found = append(found, fmt.Sprintf("%s@%d", key, o[key].version))
		}
	}
	return found
}

// index returns what must be found under each value of f.
func (o oracle) index(f indexer.Func[*object]) map[string][]string {
	found := map[string][]string{}
	for _, key := range slices.Sorted(maps.Keys(o)) {
		values := slices.Clone(survive(f, o[key]))
		slices.Sort(values)
		for _, value := range slices.Compact(values) {
			found[value] = append(found[value], fmt.Sprintf("%s@%d", key, o[key].version))
		}
	}
	return found
}

// poisoned is what Errors must say.
func (o oracle) poisoned() []string {
	return o.pairs(func(_ string, object *object) bool { return object.poison })
}

func collect(seq iter.Seq2[string, *object]) []string {
	found := []string{}
	for key, object := range seq {
		found = append(found, fmt.Sprintf("%s@%d", key, object.version))
	}
	return found
}

func everything(string, *object) bool { return true }

// world is what the random tests draw from.
type world struct {
	*rand.Rand
	keys, labels int
	version      int
}

func (w *world) key() string {
	n := w.IntN(w.keys)
	switch n % 11 {
	case 0:
		return fmt.Sprintf("cluster-%d", n)
	case 1:
		return fmt.Sprintf("ns/%d", n) // a namespace that begins like others
	default:
		return fmt.Sprintf("ns-%d/%d", n%5, n)
	}
}

func (w *world) object() *object {
	w.version++
	o := &object{version: w.version, poison: w.IntN(40) == 0}
	for range w.IntN(4) {
		o.labels = append(o.labels, fmt.Sprint("label-", w.IntN(w.labels)))
	}
	return o
}

func (w *world) changes(n int, deletes float64) []indexer.Change[*object] {
	changes := make([]indexer.Change[*object], n)
	for i := range changes {
		changes[i] = indexer.Change[*object]{Key: w.key(), Object: w.object(), Delete: w.Float64() < deletes}
	}
	return changes
}

// check compares everything that a snapshot can say with the oracle.
func check(t *testing.T, s *indexer.Snapshot[*object], want oracle, funcs map[string]indexer.Func[*object]) {
	t.Helper()
	same := func(what string, got, want []string) {
		t.Helper()
		if !slices.Equal(got, want) {
			t.Fatalf("%s (-want +got):\n%s", what, cmp.Diff(want, got))
		}
	}
	all := want.pairs(everything)
	same("All", collect(s.All()), all)
	same("Keys", s.Keys(), append([]string{}, slices.Sorted(maps.Keys(want))...))
	if s.Len() != len(want) || len(s.List()) != len(want) {
		t.Fatalf("Len %d, List %d, want %d", s.Len(), len(s.List()), len(want))
	}
	for key, object := range want {
		if got, ok := s.Get(key); !ok || got != object {
			t.Fatalf("Get(%q) = %v, %t, want %v", key, got, ok, object)
		}
	}
	if _, ok := s.Get("nobody"); ok {
		t.Fatal("Get finds a key that was never there")
	}
	for _, namespace := range []string{"", "ns", "ns-0", "ns-4", "other"} {
		same("Namespace "+namespace, collect(s.Namespace(namespace)), want.pairs(func(key string, _ *object) bool {
			ns, _, found := strings.Cut(key, "/")
			return found && ns == namespace || !found && namespace == ""
		}))
	}
	checkRanges(t, s, want, same)
	for name, f := range funcs {
		values, err := s.IndexValues(name)
		if err != nil {
			t.Fatal(err)
		}
		index := want.index(f)
		same("IndexValues "+name, values, slices.Sorted(maps.Keys(index)))
		for _, value := range append(values, "nothing") {
			seq, err := s.ByIndex(name, value)
			if err != nil {
				t.Fatal(err)
			}
			same("ByIndex "+name+" "+value, collect(seq), index[value])
			if n, err := s.IndexLen(name, value); err != nil || n != len(index[value]) {
				t.Fatalf("IndexLen %s %s = %d, %v, want %d", name, value, n, err, len(index[value]))
			}
		}
	}
}

// bounds are keys, what is just before and behind them, and what is nowhere.
var bounds = []string{"", "a", "cluster-", "cluster-11", "ns", "ns-", "ns-1/", "ns-1/1", "ns-10", "ns-3/\xff", "ns/", "ns0", "\xff", "\xff\xff"}

func checkRanges(t *testing.T, s *indexer.Snapshot[*object], want oracle, same func(what string, got, want []string)) {
	t.Helper()
	for i, from := range bounds {
		same("Prefix "+from, collect(s.Prefix(from)), want.pairs(func(key string, _ *object) bool {
			return strings.HasPrefix(key, from)
		}))
		for _, to := range []string{"", bounds[(i*5+1)%len(bounds)], bounds[(i+1)%len(bounds)]} {
			same("Range "+from+" "+to, collect(s.Range(from, to)), want.pairs(func(key string, _ *object) bool {
				return key >= from && (to == "" || key < to)
			}))
		}
	}
}

func failedKeys(x *indexer.Indexer[*object], s *indexer.Snapshot[*object]) []string {
	found := []string{}
	for _, e := range x.Errors() {
		o, _ := s.Get(e.Key)
		found = append(found, fmt.Sprintf("%s@%d", e.Key, o.version))
	}
	return found
}

func TestRandomChangesAgreeWithAMapAndOldSnapshotsNeverChange(t *testing.T) {
	for _, size := range []struct{ keys, labels, batches, perBatch int }{
		{20, 4, 300, 1}, {200, 10, 100, 5}, {1000, 30, 20, 150}, {2000, 2, 15, 300}, {300, 1000, 40, 20},
	} {
		t.Run(fmt.Sprintf("%d keys %d labels", size.keys, size.labels), func(t *testing.T) {
			seed := rand.Uint64()
			t.Logf("seed %d", seed)
			w := &world{Rand: rand.New(rand.NewPCG(seed, 0)), keys: size.keys, labels: size.labels}
			randomWalk(t, w, size.batches, size.perBatch)
		})
	}
}

func randomWalk(t *testing.T, w *world, batches, perBatch int) {
	funcs := map[string]indexer.Func[*object]{"label": labelsOf}
	x, err := indexer.New(indexer.Options[*object]{Indexes: funcs})
	if err != nil {
		t.Fatal(err)
	}
	type kept struct {
		snapshot *indexer.Snapshot[*object]
		oracle   oracle
		funcs    map[string]indexer.Func[*object]
	}
	var old []kept
	now := oracle{}
	for i := range batches {
		version := fmt.Sprint(i + 1)
		changes := w.changes(1+w.IntN(perBatch), []float64{0.2, 0.5, 0.9}[w.IntN(3)])
		var s *indexer.Snapshot[*object]
		switch {
		case i%17 == 5:
			changes = w.changes(w.IntN(w.keys), 0.1)
			now = oracle{}
			s = x.Replace(changes, version)
		default:
			s = x.Apply(changes, version)
		}
		now.apply(changes)
		if s != x.Snapshot() || s.ResourceVersion() != version {
			t.Fatalf("batch %d published resourceVersion %q", i, x.Snapshot().ResourceVersion())
		}
		if i == batches/2 {
			funcs = map[string]indexer.Func[*object]{"label": labelsOf, "parity": parityOf}
			if err := x.AddIndex("parity", parityOf); err != nil {
				t.Fatal(err)
			}
			s = x.Snapshot()
		}
		if diff := cmp.Diff(now.poisoned(), failedKeys(x, s)); diff != "" {
			t.Fatalf("Errors (-want +got):\n%s", diff)
		}
		if i%5 == 0 || batches < 50 {
			check(t, s, now, funcs)
			old = append(old, kept{s, maps.Clone(now), funcs})
		}
	}
	for _, k := range old {
		check(t, k.snapshot, k.oracle, k.funcs)
	}
}
