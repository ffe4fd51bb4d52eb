package indexer

import (
	"fmt"
	"slices"
	"strings"
)

// state is all that the writer has. Snapshots share its nodes, never its fields.
type state[T any] struct {
	// generation counts batches; nodes made in the present one may be changed.
	generation *uint64
	objects    table[string, T]
	order      *idNode // ids of objects, in key order
	indexes    []postings[T]
	failures   *failures
}

// newState returns an empty state with room for n objects and indexes of the
// same definitions as those given.
func newState[T any](n int, indexes []postings[T]) *state[T] {
	generation := uint64(1)
	s := &state[T]{generation: &generation, objects: newTable[string, T](&generation, n), failures: &failures{}}
	for _, ix := range indexes {
		s.indexes = append(s.indexes, ix.of().begin(&generation))
	}
	return s
}

// define adds an index, which has no objects.
func (s *state[T]) define(d Definition[T]) error {
	if d == nil {
		return fmt.Errorf("%w: it is nil", ErrInvalidIndex)
	}
	if err := d.validate(); err != nil {
		return err
	}
	for _, ix := range s.indexes {
		if ix.of().Name() == d.Name() {
			return fmt.Errorf("%w: %q", ErrIndexExists, d.Name())
		}
	}
	s.indexes = append(s.indexes, d.begin(s.generation))
	return nil
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
		ix.post(s, id, key, object)
	}
}

// delete removes key, if it is there, from everywhere.
func (s *state[T]) delete(key string) {
	id, found := s.objects.find(key)
	if found == nil {
		return
	}
	for _, ix := range s.indexes {
		ix.withdraw(s, id, key)
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
			ix.post(s, id, item.Key, item.Object)
		}
	}
	s.order = s.ordered().build(ids)
}

// publish returns the snapshot of the state and starts a new generation, so that
// nothing which the snapshot refers to is ever changed. previous is the snapshot
// before, whose indexes are taken over if none changed; nil if there is none.
func (s *state[T]) publish(resourceVersion string, previous *Snapshot[T]) *Snapshot[T] {
	next := &Snapshot[T]{objects: s.objects.view, order: s.order, resourceVersion: resourceVersion}
	if previous != nil {
		next.indexes = previous.indexes
	}
	own := false // next.indexes is not shared with previous
	for i, ix := range s.indexes {
		view, fresh := ix.view()
		if fresh && !own {
			next.indexes = append(make([]indexView, 0, len(s.indexes)), next.indexes...)[:len(s.indexes)]
			own = true
		}
		if fresh {
			next.indexes[i] = view
		}
	}
	*s.generation++
	return next
}

// rollback makes the state that of published, the newest snapshot, whatever a
// batch that was given up has left. No node of a snapshot is ever changed, so that
// only what snapshots do not have is made anew, by looking at everything. It calls
// nothing that is not ours.
func (s *state[T]) rollback(published *Snapshot[T]) {
	*s.generation++
	s.objects.rollback(published.objects)
	s.order = published.order
	clear(s.indexes[len(published.indexes):])
	s.indexes = s.indexes[:len(published.indexes)]
	for i, ix := range s.indexes {
		ix.rollback(published.indexes[i])
	}
	s.failures.rollback()
}
