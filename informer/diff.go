package informer

import (
	"iter"
	"slices"

	"github.com/listwatch/listwatch/deltafifo"
	"github.com/listwatch/listwatch/indexer"
)

// view is the cache as it was before a batch.
type view[T Object] interface {
	ResourceVersion() string
	Get(key string) (T, bool)
	Len() int
	All() iter.Seq2[string, T]
}

// outcome is what one batch of deltas amounts to.
type outcome[T Object] struct {
	changes         []indexer.Change[T] // in order; a key may occur repeatedly; valid until the next diff
	notices         []notice[T]
	resourceVersion string // of the collection after the batch
	replacedAt      int    // notices up to the end of the first Replaced; -1 without one
	vanished        bool   // the collection is gone, and so it is no longer in sync
	resync          bool   // one is due, after the batch
	repeated        bool   // there may be several notices of one key
}

// differ compares deltas with the cache. It does no I/O and keeps nothing from
// one batch to the next but memory. Not safe for concurrent use.
type differ[T Object] struct {
	base    view[T]
	out     outcome[T]
	initial bool
	// rewound: the replacement at hand follows the server's history back.
	rewound bool
	// merged: what the delta at hand says of a key may follow on others, unseen.
	merged bool
	// overlay is what the deltas so far have done to base. The last delta of a
	// batch need not be recorded, since nothing looks at it.
	overlay map[string]present[T]
	newUID  bool // under a known key is an update
	record  bool
	changes []indexer.Change[T] // room for those of the next batch
}

type present[T Object] struct {
	obj T
	yes bool
}

// keep is the number of entries up to which memory is kept for the next batch.
const keep = 256

// diff returns what deltas change in base. initial marks the adds up to the end
// of the first Replaced as such.
func (d *differ[T]) diff(base view[T], deltas []deltafifo.Delta[T], initial bool) outcome[T] {
	d.begin(base, initial)
	// Mostly each delta is a change and a notice. What grew by and by would be
	// garbage, and what it has too much would be kept by the log.
	d.out.changes = slices.Grow(d.out.changes, len(deltas))
	d.out.notices = make([]notice[T], 0, len(deltas))
	for k := range deltas {
		d.record = k < len(deltas)-1
		d.step(&deltas[k])
	}
	return d.finish()
}

// begin starts an outcome: what follows is compared with base.
func (d *differ[T]) begin(base view[T], initial bool) {
	d.base, d.initial, d.record = base, initial, true
	d.out = outcome[T]{changes: d.changes[:0], replacedAt: -1, resourceVersion: base.ResourceVersion()}
	if d.overlay == nil {
		d.overlay = make(map[string]present[T])
	}
}

// finish returns the outcome since begin.
func (d *differ[T]) finish() outcome[T] {
	out := d.out
	d.base, d.out = nil, outcome[T]{}
	if len(d.overlay) > keep {
		d.overlay = nil
	}
	clear(d.overlay)
	if d.changes = out.changes; cap(d.changes) > keep {
		d.changes = nil
	}
	return out
}

// release lets go of the objects of the last outcome.
func (d *differ[T]) release() { clear(d.changes) }

func (d *differ[T]) step(delta *deltafifo.Delta[T]) {
	d.merged = delta.Merged || delta.Type == deltafifo.Replaced
	switch delta.Type {
	case deltafifo.Added, deltafifo.Updated:
		d.put(delta.Key, delta.Object, false)
	case deltafifo.Deleted:
		d.remove(delta.Key, delta.Object)
	case deltafifo.Resync: // changes nothing
		d.out.resync = true
	case deltafifo.Replaced:
		d.rewound = delta.Replacement.Rewound || older(delta.ResourceVersion, d.out.resourceVersion)
		d.replace(delta.Replacement.Items)
		d.replaced(!delta.Replacement.Vanished)
	}
	// Only a replacement goes back: an event of an older version, which a watch
	// at "0" has in its beginning, makes the rest no older.
	at := delta.ResourceVersion
	if at != "" && (delta.Type == deltafifo.Replaced || !older(at, d.out.resourceVersion)) {
		d.out.resourceVersion = at
	}
}

// replaced notes the end of a replacement, after which the collection is complete;
// or gone.
func (d *differ[T]) replaced(complete bool) {
	switch {
	case !complete:
		d.out.vanished, d.out.replacedAt = true, -1
	case d.out.replacedAt < 0:
		d.out.vanished, d.out.replacedAt, d.initial = false, len(d.out.notices), false
	}
}

// put notes that obj is now under key, whatever was there before. Out of a
// replacement, an object that the cache has already is left alone, unless the
// server's history was rewound: then its version may have been given again. A nil obj
// says that there is an object, but not which: then the cached one stays.
func (d *differ[T]) put(key string, obj T, replacing bool) {
	old, found := d.get(key)
	d.exchange(key, present[T]{obj: old, yes: found}, obj, replacing)
}

// exchange is put for a key whose state is known.
func (d *differ[T]) exchange(key string, was present[T], obj T, replacing bool) {
	old := was.obj
	switch {
	case isNil(obj) || replacing && any(old) == any(obj):
		return
	case !was.yes:
		d.notify(notice[T]{kind: noticeAdd, initial: d.initial, obj: obj})
	case !d.newUID && otherUID(old, obj):
		d.out.repeated = true
		d.notify(notice[T]{kind: noticeDelete, key: key, obj: old})
		d.notify(notice[T]{kind: noticeAdd, initial: d.initial, obj: obj})
	case replacing && sameVersion(old, obj) && (!d.rewound || any(old) == any(obj)):
		return
	default:
		d.notify(notice[T]{kind: noticeUpdate, old: old, obj: obj, merged: d.merged})
	}
	d.set(key, present[T]{obj: obj, yes: true})
}

// remove notes that the server told of the end of key; last is the state it sent
// along, nil if that cannot be cached: then nothing may be missing between it and the
// cached one. If it is a state of another object, then the cached object's own end was
// missed.
func (d *differ[T]) remove(key string, last T) {
	old, found := d.get(key)
	if !found {
		return
	}
	exact := !d.merged
	if !isNil(last) {
		exact = d.newUID || !otherUID(old, last)
	}
	if isNil(last) || !exact {
		last = old
	}
	d.notify(notice[T]{kind: noticeDelete, key: key, old: old, obj: last, exact: exact})
	d.set(key, present[T]{})
}

// drop notes that key is no longer there, though nobody said so.
func (d *differ[T]) drop(key string, old T) {
	d.notify(notice[T]{kind: noticeDelete, key: key, obj: old})
	d.set(key, present[T]{})
}

// replace notes that the collection now holds exactly items. Of two items with
// one key the later counts. First everything missing is deleted, in key order,
// then come the items, in their order.
func (d *differ[T]) replace(items []deltafifo.Item[T]) {
	if d.base.Len() == 0 {
		d.out.changes = slices.Grow(d.out.changes, len(items))
		d.out.notices = slices.Grow(d.out.notices, len(items))
	}
	if len(d.overlay) == 0 && ordered(items) {
		d.replaceOrdered(items)
		return
	}
	d.out.repeated = d.out.repeated || len(d.overlay) > 0
	last := make(map[string]int, len(items))
	for k := range items {
		last[items[k].Key] = k
	}
	for key, old := range d.present() {
		if _, stays := last[key]; !stays {
			d.drop(key, old)
		}
	}
	for k := range items {
		if last[items[k].Key] == k {
			d.put(items[k].Key, items[k].Object, true)
		}
	}
}

// ordered reports whether items are in key order without repetition, as servers
// list them.
func ordered[T any](items []deltafifo.Item[T]) bool {
	for k := 1; k < len(items); k++ {
		if items[k-1].Key >= items[k].Key {
			return false
		}
	}
	return true
}

// replaceOrdered is replace for ordered items and nothing in the overlay: it
// walks items and cache side by side instead of looking up each key.
func (d *differ[T]) replaceOrdered(items []deltafifo.Item[T]) {
	olds := make([]present[T], len(items))
	k := 0
	for key, old := range d.base.All() {
		for k < len(items) && items[k].Key < key {
			k++
		}
		if k < len(items) && items[k].Key == key {
			olds[k] = present[T]{obj: old, yes: true}
		} else {
			d.drop(key, old)
		}
	}
	for k := range items {
		d.exchange(items[k].Key, olds[k], items[k].Object, true)
	}
}

// present yields what is there after the deltas so far. It may be changed
// while it is walked, for the key just yielded.
func (d *differ[T]) present() iter.Seq2[string, T] {
	return func(yield func(string, T) bool) {
		var added []string
		for key, p := range d.overlay {
			if p.yes {
				added = append(added, key)
			}
		}
		slices.Sort(added)
		for key, obj := range d.base.All() {
			if _, changed := d.overlay[key]; !changed && !yield(key, obj) {
				return
			}
		}
		for _, key := range added {
			if !yield(key, d.overlay[key].obj) {
				return
			}
		}
	}
}

func (d *differ[T]) get(key string) (T, bool) {
	if len(d.overlay) > 0 {
		if p, changed := d.overlay[key]; changed {
			d.out.repeated = true
			return p.obj, p.yes
		}
	}
	return d.base.Get(key)
}

func (d *differ[T]) set(key string, p present[T]) {
	if d.record {
		d.overlay[key] = p
	}
	d.out.changes = append(d.out.changes, indexer.Change[T]{Key: key, Object: p.obj, Delete: !p.yes})
}

func (d *differ[T]) notify(n notice[T]) {
	d.out.notices = append(d.out.notices, n)
}

// isNil reports whether obj is the zero value, which stands for "no object".
func isNil[T Object](obj T) bool {
	var zero T
	return any(obj) == any(zero)
}

// otherUID reports whether a and b are different objects that had the same key
// at different times. Objects without a UID (of some fakes) are taken for the
// same.
func otherUID[T Object](a, b T) bool {
	return a.GetUID() != b.GetUID() && a.GetUID() != "" && b.GetUID() != ""
}

// sameVersion reports whether a and b are one version of one object. A
// transform may have removed the resourceVersion; then nobody can tell.
func sameVersion[T Object](a, b T) bool {
	return a.GetResourceVersion() != "" && a.GetResourceVersion() == b.GetResourceVersion() && a.GetUID() == b.GetUID()
}
