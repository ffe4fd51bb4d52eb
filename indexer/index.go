package indexer

import (
	"slices"
	"strings"
)

// index is the writer's side of one index.
type index[T any] struct {
	name   string
	f      Func[T]
	values table[string, *idNode] // value → ids of objects, in key order
	dirty  bool                   // values changed in the batch in progress

	// What each object is posted under is remembered, not asked for again when
	// the object goes, so that nothing stale can stay whatever f does.
	// posted[id] is the id of the only value, none, or several: see more.
	posted []uint32
	more   map[uint32][]uint32 // sorted

	before, after []uint32 // scratch
}

// In posted: no value, and more than one.
const (
	none    uint32 = 0
	several uint32 = ^uint32(0)
)

// indexView is the reader's side.
type indexView struct {
	name   string
	values view[string, *idNode]
}

func newIndex[T any](name string, f Func[T], generation *uint64) *index[T] {
	return &index[T]{name: name, f: f, values: newTable[string, *idNode](generation, 0), dirty: true}
}

func (ix *index[T]) view() indexView { return indexView{name: ix.name, values: ix.values.view} }

// set posts the object with the given id, which is in objects, under values and
// under nothing else.
func (ix *index[T]) set(objects *view[string, T], id uint32, values []string) {
	for int(id) >= len(ix.posted) {
		ix.posted = append(ix.posted, none)
	}
	old := ix.posted[id]
	if len(values) == 1 && old != none && old != several && ix.values.key(old) == values[0] {
		return // by far the most frequent case: an update that moves nothing
	}
	if len(values) == 0 && old == none {
		return
	}
	ix.dirty = true
	ix.before = ix.valuesOf(id, ix.before[:0])
	ix.after = ix.after[:0]
	for _, value := range values {
		ix.after = append(ix.after, ix.valueID(value))
	}
	slices.Sort(ix.after)
	ix.after = slices.Compact(ix.after)
	ix.move(objects, id, ix.before, ix.after)
	ix.remember(id, ix.after)
}

// move takes id out of the lists that only before has and puts it into those
// that only after has. Both are sorted.
func (ix *index[T]) move(objects *view[string, T], id uint32, before, after []uint32) {
	tree := idTree[T]{objects, *ix.values.generation}
	for len(before) > 0 || len(after) > 0 {
		switch {
		case len(after) == 0 || len(before) > 0 && before[0] < after[0]:
			value := before[0]
			before = before[1:]
			ids := ix.values.edit(value)
			*ids = tree.remove(*ids, id)
			if *ids == nil {
				ix.values.remove(value)
			}
		case len(before) == 0 || after[0] < before[0]:
			ids := ix.values.edit(after[0])
			*ids = tree.insert(*ids, id)
			after = after[1:]
		default:
			before, after = before[1:], after[1:]
		}
	}
}

// valueID returns the id of value, making one if it is new.
func (ix *index[T]) valueID(value string) uint32 {
	if id, found := ix.values.find(value); found != nil {
		return id
	}
	// A value is often part of a larger string, which must not live on with it.
	return ix.values.insert(strings.Clone(value), nil)
}

// valuesOf appends the ids of the values under which id is posted.
func (ix *index[T]) valuesOf(id uint32, to []uint32) []uint32 {
	switch value := ix.posted[id]; value {
	case none:
		return to
	case several:
		return append(to, ix.more[id]...)
	default:
		return append(to, value)
	}
}

func (ix *index[T]) remember(id uint32, values []uint32) {
	if ix.posted[id] == several {
		delete(ix.more, id)
	}
	switch len(values) {
	case 0:
		ix.posted[id] = none
	case 1:
		ix.posted[id] = values[0]
	default:
		if ix.more == nil {
			ix.more = make(map[uint32][]uint32)
		}
		ix.posted[id] = several
		ix.more[id] = slices.Clone(values)
	}
}
