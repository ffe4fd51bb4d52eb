package indexer

import (
	"fmt"
	"iter"
)

// Func returns the values under which obj is found in an index; the same value
// twice counts once. It must depend on obj only. It runs in the writer's
// goroutine and must not call the Indexer's Apply, Replace, AddIndex or Define.
type Func[T any] func(obj T) []string

// Definition is an index with values of any type: an *Index.
type Definition[T any] interface {
	// Name is what errors call the index.
	Name() string

	validate() error
	begin(generation *uint64) postings[T]
}

// Index is a definition of an index of objects T by values V, and the way to
// query it, without names and conversions. Make it with NewIndex, once, usually
// in a variable of a package; give it to any number of Indexers, in
// Options.Defined or by Define; then ask a Snapshot of any of them. It never
// changes, so that all methods may be called concurrently.
//
// Objects, Len and Values panic with an error that wraps ErrUnknownIndex if the
// snapshot's Indexer was not given the Index, or later than the snapshot was
// taken: only a programmer can cause that.
type Index[T any, V comparable] struct {
	name   string
	values func(T) ([]V, error)
}

// NewIndex defines an index. What is said of Func goes for values, too. A value
// that differs from itself, such as a NaN, is an error.
func NewIndex[T any, V comparable](name string, values func(obj T) []V) *Index[T, V] {
	if values == nil {
		return &Index[T, V]{name: name}
	}
	return &Index[T, V]{name: name, values: func(obj T) ([]V, error) { return values(obj), nil }}
}

// NewFallibleIndex is NewIndex for a function that can fail. An error is treated
// as a panic is: the object is missing from this index, and from nothing else,
// until it changes, and Options.OnError and Indexer.Errors tell. What is returned
// along with an error is ignored.
func NewFallibleIndex[T any, V comparable](name string, values func(obj T) ([]V, error)) *Index[T, V] {
	return &Index[T, V]{name: name, values: values}
}

// Name returns the name, which is unique within an Indexer.
func (x *Index[T, V]) Name() string { return x.name }

// Objects yields the keys and objects that have value in s, in key order, without
// copying.
func (x *Index[T, V]) Objects(s *Snapshot[T], value V) iter.Seq2[string, T] {
	return s.walk(x.tree(s, value), "", "")
}

// Len returns how many objects have value in s. It does not walk over them.
func (x *Index[T, V]) Len(s *Snapshot[T], value V) int {
	if ids := x.tree(s, value); ids != nil {
		return int(ids.size)
	}
	return 0
}

// Values yields the values that objects have in s, once each, in no particular
// order.
func (x *Index[T, V]) Values(s *Snapshot[T]) iter.Seq[V] {
	return func(yield func(V) bool) {
		values := x.of(s)
		for id := range values.ids {
			if !yield(values.key(id)) {
				return
			}
		}
	}
}

func (x *Index[T, V]) tree(s *Snapshot[T], value V) *idNode { return x.of(s).tree(value) }

// of returns the index in a snapshot.
func (x *Index[T, V]) of(s *Snapshot[T]) *values[V] {
	found, err := x.find(s.indexes)
	if err != nil {
		panic(err)
	}
	return found
}

func (x *Index[T, V]) find(indexes []indexView) (*values[V], error) {
	for _, view := range indexes {
		if found, ok := view.(*values[V]); ok && found.definition == x {
			return found, nil
		}
	}
	return nil, fmt.Errorf("%w: %q is not an index of this snapshot", ErrUnknownIndex, x.name)
}

func (x *Index[T, V]) validate() error {
	switch {
	case x == nil:
		return fmt.Errorf("%w: it is nil", ErrInvalidIndex)
	case x.name == "":
		return fmt.Errorf("%w: it has no name", ErrInvalidIndex)
	case x.values == nil:
		return fmt.Errorf("%w: %q has no function", ErrInvalidIndex, x.name)
	}
	return nil
}

// call asks for the values of one object and survives a panic.
func (x *Index[T, V]) call(key string, object T) (values []V, failure *IndexError) {
	defer func() {
		if r := recover(); r != nil {
			values, failure = nil, &IndexError{Index: x.name, Key: key, Panic: r}
		}
	}()
	values, err := x.values(object)
	if err != nil {
		return nil, &IndexError{Index: x.name, Key: key, Err: err}
	}
	for _, value := range values {
		if value != value { // nobody could find it; panics if it cannot be compared
			return nil, &IndexError{Index: x.name, Key: key, Err: fmt.Errorf("the value %v differs from itself", value)}
		}
	}
	return values, nil
}

// indexView is one index of a snapshot: a *values.
type indexView interface {
	name() string
	// each yields all values and the trees of the ids that have them.
	each(yield func(value any, ids *idNode) bool)
}

// values is the state of an index that snapshots share: the ids of objects, in
// key order, by value.
type values[V comparable] struct {
	definition any // an *Index[T, V]
	indexName  string
	view[V, *idNode]
}

func (v *values[V]) name() string { return v.indexName }

func (v *values[V]) each(yield func(value any, ids *idNode) bool) {
	for id := range v.ids {
		if !yield(v.key(id), v.value(id)) {
			return
		}
	}
}

// tree returns the ids that have value, nil if there is none.
func (v *values[V]) tree(value V) *idNode {
	if _, ids := v.find(value); ids != nil {
		return *ids
	}
	return nil
}
