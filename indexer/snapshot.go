package indexer

import (
	"fmt"
	"iter"
	"slices"
)

// Snapshot is one state of the collection. It never changes, so all methods may
// be called concurrently, for as long as it is kept; none takes a lock. Objects
// are shared with all other readers and must not be changed.
type Snapshot[T any] struct {
	objects         view[string, T]
	order           *idNode
	indexes         []indexView
	resourceVersion string
	sequence        uint64 // one more than that of the snapshot before
}

// ResourceVersion returns that of the collection, as the writer gave it; "" at
// first.
func (s *Snapshot[T]) ResourceVersion() string { return s.resourceVersion }

// Len returns how many objects there are.
func (s *Snapshot[T]) Len() int { return s.objects.length }

// Get returns the object under key and whether there is one.
func (s *Snapshot[T]) Get(key string) (T, bool) {
	if _, object := s.objects.find(key); object != nil {
		return *object, true
	}
	var zero T
	return zero, false
}

// Entry is Get that also returns the key as it is stored, for a caller whose own
// key is part of a buffer and that would have to copy it.
func (s *Snapshot[T]) Entry(key string) (stored string, object T, found bool) {
	if id, found := s.objects.find(key); found != nil {
		return s.objects.key(id), *found, true
	}
	return "", object, false
}

// All yields every key and object in key order, without copying.
func (s *Snapshot[T]) All() iter.Seq2[string, T] { return s.walk(s.order, "", "") }

// walk yields keys and objects of a tree from the first key >= from to the last
// key < to; "" means from the beginning, to the end. It is written so that the
// compiler can put the body of a loop over it into it.
func (s *Snapshot[T]) walk(root *idNode, from, to string) iter.Seq2[string, T] {
	return func(yield func(string, T) bool) {
		var c cursor[T]
		for c.start(&s.objects, root, from, to); c.next(); {
			for id, n := c.first, c.count; n > 0; {
				keys, objects := s.objects.together(id, n)
				id += uint32(len(objects))
				n -= uint32(len(objects))
				for i, object := range objects {
					if !yield(keys[i], object) {
						return
					}
				}
			}
		}
	}
}

// Keys returns all keys in order, in a slice of the caller's.
func (s *Snapshot[T]) Keys() []string {
	keys := make([]string, 0, s.Len())
	var c cursor[T]
	for c.start(&s.objects, s.order, "", ""); c.next(); {
		for id, n := c.first, c.count; n > 0; {
			some, _ := s.objects.together(id, n)
			keys = append(keys, some...)
			id += uint32(len(some))
			n -= uint32(len(some))
		}
	}
	return keys
}

// List returns all objects in key order, in a slice of the caller's.
func (s *Snapshot[T]) List() []T {
	objects := make([]T, 0, s.Len())
	var c cursor[T]
	for c.start(&s.objects, s.order, "", ""); c.next(); {
		for id, n := c.first, c.count; n > 0; {
			_, some := s.objects.together(id, n)
			objects = append(objects, some...)
			id += uint32(len(some))
			n -= uint32(len(some))
		}
	}
	return objects
}

// ByIndex yields the keys and objects that an index has under value, in key
// order, without copying. Errors: ErrUnknownIndex.
func (s *Snapshot[T]) ByIndex(name, value string) (iter.Seq2[string, T], error) {
	values, err := byName(s.indexes, name)
	if err != nil {
		return nil, err
	}
	return s.walk(values.tree(value), "", ""), nil
}

// Matches reports whether an index would have obj under value. obj need not be in
// the snapshot: it may be a later version, or what is only being written. An object
// that the index function fails for matches nothing. Errors: ErrUnknownIndex.
func (s *Snapshot[T]) Matches(name, value string, obj T) (bool, error) {
	found, err := byName(s.indexes, name)
	if err != nil {
		return false, err
	}
	values, _ := found.definition.(*Index[T, string]).call("", obj) // a failure has no values
	return slices.Contains(values, value), nil
}

// IndexLen returns how many objects an index has under value. It does not walk
// over them. Errors: ErrUnknownIndex.
func (s *Snapshot[T]) IndexLen(name, value string) (int, error) {
	values, err := byName(s.indexes, name)
	if err != nil {
		return 0, err
	}
	if ids := values.tree(value); ids != nil {
		return int(ids.size), nil
	}
	return 0, nil
}

// IndexValues returns the values under which an index has objects, in order, in
// a slice of the caller's. Errors: ErrUnknownIndex.
func (s *Snapshot[T]) IndexValues(name string) ([]string, error) {
	values, err := byName(s.indexes, name)
	if err != nil {
		return nil, err
	}
	found := make([]string, 0, values.length)
	for id := range values.ids {
		found = append(found, values.key(id))
	}
	slices.Sort(found)
	return found, nil
}

// byName returns an index by its name. Only those whose values are strings can be
// asked like that.
func byName(indexes []indexView, name string) (*values[string], error) {
	for _, view := range indexes {
		if view.name() != name {
			continue
		}
		if found, ok := view.(*values[string]); ok {
			return found, nil
		}
		return nil, fmt.Errorf("%w: the values of %q are no strings", ErrUnknownIndex, name)
	}
	return nil, fmt.Errorf("%w: %q", ErrUnknownIndex, name)
}
