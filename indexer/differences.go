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
		d.run()
	}
}

// differ compares two views, id by id.
type differ[T any] struct {
	old, now *view[string, T]
	same     func(a, b T) bool
	yield    func(Difference[T]) bool
}

// run compares what both views may have first, then what only one can have. New
// ids are written into nodes that older views share, so that a shared node says
// nothing about ids that one of the views does not know.
func (d *differ[T]) run() {
	both := min(d.old.next, d.now.next)
	blocks := (both + perBlock - 1) >> blockBits
	for block := range unshared(&d.old.slots, &d.now.slots, blocks) {
		for id := block << blockBits; id < min(both, (block+1)<<blockBits); id++ {
			if !d.compare(id) {
				return
			}
		}
	}
	for id := both; id < max(d.old.next, d.now.next); id++ {
		if !d.compare(id) {
			return
		}
	}
}

// compare compares what both views have under one id. An id may be used again for
// another key, and a key that comes again may get another id: so either key is
// looked up in the other view. A key that is in both is told where the older
// view has it: if the newer has it elsewhere, then this place differs, too.
func (d *differ[T]) compare(id uint32) bool {
	oldKey, old, was := d.old.entry(id)
	key, now, is := d.now.entry(id)
	if was && is && oldKey == key {
		return d.same(old, now) || d.yield(Difference[T]{Key: key, Old: old, New: now, Was: true, Is: true})
	}
	if was {
		out := Difference[T]{Key: oldKey, Old: old, Was: true}
		if _, now := d.now.find(oldKey); now != nil {
			out.New, out.Is = *now, true
		}
		if !(out.Is && d.same(out.Old, out.New)) && !d.yield(out) {
			return false
		}
	}
	if is {
		if _, before := d.old.find(key); before == nil {
			return d.yield(Difference[T]{Key: key, New: now, Is: true})
		}
	}
	return true
}

// unshared yields the numbers of those of the first blocks that a and b do not
// share. It looks at no others, which a writer may be making.
func unshared[B any](a, b *array[B], blocks uint32) iter.Seq[uint32] {
	return func(yield func(uint32) bool) {
		for i := uint32(0); i < blocks; {
			branchA, branchB := a.root[i>>rootShift], b.root[i>>rootShift]
			if branchA == branchB {
				i = (i>>rootShift + 1) << rootShift
				continue
			}
			twigA, twigB := branchA.twigs[i>>twigBits%(1<<branchBits)], branchB.twigs[i>>twigBits%(1<<branchBits)]
			if twigA == twigB {
				i = (i>>twigBits + 1) << twigBits
				continue
			}
			if twigA.leaves[i%(1<<twigBits)] != twigB.leaves[i%(1<<twigBits)] && !yield(i) {
				return
			}
			i++
		}
	}
}
