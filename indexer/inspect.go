package indexer

import (
	"fmt"
	"iter"
	"slices"
)

// Sample yields about n objects (all, if there are not many more), which are as
// good as drawn at random, for estimates of what all are like. Each of them comes
// once, in no particular order.
func (s *Snapshot[T]) Sample(n int) iter.Seq2[string, T] {
	return func(yield func(string, T) bool) {
		v := &s.objects
		if n <= 0 || v.length == 0 {
			return
		}
		// A key's place is decided by its hash, so that blocks are fair samples.
		blocks := (int(v.mask) + 1) >> blockBits
		wanted := (n*blocks + v.length - 1) / v.length
		step := max(1, blocks/max(1, wanted))
		for i := 0; i < blocks; i += step {
			for _, entry := range v.hashes.at(uint32(i)) {
				if entry != 0 && !yield(v.key(uint32(entry)), v.value(uint32(entry))) {
					return
				}
			}
		}
	}
}

// IndexNames returns the names of the indexes, in a slice of the caller's.
func (s *Snapshot[T]) IndexNames() []string {
	names := make([]string, 0, len(s.indexes))
	for _, view := range s.indexes {
		names = append(names, view.name())
	}
	return names
}

// ValuesOf returns the values under which an index has the object of key, as
// text, in order; none if there is no such object. It looks at all values of the
// index: it is for explanations, not for lookups. Errors: ErrUnknownIndex.
func (s *Snapshot[T]) ValuesOf(name, key string) ([]string, error) {
	i := slices.IndexFunc(s.indexes, func(view indexView) bool { return view.name() == name })
	if i < 0 {
		return nil, fmt.Errorf("%w: %q", ErrUnknownIndex, name)
	}
	var found []string
	for value, ids := range s.indexes[i].each {
		if holds(ids, &s.objects, key) {
			found = append(found, fmt.Sprint(value))
		}
	}
	slices.Sort(found)
	return found, nil
}

// holds reports whether the tree under n has the id of key.
func holds[T any](n *idNode, v *view[string, T], key string) bool {
	if n == nil {
		return false
	}
	for n.children != nil {
		n = n.children[childOf(n, v, key)]
	}
	at := lowerBound(n.ids, v, key)
	return at < len(n.ids) && v.key(n.ids[at]) == key
}
