package indexer

import (
	"fmt"
	"iter"
	"strings"

	"github.com/tidwall/btree"
)

// Snapshot is one immutable state of the collection.
type Snapshot[T any] struct {
	objects         *btree.Map[string, T]
	indexes         map[string]*index[T]
	resourceVersion string
}

func (s *Snapshot[T]) copy(resourceVersion string) *Snapshot[T] {
	next := &Snapshot[T]{objects: s.objects.Copy(), indexes: map[string]*index[T]{}, resourceVersion: resourceVersion}
	for name, ix := range s.indexes {
		next.indexes[name] = &index[T]{name: name, f: ix.f, values: ix.values.Copy()}
	}
	return next
}

// ResourceVersion is that of the collection.
func (s *Snapshot[T]) ResourceVersion() string { return s.resourceVersion }

// Len is how many objects there are.
func (s *Snapshot[T]) Len() int { return s.objects.Len() }

// Get returns the object under key.
func (s *Snapshot[T]) Get(key string) (T, bool) { return s.objects.Get(key) }

// All yields every object in key order.
func (s *Snapshot[T]) All() iter.Seq2[string, T] {
	return func(yield func(string, T) bool) { s.objects.Scan(yield) }
}

// Keys returns all keys in order.
func (s *Snapshot[T]) Keys() []string { return s.objects.Keys() }

// List returns all objects in key order.
func (s *Snapshot[T]) List() []T { return s.objects.Values() }

// Namespace yields the objects with keys "ns/…", in key order.
func (s *Snapshot[T]) Namespace(ns string) iter.Seq2[string, T] {
	return func(yield func(string, T) bool) {
		s.objects.Ascend(ns+"/", func(key string, obj T) bool {
			return strings.HasPrefix(key, ns+"/") && yield(key, obj)
		})
	}
}

// ByIndex yields the objects that the index has under value, in key order.
func (s *Snapshot[T]) ByIndex(name, value string) (iter.Seq2[string, T], error) {
	ix := s.indexes[name]
	if ix == nil {
		return nil, fmt.Errorf("%w: %q", ErrUnknownIndex, name)
	}
	keys, _ := ix.values.Get(value)
	return func(yield func(string, T) bool) {
		if keys != nil {
			keys.Scan(yield)
		}
	}, nil
}

// IndexValues returns the values of the index, in order.
func (s *Snapshot[T]) IndexValues(name string) ([]string, error) {
	ix := s.indexes[name]
	if ix == nil {
		return nil, fmt.Errorf("%w: %q", ErrUnknownIndex, name)
	}
	return ix.values.Keys(), nil
}
