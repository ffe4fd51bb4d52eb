package indexer

import (
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
		// A key's bucket is decided by its hash, so that buckets are fair samples.
		buckets := int(v.mask) + 1
		wanted := (n*buckets + v.length - 1) / v.length
		step := max(1, buckets/max(1, wanted))
		for i := 0; i < buckets; i += step {
			for _, entry := range *v.buckets.at(uint32(i)) {
				at := v.slots.at(uint32(entry))
				if !yield(at.key, at.value) {
					return
				}
			}
		}
	}
}

// IndexNames returns the names of the indexes, in a slice of the caller's.
func (s *Snapshot[T]) IndexNames() []string {
	names := make([]string, 0, len(s.indexes))
	for i := range s.indexes {
		names = append(names, s.indexes[i].name)
	}
	return names
}

// ValuesOf returns the values under which an index has the object of key, in
// order; none if there is no such object. It looks at all values of the index:
// it is for explanations, not for lookups. Errors: ErrUnknownIndex.
func (s *Snapshot[T]) ValuesOf(name, key string) ([]string, error) {
	values, err := s.index(name)
	if err != nil {
		return nil, err
	}
	var found []string
	for id := range values.ids {
		if at := values.slots.at(id); holds(at.value, &s.objects, key) {
			found = append(found, at.key)
		}
	}
	slices.Sort(found)
	return found, nil
}

// holds reports whether the tree under n has the id of key.
func holds[V any](n *idNode, v *view[V], key string) bool {
	if n == nil {
		return false
	}
	for n.children != nil {
		n = n.children[childOf(n, v, key)]
	}
	at := lowerBound(n.ids, v, key)
	return at < len(n.ids) && v.key(n.ids[at]) == key
}
