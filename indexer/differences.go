package indexer

import "iter"

// Difference is a key that two snapshots do not hold alike.
type Difference[T any] struct {
	Key      string
	Old, New T    // the zero value where the key is missing
	Was, Is  bool // the key was in the older snapshot, is in the newer
}

// Differences yields every key that was added, deleted or set since older, once
// each, in no particular order; same says whether two objects are one, so that
// it need not be told. Two snapshots of one Indexer share what did not change,
// and only the rest is looked at: one change among 100,000 objects is found in
// well under a microsecond. Any two snapshots can be compared, but those with a
// Replace between them share nothing, and all objects are looked at.
func (s *Snapshot[T]) Differences(older *Snapshot[T], same func(a, b T) bool) iter.Seq[Difference[T]] {
	return func(yield func(Difference[T]) bool) {
		d := differ[T]{old: &older.objects, now: &s.objects, same: same, yield: yield}
		walkUnshared(&older.objects.slots, &s.objects.slots, d.slots)
	}
}

// differ compares two views, id by id.
type differ[T any] struct {
	old, now *view[T]
	same     func(a, b T) bool
	yield    func(Difference[T]) bool
}

// slots compares what both views have under one id. An id may be used again for
// another key, and a key that comes again may get another id: so either key is
// looked up in the other view. A key that is in both is told where the older
// view has it: if the newer has it elsewhere, then this place differs, too.
func (d *differ[T]) slots(id uint32, was, is *slot[T]) bool {
	hadKey := was != nil && d.old.lives(id, was.key)
	hasKey := is != nil && d.now.lives(id, is.key)
	if hadKey && hasKey && was.key == is.key {
		return d.same(was.value, is.value) ||
			d.yield(Difference[T]{Key: was.key, Old: was.value, New: is.value, Was: true, Is: true})
	}
	if hadKey {
		out := Difference[T]{Key: was.key, Old: was.value, Was: true}
		if _, at := d.now.find(was.key); at != nil {
			out.New, out.Is = at.value, true
		}
		if !(out.Is && d.same(out.Old, out.New)) && !d.yield(out) {
			return false
		}
	}
	if hasKey {
		if _, at := d.old.find(is.key); at == nil {
			return d.yield(Difference[T]{Key: is.key, New: is.value, Is: true})
		}
	}
	return true
}

// lives reports whether the slot of id is that of key, and not a free one; those
// are zero, and so have the key "".
func (v *view[V]) lives(id uint32, key string) bool {
	if key != "" {
		return true
	}
	found, _ := v.find(key)
	return found == id && id != 0
}

// walkUnshared yields the elements of all leaves that a and b do not share; nil
// stands for an element that is missing.
func walkUnshared[E any](a, b *array[E], yield func(i uint32, inA, inB *E) bool) {
	for r := range max(len(a.root), len(b.root)) {
		ba, bb := child(a.root, r), child(b.root, r)
		if ba == bb {
			continue
		}
		for k := range 1 << branchBits {
			var ta, tb *twig[E]
			if ba != nil {
				ta = ba.twigs[k]
			}
			if bb != nil {
				tb = bb.twigs[k]
			}
			if ta != tb && !walkTwigs(ta, tb, uint32(r)<<rootShift|uint32(k)<<branchShift, yield) {
				return
			}
		}
	}
}

// walkTwigs is walkUnshared for two twigs whose first element is first.
func walkTwigs[E any](a, b *twig[E], first uint32, yield func(i uint32, inA, inB *E) bool) bool {
	for k := range uint32(1) << twigBits {
		var la, lb *leaf[E]
		if a != nil {
			la = a.leaves[k]
		}
		if b != nil {
			lb = b.leaves[k]
		}
		if la == lb {
			continue
		}
		for e := range uint32(leafSize) {
			var inA, inB *E
			if la != nil {
				inA = &la.elements[e]
			}
			if lb != nil {
				inB = &lb.elements[e]
			}
			if !yield(first|k<<twigShift|e, inA, inB) {
				return false
			}
		}
	}
	return true
}

// child returns element i of nodes, or nil if there are fewer.
func child[N any](nodes []*N, i int) *N {
	if i < len(nodes) {
		return nodes[i]
	}
	return nil
}
