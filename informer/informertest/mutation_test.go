package informertest

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/watch"
)

// mutation plants one fault in a legal trace. It returns nil if this trace has
// no place for it. caught are the rules that may find it.
type mutation struct {
	plant  func(h *History, trace []Entry, rnd *rand.Rand) []Entry
	caught []Rule
}

// pick returns the index of a random entry that fits, -1 if there is none.
func pick(trace []Entry, rnd *rand.Rand, fits func(i int, e Entry) bool) int {
	var fitting []int
	for i, e := range trace {
		if fits(i, e) {
			fitting = append(fitting, i)
		}
	}
	if len(fitting) == 0 {
		return -1
	}
	return fitting[rnd.IntN(len(fitting))]
}

func isKind(kind Kind) func(int, Entry) bool {
	return func(_ int, e Entry) bool { return e.Kind == kind }
}

// drop removes a random entry that fits.
func drop(fits func(int, Entry) bool) func(*History, []Entry, *rand.Rand) []Entry {
	return func(_ *History, trace []Entry, rnd *rand.Rand) []Entry {
		i := pick(trace, rnd, fits)
		if i < 0 {
			return nil
		}
		return slices.Delete(trace, i, i+1)
	}
}

// alter changes a random entry of a kind.
func alter(kind Kind, change func(h *History, e *Entry, rnd *rand.Rand) bool) func(*History, []Entry, *rand.Rand) []Entry {
	return func(h *History, trace []Entry, rnd *rand.Rand) []Entry {
		i := pick(trace, rnd, isKind(kind))
		if i < 0 || !change(h, &trace[i], rnd) {
			return nil
		}
		return trace
	}
}

// insertAfter puts what change makes of a random entry of a kind somewhere after it.
func insertAfter(kind Kind, change func(h *History, e Entry) (Entry, bool)) func(*History, []Entry, *rand.Rand) []Entry {
	return func(h *History, trace []Entry, rnd *rand.Rand) []Entry {
		i := pick(trace, rnd, isKind(kind))
		if i < 0 {
			return nil
		}
		e, ok := change(h, trace[i])
		if !ok {
			return nil
		}
		e.Initial = e.Initial && !slices.ContainsFunc(trace[:i+1], func(e Entry) bool { return e.Kind == SyncMark })
		return slices.Insert(trace, i+1, e)
	}
}

// lastOf returns the last change of a key up to a resourceVersion that deleted
// nothing.
func before(h *History, key string, resourceVersion uint64) (Version, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	c, exists := h.at(key, resourceVersion-1)
	return c.Version, exists
}

var mutations = map[string]mutation{
	"a dropped delete": {drop(isKind(DeleteCall)), []Rule{DuplicateAdd, Lost, WrongOld, MixedLives, EarlySync}},
	"a dropped add":    {drop(isKind(AddCall)), []Rule{Unknown, Lost, EarlySync}},
	"a dropped update": {func(_ *History, trace []Entry, rnd *rand.Rand) []Entry {
		i := pick(trace, rnd, func(i int, e Entry) bool {
			next := slices.IndexFunc(trace[i+1:], func(next Entry) bool { return next.isCall() && next.Key == e.Key })
			return e.Kind == UpdateCall && (next < 0 || !trace[i+1+next].Exact) // before its deletion it may be skipped
		})
		if i < 0 {
			return nil
		}
		return slices.Delete(trace, i, i+1)
	}, []Rule{WrongOld, Lost, WrongLast}},
	"two calls swapped": {func(_ *History, trace []Entry, rnd *rand.Rand) []Entry {
		i := pick(trace, rnd, func(_ int, e Entry) bool { return e.isCall() })
		if i < 0 {
			return nil
		}
		j := slices.IndexFunc(trace[i+1:], func(e Entry) bool { return e.isCall() && e.Key == trace[i].Key })
		if j < 0 {
			return nil
		}
		trace[i], trace[i+1+j] = trace[i+1+j], trace[i]
		return trace
	}, []Rule{WrongOld, Backwards, Unknown, Resurrection, DuplicateAdd, MixedLives, WrongLast, WrongInitial, SnapshotLate, Lost, EarlySync}},
	"a snapshot of a version too new": {alter(SnapshotRead, func(h *History, e *Entry, _ *rand.Rand) bool {
		for _, c := range h.Changes() {
			if c.Version.ResourceVersion > e.ResourceVersion && e.ResourceVersion > 0 {
				e.ResourceVersion = c.Version.ResourceVersion
				return true
			}
		}
		return false
	}), []Rule{WrongSnapshot}},
	"a stale snapshot": {alter(SnapshotRead, func(h *History, e *Entry, _ *rand.Rand) bool {
		for _, c := range slices.Backward(h.Changes()) {
			if c.Version.ResourceVersion <= e.ResourceVersion {
				e.Objects = h.At(c.Version.ResourceVersion - 1)
				return true
			}
		}
		return false
	}), []Rule{WrongSnapshot}},
	"a reader taken back": {func(_ *History, trace []Entry, rnd *rand.Rand) []Entry {
		newest := uint64(0)
		for _, e := range trace {
			if e.Kind == SnapshotRead {
				newest = max(newest, e.ResourceVersion)
			}
		}
		i := pick(trace, rnd, func(_ int, e Entry) bool {
			return e.Kind == SnapshotRead && e.ResourceVersion > 0 && e.ResourceVersion < newest
		})
		if i < 0 {
			return nil
		}
		return append(trace, trace[i])
	}, []Rule{SnapshotBack}},
	"a resurrected object": {insertAfter(DeleteCall, func(h *History, e Entry) (Entry, bool) {
		v, ok := before(h, e.Key, e.Object.ResourceVersion)
		if !e.Exact {
			v, ok = e.Object, true
		}
		return Entry{Kind: AddCall, Key: e.Key, Object: v, Initial: true}, ok
	}), []Rule{Resurrection}},
	"a duplicate add":    {insertAfter(AddCall, func(_ *History, e Entry) (Entry, bool) { return e, true }), []Rule{DuplicateAdd}},
	"a duplicate delete": {insertAfter(DeleteCall, func(_ *History, e Entry) (Entry, bool) { return e, true }), []Rule{Unknown}},
	"a delete of what lives": {insertAfter(AddCall, func(h *History, e Entry) (Entry, bool) {
		for _, c := range h.Changes() {
			if c.Key == e.Key && c.Type == watch.Deleted && c.Version.UID == e.Object.UID {
				return Entry{}, false
			}
		}
		return Entry{Kind: DeleteCall, Key: e.Key, Object: e.Object}, true
	}), []Rule{FalseDelete}},
	"a wrong old object": {alter(UpdateCall, func(_ *History, e *Entry, _ *rand.Rand) bool {
		e.Old.ResourceVersion--
		return true
	}), []Rule{WrongOld}},
	"another content": {alter(UpdateCall, func(_ *History, e *Entry, _ *rand.Rand) bool {
		e.Object.Content = "other"
		return true
	}), []Rule{WrongContent}},
	"another UID": {alter(AddCall, func(_ *History, e *Entry, _ *rand.Rand) bool {
		e.Object.UID = "other"
		return true
	}), []Rule{Ghost}},
	"a delete that claims to be exact": {func(_ *History, trace []Entry, rnd *rand.Rand) []Entry {
		i := pick(trace, rnd, func(_ int, e Entry) bool { return e.Kind == DeleteCall && !e.Exact })
		if i < 0 {
			return nil
		}
		trace[i].Exact = true
		return trace
	}, []Rule{FalseDelete}},
	"a sync too early": {func(_ *History, trace []Entry, _ *rand.Rand) []Entry {
		i := slices.IndexFunc(trace, func(e Entry) bool { return e.Initial })
		j := slices.IndexFunc(trace, func(e Entry) bool { return e.Kind == SyncMark })
		if i < 0 {
			return nil
		}
		mark := trace[j]
		return slices.Insert(slices.Delete(trace, j, j+1), i, mark)
	}, []Rule{EarlySync, WrongInitial}},
	"a change not marked as initial": {alter(AddCall, func(_ *History, e *Entry, _ *rand.Rand) bool {
		e.Initial = !e.Initial
		return true
	}), []Rule{WrongInitial}},
	"a lost end": {func(_ *History, trace []Entry, _ *rand.Rand) []Entry {
		i := len(trace) - 1
		for i >= 0 && !trace[i].isCall() {
			i--
		}
		if i < 0 {
			return nil
		}
		return slices.Concat(trace[:i], trace[len(trace)-1:])
	}, []Rule{Lost, EarlySync}},
}

func TestPlantedFaultsAreCaughtByTheirRulesWithAMinimalCounterExample(t *testing.T) {
	const enough, most = 40, 1000 // not every trace has a place for every fault
	for name, m := range mutations {
		t.Run(name, func(t *testing.T) {
			planted, longest := 0, 0
			for try := 0; planted < enough && try < most; try++ {
				seed := rand.Uint64()
				rnd := rand.New(rand.NewPCG(seed, 0))
				h := randomHistory(t, rnd)
				trace := m.plant(h, randomTrace(h, rnd), rnd)
				if trace == nil {
					continue
				}
				planted++
				v, ok := errors.AsType[*Violation](Verify(h, trace, VerifyOptions{}))
				if !ok {
					t.Fatalf("seed %d: not caught", seed)
				}
				if !slices.Contains(m.caught, v.Rule) {
					t.Errorf("seed %d: caught by the rule %q\n%v", seed, v.Rule, v)
				}
				expectMinimal(t, h, trace, v)
				longest = max(longest, len(v.Trace))
			}
			if planted < enough {
				t.Errorf("only %d of %d traces had a place for it", planted, most)
			}
			t.Logf("planted %d times, longest counter-example %d entries", planted, longest)
		})
	}
}

// expectMinimal checks that a counter-example cannot be shortened.
func expectMinimal(t *testing.T, h *History, trace []Entry, v *Violation) {
	t.Helper()
	if v.Rule == EarlySync {
		return // documented to keep what is about the key
	}
	m := minimiser{checker: checker{worlds: worldsOf(h, VerifyOptions{})}, trace: trace, found: finding{rule: v.Rule, key: v.Key, at: v.At, text: v.Text}}
	if !m.fails(v.Places) {
		t.Fatalf("the counter-example is none:\n%v", v)
	}
	for i := range len(v.Places) - 1 {
		if m.fails(slices.Delete(slices.Clone(v.Places), i, i+1)) {
			t.Fatalf("the counter-example does not need its entry %d:\n%v", i, v)
		}
	}
}
