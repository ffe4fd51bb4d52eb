package indexer

import (
	"fmt"
	"iter"
	"slices"
	"strings"
)

// Snapshot is one state of the collection. It never changes, so all methods may
// be called concurrently, for as long as it is kept; none takes a lock. Objects
// are shared with all other readers and must not be changed.
type Snapshot[T any] struct {
	objects         view[T]
	order           *idNode
	indexes         []indexView
	resourceVersion string
}

// ResourceVersion returns that of the collection, as the writer gave it; "" at
// first.
func (s *Snapshot[T]) ResourceVersion() string { return s.resourceVersion }

// Len returns how many objects there are.
func (s *Snapshot[T]) Len() int { return s.objects.length }

// Get returns the object under key and whether there is one.
func (s *Snapshot[T]) Get(key string) (T, bool) {
	if _, at := s.objects.find(key); at != nil {
		return at.value, true
	}
	var zero T
	return zero, false
}

// Entry is Get that also returns the key as it is stored, for a caller whose own
// key is part of a buffer and that would have to copy it.
func (s *Snapshot[T]) Entry(key string) (stored string, object T, found bool) {
	if _, at := s.objects.find(key); at != nil {
		return at.key, at.value, true
	}
	return "", object, false
}

// All yields every key and object in key order, without copying.
func (s *Snapshot[T]) All() iter.Seq2[string, T] {
	return func(yield func(string, T) bool) {
		walk(s.order, &s.objects, "", yield)
	}
}

// Keys returns all keys in order, in a slice of the caller's.
func (s *Snapshot[T]) Keys() []string {
	keys := make([]string, 0, s.Len())
	for key := range s.All() {
		keys = append(keys, key)
	}
	return keys
}

// List returns all objects in key order, in a slice of the caller's.
func (s *Snapshot[T]) List() []T {
	objects := make([]T, 0, s.Len())
	for _, object := range s.All() {
		objects = append(objects, object)
	}
	return objects
}

// Namespace yields keys and objects of one namespace, those with keys
// "namespace/…", in key order, without copying. The namespace "" has the keys
// without a slash, those of cluster-scoped objects; to find them it looks at
// every key.
func (s *Snapshot[T]) Namespace(namespace string) iter.Seq2[string, T] {
	return func(yield func(string, T) bool) {
		if namespace == "" {
			for key, object := range s.All() {
				if !strings.Contains(key, "/") && !yield(key, object) {
					return
				}
			}
			return
		}
		prefix := namespace + "/"
		walk(s.order, &s.objects, prefix, func(key string, object T) bool {
			return strings.HasPrefix(key, prefix) && yield(key, object)
		})
	}
}

// ByIndex yields the keys and objects that an index has under value, in key
// order, without copying. Errors: ErrUnknownIndex.
func (s *Snapshot[T]) ByIndex(name, value string) (iter.Seq2[string, T], error) {
	values, err := s.index(name)
	if err != nil {
		return nil, err
	}
	return func(yield func(string, T) bool) {
		if _, at := values.find(value); at != nil {
			walk(at.value, &s.objects, "", yield)
		}
	}, nil
}

// IndexValues returns the values under which an index has objects, in order, in
// a slice of the caller's. Errors: ErrUnknownIndex.
func (s *Snapshot[T]) IndexValues(name string) ([]string, error) {
	values, err := s.index(name)
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

func (s *Snapshot[T]) index(name string) (*view[*idNode], error) {
	for i := range s.indexes {
		if s.indexes[i].name == name {
			return &s.indexes[i].values, nil
		}
	}
	return nil, fmt.Errorf("%w: %q", ErrUnknownIndex, name)
}
