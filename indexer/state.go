package indexer

import (
	"slices"
	"strings"
)

// state is all that the writer has. Snapshots share its nodes, never its fields.
type state[T any] struct {
	// generation counts batches; nodes made in the present one may be changed.
	generation *uint64
	objects    table[string, T]
	order      *idNode // ids of objects, in key order
	indexes    []*index[T]
	failures   *failures
}

// newState returns an empty state with room for n objects and indexes of the
// same names and functions as those given.
func newState[T any](n int, indexes []*index[T]) *state[T] {
	generation := uint64(1)
	s := &state[T]{generation: &generation, objects: newTable[string, T](&generation, n), failures: &failures{}}
	for _, ix := range indexes {
		s.indexes = append(s.indexes, newIndex(ix.name, ix.f, &generation))
	}
	return s
}

// ordered edits trees of ids of objects.
func (s *state[T]) ordered() idTree[T] { return idTree[T]{&s.objects.view, *s.generation} }

// set stores object under key, everywhere.
func (s *state[T]) set(key string, object T) {
	id, found := s.objects.find(key)
	if found != nil {
		*s.objects.edit(id) = object
	} else {
		id = s.objects.insert(key, object)
		s.order = s.ordered().insert(s.order, id)
	}
	for _, ix := range s.indexes {
		s.post(ix, id, key, object)
	}
}

// post puts one object, which is stored, into one index.
func (s *state[T]) post(ix *index[T], id uint32, key string, object T) {
	values, failure := call(ix, key, object)
	if failure != nil {
		s.failures.add(failure)
		values = nil
	} else {
		s.failures.remove(ix.name, key)
	}
	ix.set(&s.objects.view, id, values)
}

// call asks an index for its values and survives a panic.
func call[T any](ix *index[T], key string, object T) (values []string, failure *IndexError) {
	defer func() {
		if r := recover(); r != nil {
			values, failure = nil, &IndexError{Index: ix.name, Key: key, Panic: r}
		}
	}()
	return ix.f(object), nil
}

// delete removes key, if it is there, from everywhere.
func (s *state[T]) delete(key string) {
	id, found := s.objects.find(key)
	if found == nil {
		return
	}
	for _, ix := range s.indexes {
		ix.set(&s.objects.view, id, nil)
		s.failures.remove(ix.name, key)
	}
	// Lists find an id by its key, so the key goes last.
	s.order = s.ordered().remove(s.order, id)
	s.objects.remove(id)
}

// fill stores items in an empty state. Of one key the last change counts.
func (s *state[T]) fill(items []Change[T]) {
	byKey := func(a, b Change[T]) int { return strings.Compare(a.Key, b.Key) }
	if !slices.IsSortedFunc(items, byKey) { // servers list in key order
		items = slices.Clone(items)
		slices.SortStableFunc(items, byKey)
	}
	ids := make([]uint32, 0, len(items))
	for i, item := range items {
		if i+1 < len(items) && items[i+1].Key == item.Key || item.Delete {
			continue
		}
		id := s.objects.insert(item.Key, item.Object)
		ids = append(ids, id)
		for _, ix := range s.indexes {
			s.post(ix, id, item.Key, item.Object)
		}
	}
	s.order = s.ordered().build(ids)
}

// publish returns the snapshot of the state and starts a new generation, so that
// nothing which the snapshot refers to is ever changed. previous is the snapshot
// before, whose indexes are taken over if none changed; nil if there is none.
func (s *state[T]) publish(resourceVersion string, previous *Snapshot[T]) *Snapshot[T] {
	next := &Snapshot[T]{objects: s.objects.view, order: s.order, resourceVersion: resourceVersion}
	dirty := previous == nil
	for _, ix := range s.indexes {
		dirty = dirty || ix.dirty
		ix.dirty = false
	}
	if dirty {
		next.indexes = make([]indexView, len(s.indexes))
		for i, ix := range s.indexes {
			next.indexes[i] = ix.view()
		}
	} else {
		next.indexes = previous.indexes
	}
	*s.generation++
	return next
}
