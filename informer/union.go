package informer

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/listwatch/listwatch/deltafifo"
)

// union makes one collection of several parts, each with a stream of its own. An
// object is present while any part holds it. Parts are at different moments, and
// one may hold an older version than another: shown is the newest.
//
// It does no I/O; what it decides, its differ turns into changes and notices. Not
// safe for concurrent use.
//
// Invariant, between rounds: a key is present in the cache if and only if a part
// holds it in a version that is not gone.
// Invariant: what is shown of a key is the newest version that a part holds,
// unless the key is in ahead.
// Invariant: a key that is not in shared is held by one part at most.
type union[T Object] struct {
	differ differ[T]
	parts  []member[T]
	shared map[string]bool
	// ahead are keys that show a newer version than any part holds: the part that
	// had it lost the object, and another one, which lags behind, has yet to hear
	// of that version or a later one. To show its old one would be going back.
	ahead map[string]bool
	// gone are keys that left the cache while a part lagged behind, which may
	// still send older versions. They stay until all parts have caught up.
	gone   map[string]end
	oldest string // resourceVersion that all parts have reached
	torn   bool   // the last round did not get into the cache

	// Of the present round.
	batches [][]deltafifo.Delta[T]
	rewound bool             // a part went back in history
	later   map[string]later // what the newest put of a key is; nil: not looked yet
	// moving are keys that no part holds for now, but one will before the end of
	// the round.
	moving map[string]move[T]
}

// move is what is known of a key on its way to another part.
type move[T Object] struct {
	last   T    // the state that was sent when it left; may be nil
	merged bool // versions before that may have been missed
	behind bool // the part that it left had not seen what is shown, and its end ends nothing of that
}

// maxGone bounds union.gone, for the case that a part lags behind for ever.
const maxGone = 10_000

// end is when an object left the cache.
type end struct {
	resourceVersion string
	exact           bool   // that is when it left; else it is the last version that was shown
	known           string // a part that has reached this resourceVersion has heard of it
}

// covers reports whether a version of an object is of a time before e, its end. While
// the resource of a part is gone, and when it is back, what left with it may be there
// as it was.
func (u *union[T]) covers(e end, resourceVersion string) bool {
	order, err := resourceversion.CompareResourceVersion(resourceVersion, e.resourceVersion)
	return err == nil && (order < 0 || order == 0 && !e.exact && !u.vanished())
}

// vanished reports whether the resource of a part is gone, or is being listed for the
// first time since.
func (u *union[T]) vanished() bool {
	return slices.ContainsFunc(u.parts, func(m member[T]) bool { return m.vanished })
}

// member is one part.
type member[T Object] struct {
	held            map[string]T
	resourceVersion string // "" before the first complete list
	listed          bool   // a complete list came in this run
	vanished        bool   // its resource was gone when it was last listed
}

func newUnion[T Object](parts int) *union[T] {
	u := &union[T]{shared: map[string]bool{}, ahead: map[string]bool{}, gone: map[string]end{}, moving: map[string]move[T]{}}
	for range parts {
		u.parts = append(u.parts, member[T]{held: map[string]T{}})
	}
	return u
}

// restart says that a new run begins: each part will send a complete list. base is
// what is in the cache.
func (u *union[T]) restart(base view[T]) {
	for p := range u.parts {
		u.parts[p].listed = false
	}
	if u.torn {
		u.adopt(base)
	}
}

// adopt makes of the union what it would be if each part held all of base: the
// lists that come will say which of them does.
func (u *union[T]) adopt(base view[T]) {
	objects := maps.Collect(base.All())
	for p := range u.parts {
		u.parts[p].held = maps.Clone(objects)
	}
	clear(u.shared)
	if len(u.parts) > 1 {
		for key := range objects {
			u.shared[key] = true
		}
	}
	clear(u.ahead)
	clear(u.gone)
	clear(u.moving)
	u.differ, u.batches, u.later, u.torn = differ[T]{}, nil, nil, false
}

// round returns what the batches, one for each part, change in base. initial
// marks the adds until all parts have listed as such.
func (u *union[T]) round(base view[T], batches [][]deltafifo.Delta[T], initial bool) outcome[T] {
	u.batches, u.later, u.rewound = batches, nil, false
	u.differ.begin(base, initial)
	for p := range batches {
		for k := range batches[p] {
			u.step(p, &batches[p][k])
		}
	}
	oldest := u.reached()
	if u.rewound || oldest != u.oldest || len(u.gone) > maxGone {
		u.oldest = oldest
		u.settle()
	}
	u.batches, u.later = nil, nil
	out := u.differ.finish()
	if out.resourceVersion = oldest; oldest == "" {
		out.resourceVersion = base.ResourceVersion()
	}
	return out
}

func (u *union[T]) step(p int, delta *deltafifo.Delta[T]) {
	m := &u.parts[p]
	before := m.resourceVersion
	if delta.ResourceVersion != "" {
		m.resourceVersion = delta.ResourceVersion
	}
	u.differ.merged = delta.Merged || delta.Type == deltafifo.Replaced
	switch delta.Type {
	case deltafifo.Added, deltafifo.Updated:
		u.put(p, delta.Key, delta.Object, false)
	case deltafifo.Deleted:
		u.remove(p, delta)
	case deltafifo.Replaced:
		rewound := delta.Replacement.Rewound || newerVersion(before, delta.ResourceVersion)
		u.rewound = u.rewound || rewound
		u.differ.rewound = rewound
		u.replace(p, delta.Replacement.Items, rewound)
		u.differ.rewound = false
		m.vanished = delta.Replacement.Vanished
		m.listed = !m.vanished
		if !m.listed || u.complete() {
			u.differ.replaced(m.listed)
		}
	default:
		u.differ.step(delta)
	}
}

// complete reports whether all parts have listed in this run.
func (u *union[T]) complete() bool {
	return !slices.ContainsFunc(u.parts, func(m member[T]) bool { return !m.listed })
}

// put notes that part p holds obj under key. back says that p went back in
// history, so that what was shown so far is no reason to keep it.
func (u *union[T]) put(p int, key string, obj T, back bool) {
	m := &u.parts[p]
	was, held := m.held[key]
	if held && any(was) == any(obj) && !u.ahead[key] {
		return
	}
	shown, there := u.differ.get(key)
	if there && !back && sameVersion(shown, obj) {
		obj = shown // one copy for all
	}
	m.held[key] = obj
	left, gone := u.gone[key]
	move, moves := u.moving[key]
	if moves {
		delete(u.moving, key)
		merged := u.differ.merged
		u.differ.merged = move.merged
		if otherUID(shown, obj) && !newer(shown, obj) { // no move: the name was given again
			u.end(key, shown, move.last, move.behind)
			there = false
		}
		u.differ.merged = move.merged || merged
	} else if !held && (there || gone) {
		u.shared[key] = true
	}
	if there && !moves && !(held && sameVersion(was, shown)) {
		u.differ.merged = true // p has not seen what is shown, nor what came between the two
	}
	best := obj
	if u.shared[key] {
		best, _ = u.newest(key, p)
	}
	switch back = back || held && newer(was, obj); {
	case back:
	case there && (!held || u.shared[key] || u.ahead[key]) && newer(shown, best):
		u.ahead[key] = true
		return
	case !there && gone && u.covers(left, best.GetResourceVersion()):
		return
	}
	u.show(key, best)
}

// show makes best what is cached under key.
func (u *union[T]) show(key string, best T) {
	delete(u.ahead, key)
	delete(u.gone, key)
	shown, there := u.differ.get(key)
	u.differ.exchange(key, present[T]{obj: shown, yes: there}, best, true)
}

// remove notes that part p was told of the end of a key.
func (u *union[T]) remove(p int, d *deltafifo.Delta[T]) {
	was := u.parts[p].held[d.Key]
	if !u.lose(p, d.Key) {
		return
	}
	shown, there := u.differ.get(d.Key)
	if !there {
		return
	}
	unseen := !sameVersion(was, shown)
	u.differ.merged = u.differ.merged || unseen // as in put
	behind := unseen && !newerVersion(d.ResourceVersion, shown.GetResourceVersion())
	if u.comes(d, p) {
		u.moving[d.Key] = move[T]{last: d.Object, merged: u.differ.merged, behind: behind}
		return
	}
	e := end{resourceVersion: d.ResourceVersion, exact: true}
	if behind {
		e = end{resourceVersion: shown.GetResourceVersion()}
	}
	u.leaves(d.Key, e)
	u.end(d.Key, shown, d.Object, behind)
}

// end tells of the end of what is shown under key; last is the state that a part sent
// with it. If that part lagged behind what is shown, nobody has sent its end.
func (u *union[T]) end(key string, shown, last T, behind bool) {
	if behind {
		u.differ.drop(key, shown)
		return
	}
	u.differ.remove(key, last)
}

// lose notes that part p does not hold key, and reports whether it was the last
// one that did.
func (u *union[T]) lose(p int, key string) bool {
	m := &u.parts[p]
	if _, held := m.held[key]; !held {
		return false
	}
	delete(m.held, key)
	if u.shared[key] {
		if best, found := u.newest(key, p); found {
			if shown, there := u.differ.get(key); there && !sameVersion(shown, best) {
				u.ahead[key] = true
			}
			return false
		}
	}
	delete(u.ahead, key)
	return true
}

// leaves notes the end of a key that leaves the cache, if a part is not there yet. Of
// an end that is not exact the parts that are furthest know, and no more is certain.
func (u *union[T]) leaves(key string, e end) {
	e.known = e.resourceVersion
	for p := range u.parts {
		if version := u.parts[p].resourceVersion; !e.exact && newerVersion(version, e.known) {
			e.known = version
		}
	}
	for p := range u.parts {
		if version := u.parts[p].resourceVersion; version == "" || newerVersion(e.known, version) {
			u.gone[key] = e
			return
		}
	}
}

// newest returns the newest version that a part holds of key; among those that
// cannot be compared that of part p comes first.
func (u *union[T]) newest(key string, p int) (best T, found bool) {
	holders := 0
	best, found = u.parts[p].held[key]
	if found {
		holders++
	}
	for q := range u.parts {
		if obj, held := u.parts[q].held[key]; held && q != p {
			holders++
			if !found || newer(obj, best) {
				best, found = obj, true
			}
		}
	}
	if holders < 2 {
		delete(u.shared, key)
	}
	return best, found
}

// later is a version that a part is going to put.
type later struct {
	part            int
	resourceVersion string
}

// comes reports whether a part after p will put, in this round, what part p was
// told has left it, or something newer.
func (u *union[T]) comes(d *deltafifo.Delta[T], p int) bool {
	if u.later == nil {
		u.later = map[string]later{}
		for q := p + 1; q < len(u.batches); q++ {
			u.look(q)
		}
	}
	next, found := u.later[d.Key]
	return found && next.part > p && !newerVersion(d.ResourceVersion, next.resourceVersion)
}

// look notes what part q is going to put.
func (u *union[T]) look(q int) {
	for k := range u.batches[q] {
		switch d := &u.batches[q][k]; d.Type {
		case deltafifo.Added, deltafifo.Updated:
			if next, found := u.later[d.Key]; !found || !newerVersion(next.resourceVersion, d.ResourceVersion) {
				u.later[d.Key] = later{q, d.ResourceVersion}
			}
		}
	}
}

// replace notes that part p now holds exactly items. As in differ.replace, what
// is missing is deleted first, in key order, and of two items with one key the
// later counts.
func (u *union[T]) replace(p int, items []deltafifo.Item[T], back bool) {
	last := make(map[string]int, len(items))
	for k := range items {
		last[items[k].Key] = k
	}
	var missing []string
	for key := range u.parts[p].held {
		if _, stays := last[key]; !stays {
			missing = append(missing, key)
		}
	}
	slices.Sort(missing)
	for _, key := range missing {
		if shown, there := u.differ.get(key); u.lose(p, key) && there {
			u.leaves(key, end{resourceVersion: shown.GetResourceVersion()})
			u.differ.drop(key, shown)
		}
	}
	for k := range items {
		if item := &items[k]; last[item.Key] == k && !isNil(item.Object) {
			u.put(p, item.Key, item.Object, back)
		}
	}
}

// settle forgets about the keys that are gone once all parts have caught up. If
// a part went back in history, nobody will hear of newer versions that are
// shown, nor be told again of older ones that are not.
func (u *union[T]) settle() {
	again := map[string]bool{}
	for key, e := range u.gone {
		if u.rewound || len(u.gone) > maxGone || u.oldest != "" && !newerVersion(e.known, u.oldest) {
			again[key] = true
		}
	}
	if u.rewound {
		maps.Copy(again, u.ahead)
	}
	u.differ.merged = true
	for _, key := range slices.Sorted(maps.Keys(again)) {
		if best, found := u.newest(key, 0); found {
			u.show(key, best)
		}
		delete(u.gone, key)
	}
}

// reached is the resourceVersion that every part has reached, "" as long as one
// has none, or if they cannot be compared.
func (u *union[T]) reached() string {
	oldest := u.parts[0].resourceVersion
	for p := range u.parts {
		version := u.parts[p].resourceVersion
		order, err := resourceversion.CompareResourceVersion(version, oldest)
		switch {
		case version == oldest:
		case err != nil:
			return ""
		case order < 0:
			oldest = version
		}
	}
	return oldest
}

// newer reports whether a is a newer version than b. Versions that cannot be
// compared are not.
func newer[T Object](a, b T) bool {
	return newerVersion(a.GetResourceVersion(), b.GetResourceVersion())
}

func newerVersion(a, b string) bool {
	order, err := resourceversion.CompareResourceVersion(a, b)
	return err == nil && order > 0
}
