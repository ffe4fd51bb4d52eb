package informer

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/deltafifo"
)

// state is what a server holds at one version: objects, and which parts each
// belongs to, as bits.
type state map[string]located

type located struct {
	obj   *thing
	parts int
}

// unionWalk is a random history of one server, watched by the parts of a union,
// each of which is somewhere in it.
type unionWalk struct {
	*unionRig
	rnd     *rand.Rand
	parts   int
	history []state // by version
	uids    int
	at      []int    // versions that the parts are at
	gone    []bool   // the resource of the part is
	anew    []bool   // the part has not listed in this run
	batches []deltas // told, not yet played
	seen    tableView
	ended   map[string]bool // of the keys in seen: it has been told
	absent  bool            // resources go, and come back with what was there
}

// TestUnionOfRandomHistoriesIsWhatItsPartsHold compares with the dumbest
// reading: what the parts hold at the versions that they are at, looked up in
// the whole history.
func TestUnionOfRandomHistoriesIsWhatItsPartsHold(t *testing.T) {
	walks := 120
	if testing.Short() {
		walks = 30
	}
	for range walks {
		seed := rand.Uint64()
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) { unionRandomWalk(t, seed) })
	}
}

func unionRandomWalk(t *testing.T, seed uint64) {
	rnd := rand.New(rand.NewPCG(seed, 0))
	parts := 1 + rnd.IntN(4)
	w := &unionWalk{
		unionRig: newUnionRig(t, parts), rnd: rnd, parts: parts,
		history: []state{{}, {}}, at: make([]int, parts), gone: make([]bool, parts), anew: make([]bool, parts),
		batches: make([]deltas, parts), seen: viewOf(), ended: map[string]bool{},
	}
	w.heard = func(n notice[*thing]) {
		key := keyOf(n.obj)
		last := w.seen[key]
		switch {
		case last != nil && newer(last, n.obj):
			w.t.Errorf("told %s after %s", show(n.obj), show(last))
		case n.kind == noticeAdd && w.ended[key] && !w.absent && !newer(n.obj, last):
			w.t.Errorf("told %s again after its end", show(n.obj))
		}
		if w.ended[key] = n.kind == noticeDelete; !w.ended[key] {
			w.seen[key] = n.obj
		}
	}
	var rewinds, restarts bool
	rewinds, restarts, w.absent = rnd.IntN(3) == 0, rnd.IntN(3) == 0, rnd.IntN(3) == 0
	for range 200 {
		switch n := rnd.IntN(20); {
		case n < 8:
			w.write()
		case n < 14:
			w.advance(rnd.IntN(parts), 1+rnd.IntN(4))
		case n < 15:
			w.relist(rnd.IntN(parts))
		case n < 16 && rewinds && len(w.history) > 10:
			w.rewind()
		case n < 17 && w.absent:
			w.vanish(rnd.IntN(parts))
		case n < 18 && restarts:
			w.restart()
		default:
			w.playAndCheck()
		}
	}
	for p := range parts {
		w.advance(p, 1) // lists, if need be
		w.advance(p, len(w.history))
	}
	w.playAndCheck()
	if diff := gocmp.Diff(w.now(), idents(maps.Values(w.cache))); diff != "" {
		t.Errorf("when all has been heard (-server +cache):\n%s", diff)
	}
	if len(w.union.ahead) > 0 {
		t.Errorf("ahead of everyone: %v", w.union.ahead)
	}
}

func (w *unionWalk) newest() state { return w.history[len(w.history)-1] }

func (w *unionWalk) now() map[string]string {
	out := map[string]string{}
	for key, l := range w.newest() {
		if l.parts != 0 {
			out[key] = fmt.Sprintf("%s@%s", l.obj.UID, l.obj.ResourceVersion)
		}
	}
	return out
}

// write creates, changes, moves, recreates or deletes an object.
func (w *unionWalk) write() {
	next := maps.Clone(w.newest())
	version := int64(len(w.history))
	key := string(rune('a' + w.rnd.IntN(4)))
	old, exists := next[key]
	switch n := w.rnd.IntN(6); {
	case !exists || n == 0: // perhaps instead of another one: its end goes unseen
		w.uids++
		next[key] = located{newThing(key, fmt.Sprint("u", w.uids), version), w.rnd.IntN(1 << w.parts)}
		if exists {
			delete(next, key)
		}
	case n == 1:
		delete(next, key)
	case n < 4: // moves
		next[key] = located{newThing(key, string(old.obj.UID), version), w.rnd.IntN(1 << w.parts)}
	default:
		next[key] = located{newThing(key, string(old.obj.UID), version), old.parts}
	}
	w.history = append(w.history, next)
}

// held is what part p has at version.
func (w *unionWalk) held(p, version int) map[string]*thing {
	out := map[string]*thing{}
	for key, l := range w.history[version] {
		if l.parts&(1<<p) != 0 {
			out[key] = l.obj
		}
	}
	return out
}

// advance tells part p of up to n versions more.
func (w *unionWalk) advance(p, n int) {
	if w.at[p] == 0 || w.gone[p] || w.anew[p] {
		w.relist(p)
		return
	}
	for ; n > 0 && w.at[p] < len(w.history)-1; n-- {
		before := w.held(p, w.at[p])
		w.at[p]++
		version := strconv.Itoa(w.at[p])
		d := deltafifo.Delta[*thing]{Type: deltafifo.Bookmark, ResourceVersion: version}
		after := w.held(p, w.at[p])
		for key, obj := range after {
			if old := before[key]; old != obj {
				d = delta(deltafifo.Updated, obj.DeepCopy())
			}
		}
		for key, old := range before {
			if after[key] == nil {
				last := old.DeepCopy()
				last.ResourceVersion = version
				d = delta(deltafifo.Deleted, last)
			}
		}
		w.batches[p] = append(w.batches[p], d)
	}
}

// relist lists part p at a version not before the one that it is at.
func (w *unionWalk) relist(p int) {
	w.at[p] += w.rnd.IntN(len(w.history) - w.at[p])
	w.at[p] = max(w.at[p], 1)
	w.list(p)
}

func (w *unionWalk) list(p int) {
	w.gone[p], w.anew[p] = false, false
	held := w.held(p, w.at[p])
	var objects []*thing
	for _, key := range slices.Sorted(maps.Keys(held)) {
		obj := held[key].DeepCopy()
		if shown := w.cache[key]; shown != nil && sameVersion(shown, obj) && w.rnd.IntN(2) == 0 {
			obj = shown // known
		}
		objects = append(objects, obj)
	}
	w.batches[p] = append(w.batches[p], replaced(strconv.Itoa(w.at[p]), objects...))
}

// vanish tells part p that its resource is gone.
func (w *unionWalk) vanish(p int) {
	if w.at[p] > 0 && !w.gone[p] && !w.anew[p] {
		w.gone[p] = true
		w.batches[p] = append(w.batches[p], vanished(strconv.Itoa(w.at[p])))
	}
}

// restart ends the run and begins another one.
func (w *unionWalk) restart() {
	w.playAndCheck()
	w.union.restart(w.cache)
	for p := range w.anew {
		w.anew[p] = true
	}
}

// rewind takes the server back in history; parts that were beyond list anew.
func (w *unionWalk) rewind() {
	w.playAndCheck()
	w.history = w.history[:len(w.history)-1-w.rnd.IntN(len(w.history)/2)]
	heard, back := w.heard, false
	for p := range w.at {
		if w.at[p] >= len(w.history) {
			w.at[p] = len(w.history) - 1
			w.list(p)
			back = true
		}
	}
	if back {
		w.heard, w.seen, w.ended = nil, viewOf(), map[string]bool{} // parts go back one after the other
		w.playAndCheck()
		w.heard, w.seen = heard, maps.Clone(w.cache)
	}
}

func (w *unionWalk) playAndCheck() {
	w.play(w.batches)
	w.batches = make([]deltas, w.parts)
	w.check()
}

// check compares the cache with what the parts hold.
func (w *unionWalk) check() {
	w.t.Helper()
	oldest, newest := slices.Min(w.at), slices.Max(w.at)
	if oldest > 0 && w.rv != strconv.Itoa(oldest) {
		w.t.Errorf("version %s with parts at %v", w.rv, w.at)
	}
	want := map[string]*thing{} // the least new that may be shown
	latest := map[string]bool{} // a part that lags behind none has it
	for p, version := range w.at {
		if w.gone[p] {
			continue
		}
		for key, obj := range w.held(p, version) {
			if want[key] == nil || newer(obj, want[key]) {
				want[key] = obj
			}
			latest[key] = latest[key] || version == newest
		}
	}
	for key, obj := range w.cache {
		switch least := want[key]; {
		case least == nil:
			w.t.Errorf("a ghost: %s, with parts at %v", show(obj), w.at)
		case newer(least, obj):
			w.t.Errorf("%s is shown, but a part has %s", show(obj), show(least))
		case oldest == newest && !slices.Contains(w.gone, true) && show(least) != show(obj):
			w.t.Errorf("%s is shown with all parts at %d, which is %s there", show(obj), newest, show(least))
		}
		delete(want, key)
	}
	for key, obj := range want {
		// One that lags may have what is known to have ended.
		if last := w.seen[key]; latest[key] || last == nil || newer(obj, last) {
			w.t.Errorf("%s is lost: a part has %s", key, show(obj))
		}
	}
}
