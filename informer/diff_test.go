package informer

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/deltafifo"
)

// tableView is a view over a map.
type tableView map[string]*thing

func (v tableView) Get(key string) (*thing, bool) { obj, ok := v[key]; return obj, ok }
func (v tableView) Len() int                      { return len(v) }
func (v tableView) ResourceVersion() string       { return "" }
func (v tableView) All() iter.Seq2[string, *thing] {
	return func(yield func(string, *thing) bool) {
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if !yield(key, v[key]) {
				return
			}
		}
	}
}

func viewOf(objects ...*thing) tableView {
	v := tableView{}
	for _, obj := range objects {
		v[keyOf(obj)] = obj
	}
	return v
}

// after is v with the changes of out applied.
func (v tableView) after(out outcome[*thing]) tableView {
	next := maps.Clone(v)
	for _, change := range out.changes {
		if change.Delete {
			delete(next, change.Key)
		} else {
			next[change.Key] = change.Object
		}
	}
	return next
}

type deltas = []deltafifo.Delta[*thing]

func delta(kind deltafifo.DeltaType, obj *thing) deltafifo.Delta[*thing] {
	return deltafifo.Delta[*thing]{Type: kind, Key: keyOf(obj), Object: obj, ResourceVersion: obj.ResourceVersion}
}

func replaced(resourceVersion string, objects ...*thing) deltafifo.Delta[*thing] {
	r := &deltafifo.Replacement[*thing]{ResourceVersion: resourceVersion}
	for _, obj := range objects {
		r.Items = append(r.Items, deltafifo.Item[*thing]{Key: keyOf(obj), Object: obj})
	}
	return deltafifo.Delta[*thing]{Type: deltafifo.Replaced, ResourceVersion: resourceVersion, Replacement: r}
}

type diffCase struct {
	base    tableView
	deltas  deltas
	initial bool
	want    []string
	cache   tableView
	rv      string
}

var (
	a1, a2  = newThing("a", "u1", 1), newThing("a", "u1", 2)
	again   = newThing("a", "u2", 3) // the same name, another object
	b1      = newThing("b", "u3", 1)
	unknown = deltafifo.Delta[*thing]{
		Type: deltafifo.Replaced, ResourceVersion: "9",
		Replacement: &deltafifo.Replacement[*thing]{Items: []deltafifo.Item[*thing]{{Key: "a"}}},
	}
)

var diffCases = map[string]diffCase{
	"an added object is added": {
		deltas: deltas{delta(deltafifo.Added, a1)},
		want:   []string{"add a:u1@1"}, cache: viewOf(a1), rv: "1",
	},
	"an added object that is known is an update": {
		base: viewOf(a1), deltas: deltas{delta(deltafifo.Added, a2)},
		want: []string{"update a:u1@1 -> a:u1@2"}, cache: viewOf(a2), rv: "2",
	},
	"an updated object that is unknown is an add": {
		deltas: deltas{delta(deltafifo.Updated, a2)},
		want:   []string{"add a:u1@2"}, cache: viewOf(a2), rv: "2",
	},
	"an update with another UID is delete, then add": {
		base: viewOf(a1), deltas: deltas{delta(deltafifo.Updated, again)},
		want: []string{"delete a:u1@1", "add a:u2@3"}, cache: viewOf(again), rv: "3",
	},
	"a deletion is exact and has the state that the server sent": {
		base: viewOf(a1), deltas: deltas{delta(deltafifo.Deleted, a2)},
		want: []string{"delete a:u1@2 exact"}, cache: viewOf(), rv: "2",
	},
	"a deletion of another object than the cached one is not exact": {
		base: viewOf(a1), deltas: deltas{delta(deltafifo.Deleted, again)},
		want: []string{"delete a:u1@1"}, cache: viewOf(), rv: "3",
	},
	"a deletion without a state is exact and has the cached state": {
		base:   viewOf(a1),
		deltas: deltas{{Type: deltafifo.Deleted, Key: "a", ResourceVersion: "2"}},
		want:   []string{"delete a:u1@1 exact"}, cache: viewOf(), rv: "2",
	},
	"unless it stands for others, whose states nobody has seen": {
		base:   viewOf(a1),
		deltas: deltas{{Type: deltafifo.Deleted, Key: "a", ResourceVersion: "2", Merged: true}},
		want:   []string{"delete a:u1@1"}, cache: viewOf(), rv: "2",
	},
	"a deletion with a state is exact whatever it stands for": {
		base:   viewOf(a1),
		deltas: deltas{{Type: deltafifo.Deleted, Key: "a", Object: a2, ResourceVersion: "2", Merged: true}},
		want:   []string{"delete a:u1@2 exact"}, cache: viewOf(), rv: "2",
	},
	"a deletion of an unknown object moves the resourceVersion only": {
		base: viewOf(b1), deltas: deltas{delta(deltafifo.Deleted, a2)},
		cache: viewOf(b1), rv: "2",
	},
	"a bookmark moves the resourceVersion only": {
		base:   viewOf(b1),
		deltas: deltas{{Type: deltafifo.Bookmark, ResourceVersion: "7"}},
		cache:  viewOf(b1), rv: "7",
	},
	"the deltas of one batch see each other": {
		deltas: deltas{delta(deltafifo.Added, a1), delta(deltafifo.Updated, a2), delta(deltafifo.Deleted, a2), delta(deltafifo.Added, again)},
		want:   []string{"add a:u1@1", "update a:u1@1 -> a:u1@2", "delete a:u1@2 exact", "add a:u2@3"},
		cache:  viewOf(again), rv: "3",
	},
	"a replacement of nothing is all adds": {
		deltas: deltas{replaced("9", b1, a1)}, initial: true,
		want: []string{"initial b:u3@1", "initial a:u1@1"}, cache: viewOf(a1, b1), rv: "9",
	},
	"a replacement with unchanged objects keeps the cached ones in silence": {
		base: viewOf(a1, b1), deltas: deltas{replaced("9", a1.DeepCopy(), b1.DeepCopy())},
		cache: viewOf(a1, b1), rv: "9",
	},
	"a replacement with a newer version is an update": {
		base: viewOf(a1, b1), deltas: deltas{replaced("9", a2, b1)},
		want: []string{"update a:u1@1 -> a:u1@2"}, cache: viewOf(a2, b1), rv: "9",
	},
	"a replacement with another UID is delete, then add": {
		base: viewOf(a1, b1), deltas: deltas{replaced("9", again, b1)},
		want: []string{"delete a:u1@1", "add a:u2@3"}, cache: viewOf(again, b1), rv: "9",
	},
	"what a replacement lacks is deleted first, not exactly": {
		base: viewOf(b1), deltas: deltas{replaced("9", a1)},
		want: []string{"delete b:u3@1", "add a:u1@1"}, cache: viewOf(a1), rv: "9",
	},
	"of two items of a replacement with one key the last counts": {
		deltas: deltas{replaced("9", a1, b1, a2)},
		want:   []string{"add b:u3@1", "add a:u1@2"}, cache: viewOf(a2, b1), rv: "9",
	},
	"an item without an object keeps the cached one": {
		base: viewOf(a1, b1), deltas: deltas{unknown},
		want: []string{"delete b:u3@1"}, cache: viewOf(a1), rv: "9",
	},
	"a delete in front of a replacement that has the key is delete, then add (kubernetes#83810)": {
		base: viewOf(a1), deltas: deltas{delta(deltafifo.Deleted, a2), replaced("9", again)},
		want: []string{"delete a:u1@2 exact", "add a:u2@3"}, cache: viewOf(again), rv: "9",
	},
	"a replacement sees the deltas before it, and those after it see the replacement": {
		base:    viewOf(b1),
		deltas:  deltas{delta(deltafifo.Added, a1), replaced("9", b1), delta(deltafifo.Added, again)},
		initial: true,
		want:    []string{"initial a:u1@1", "delete a:u1@1", "add a:u2@3"}, cache: viewOf(again, b1), rv: "9",
	},
	"an event of an older version changes its object, not the collection's version": {
		deltas: deltas{delta(deltafifo.Added, again), delta(deltafifo.Added, b1)},
		want:   []string{"add a:u2@3", "add b:u3@1"}, cache: viewOf(again, b1), rv: "3",
	},
	"a replacement of an older version goes back": {
		base: viewOf(b1), deltas: deltas{delta(deltafifo.Deleted, again), replaced("2", a1)},
		want: []string{"delete b:u3@1", "add a:u1@1"}, cache: viewOf(a1), rv: "2",
	},
	"two replacements in one batch are compared with each other": {
		deltas: deltas{replaced("8", a1, b1), replaced("9", a2)}, initial: true,
		want:  []string{"initial a:u1@1", "initial b:u3@1", "delete b:u3@1", "update a:u1@1 -> a:u1@2"},
		cache: viewOf(a2), rv: "9",
	},
}

func TestDiffTellsHandlersWhatChangedInTheCache(t *testing.T) {
	for name, test := range diffCases {
		t.Run(name, func(t *testing.T) {
			var d differ[*thing]
			out := d.diff(test.base, test.deltas, test.initial)
			var got []string
			for _, n := range out.notices {
				got = append(got, n.String())
			}
			if diff := gocmp.Diff(test.want, got); diff != "" {
				t.Errorf("notices (-want +got):\n%s", diff)
			}
			if test.base == nil {
				test.base = viewOf()
			}
			if diff := gocmp.Diff(test.cache, test.base.after(out)); diff != "" {
				t.Errorf("cache (-want +got):\n%s", diff)
			}
			if out.resourceVersion != test.rv {
				t.Errorf("resourceVersion %q, want %q", out.resourceVersion, test.rv)
			}
		})
	}
}

// versioned is a view at a version.
type versioned struct {
	tableView
	version string
}

func (v versioned) ResourceVersion() string { return v.version }

// kubernetes#107457: after the restore of a backup, versions are given again.
func TestDiffTrustsNoVersionAfterTheServersHistoryWasRewound(t *testing.T) {
	other := a2.DeepCopy()
	for name, test := range map[string]struct {
		at      string
		listed  *thing
		known   bool // that the history went back
		changed bool
	}{
		"a list that is not older":      {"9", other, false, false},
		"an older list":                 {"10", other, false, true},
		"a list that has overtaken":     {"8", other, true, true},
		"the cached object itself":      {"10", a2, false, false},
		"the cached object, in a newer": {"8", a2, true, false},
	} {
		list := replaced("9", test.listed)
		list.Replacement.Rewound = test.known
		var d differ[*thing]
		out := d.diff(versioned{viewOf(a2), test.at}, deltas{list}, false)
		if changed := len(out.changes) == 1 && len(out.notices) == 1; changed != test.changed {
			t.Errorf("%s: changed %v, want %v", name, changed, test.changed)
		}
		if out.resourceVersion != "9" {
			t.Errorf("%s: at %q", name, out.resourceVersion)
		}
	}
}

func TestDiffTreatsObjectsWithoutResourceVersionAsChanged(t *testing.T) {
	bare := func() *thing { obj := newThing("a", "", 0); obj.ResourceVersion = ""; return obj }
	old, obj := bare(), bare()
	var d differ[*thing]
	out := d.diff(viewOf(old), deltas{replaced("9", obj)}, false)
	if len(out.notices) != 1 || out.notices[0].kind != noticeUpdate {
		t.Errorf("got %v, want one update", out.notices)
	}
}

func TestDiffKeepsTheCachedObjectOfAnUnchangedItem(t *testing.T) {
	cached := newThing("a", "u1", 1)
	var d differ[*thing]
	out := d.diff(viewOf(cached), deltas{replaced("9", cached.DeepCopy())}, false)
	if len(out.changes) != 0 {
		t.Errorf("%d changes of the index, want none", len(out.changes))
	}
}

// TestDiffOfRandomBatchesEqualsApplyingTheirDeltas compares with the dumbest
// possible reading of a batch.
func TestDiffOfRandomBatchesEqualsApplyingTheirDeltas(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 0))
	var d differ[*thing]
	cache := viewOf()
	version := int64(0)
	for round := range 3000 {
		want := maps.Clone(cache)
		var batch deltas
		for range 1 + rnd.IntN(6) {
			version++
			obj := newThing(string(rune('a'+rnd.IntN(5))), fmt.Sprint("u", rnd.IntN(2)), version)
			switch rnd.IntN(5) {
			case 0, 1:
				batch = append(batch, delta(deltafifo.Updated, obj))
				want[keyOf(obj)] = obj
			case 2, 3:
				batch = append(batch, delta(deltafifo.Deleted, obj))
				delete(want, keyOf(obj))
			default:
				keep := slices.Collect(maps.Values(want))
				keep = append(keep[:rnd.IntN(len(keep)+1)], obj)
				if rnd.IntN(2) == 0 { // as servers do
					slices.SortFunc(keep, func(a, b *thing) int { return cmp.Compare(a.Name, b.Name) })
				}
				batch = append(batch, replaced(obj.ResourceVersion, keep...))
				want = viewOf(keep...)
			}
		}
		out := d.diff(cache, batch, false)
		told := maps.Clone(cache)
		for _, n := range out.notices {
			if problem := told.observe(n); problem != "" {
				t.Fatalf("round %d: %s, in %v", round, problem, out.notices)
			}
		}
		if diff := gocmp.Diff(want, told); diff != "" {
			t.Fatalf("round %d: told (-want +got):\n%s", round, diff)
		}
		cache = cache.after(out)
		if diff := gocmp.Diff(want, cache); diff != "" {
			t.Fatalf("round %d: cache (-want +got):\n%s", round, diff)
		}
	}
}

// observe applies a notice to what a handler knows, and says what is wrong with it.
func (v tableView) observe(n notice[*thing]) string {
	key := n.key
	if n.kind != noticeDelete {
		key = keyOf(n.obj)
	}
	old, known := v[key]
	switch {
	case n.kind == noticeAdd && known:
		return "add of a known object: " + n.String()
	case n.kind != noticeAdd && !known:
		return "not known: " + n.String()
	case n.kind == noticeUpdate && n.old != old:
		return "the old object is " + show(old) + ": " + n.String()
	case known && n.kind != noticeAdd && n.obj.UID != old.UID:
		return "another UID than " + show(old) + ": " + n.String()
	}
	if n.kind == noticeDelete {
		delete(v, key)
	} else {
		v[key] = n.obj
	}
	return ""
}
