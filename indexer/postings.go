package indexer

import (
	"slices"
	"strings"
)

// postings is the writer's side of one index: an *index.
type postings[T any] interface {
	of() Definition[T]
	// post puts an object, which is stored under id, under the values that the
	// index's function returns for it, and under nothing else.
	post(s *state[T], id uint32, key string, object T)
	// withdraw takes an object, which is still stored, out.
	withdraw(s *state[T], id uint32, key string)
	// places appends the places of the values of an object.
	places(key string, object T, to []place) []place
	// view returns what snapshots see, and whether it is new since the last call.
	view() (view indexView, fresh bool)
	// rollback makes the index that of view, which an earlier call returned.
	rollback(view indexView)
}

// index is the writer's side of an Index.
type index[T any, V comparable] struct {
	definition *Index[T, V]
	values     table[V, *idNode] // value → ids of objects, in key order
	published  *values[V]        // nil: values changed in the batch in progress

	// What each object is posted under is remembered, not asked for again when
	// the object goes, so that nothing stale can stay whatever the function does.
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

func (x *Index[T, V]) begin(generation *uint64) postings[T] {
	return &index[T, V]{definition: x, values: newTable[V, *idNode](generation, 0)}
}

func (ix *index[T, V]) of() Definition[T] { return ix.definition }

func (ix *index[T, V]) view() (view indexView, fresh bool) {
	fresh = ix.published == nil
	if fresh {
		ix.published = &values[V]{definition: ix.definition, indexName: ix.definition.name, view: ix.values.view}
	}
	return ix.published, fresh
}

func (ix *index[T, V]) post(s *state[T], id uint32, key string, object T) {
	values, failure := ix.definition.call(key, object)
	if failure != nil {
		s.failures.add(failure)
	} else {
		s.failures.remove(ix.definition.name, key)
	}
	ix.set(s, id, values)
}

func (ix *index[T, V]) withdraw(s *state[T], id uint32, key string) {
	s.failures.remove(ix.definition.name, key)
	ix.set(s, id, nil)
}

func (ix *index[T, V]) places(key string, object T, to []place) []place {
	values, _ := ix.definition.call(key, object) // its failure is known
	for _, value := range values {
		to = append(to, place{kind: valuePlace, text: ix.definition.name, value: value})
	}
	return to
}

// set posts id under values and under nothing else.
func (ix *index[T, V]) set(s *state[T], id uint32, values []V) {
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
	ix.published = nil
	ix.before = ix.valuesOf(id, ix.before[:0])
	ix.after = ix.after[:0]
	for _, value := range values {
		ix.after = append(ix.after, ix.valueID(value))
	}
	slices.Sort(ix.after)
	ix.after = slices.Compact(ix.after)
	ix.move(s.ordered(), id)
	ix.remember(id)
}

// move takes id out of the trees of values that are only in before and puts it
// into those of values that are only in after. Both are sorted.
func (ix *index[T, V]) move(tree idTree[T], id uint32) {
	before, after := ix.before, ix.after
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
func (ix *index[T, V]) valueID(value V) uint32 {
	if id, found := ix.values.find(value); found != nil {
		return id
	}
	// A string is often part of a larger one, which must not live on with it.
	if s, ok := any(&value).(*string); ok {
		*s = strings.Clone(*s)
	}
	return ix.values.insert(value, nil)
}

// valuesOf appends the ids of the values under which id is posted.
func (ix *index[T, V]) valuesOf(id uint32, to []uint32) []uint32 {
	switch value := ix.posted[id]; value {
	case none:
		return to
	case several:
		return append(to, ix.more[id]...)
	default:
		return append(to, value)
	}
}

// remember notes that id is posted under the values in after.
func (ix *index[T, V]) remember(id uint32) {
	if ix.posted[id] == several {
		delete(ix.more, id)
	}
	switch len(ix.after) {
	case 0:
		ix.posted[id] = none
	case 1:
		ix.posted[id] = ix.after[0]
	default:
		if ix.more == nil {
			ix.more = make(map[uint32][]uint32)
		}
		ix.posted[id] = several
		ix.more[id] = slices.Clone(ix.after)
	}
}

func (ix *index[T, V]) rollback(view indexView) {
	ix.published = view.(*values[V])
	ix.values.rollback(ix.published.view)
	clear(ix.posted)
	clear(ix.more)
	for value := range ix.values.ids {
		ix.values.value(value).each(func(id uint32) {
			ix.before = ix.valuesOf(id, ix.before[:0])
			ix.after = append(ix.after[:0], ix.before...)
			ix.after = append(ix.after, value)
			slices.Sort(ix.after)
			ix.remember(id)
		})
	}
}
