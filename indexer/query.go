package indexer

import (
	"fmt"
	"iter"
	"slices"
	"strings"
)

// Query is a question to a Snapshot that an Indexer can watch: Key, Prefix,
// Namespace, or a Term.
type Query interface {
	// place is where changes that may change the answer are noted.
	place() place
	// check says whether snapshots with these indexes can answer.
	check(indexes []indexView) error
}

// Key asks for the object of one key.
func Key(key string) Query { return byKey{kind: keyPlace, text: key} }

// Prefix asks for the objects whose keys begin with prefix, "" for all objects.
func Prefix(prefix string) Query { return byKey{kind: prefixPlace, text: prefix} }

// Namespace asks for the objects of one namespace, as Snapshot.Namespace does.
func Namespace(namespace string) Query {
	if namespace == "" {
		return byKey{kind: clusterPlace}
	}
	return Prefix(namespace + "/")
}

// byKey is a Query about keys.
type byKey place

func (q byKey) place() place            { return place(q) }
func (q byKey) check([]indexView) error { return nil }

// Term is a condition: that an object has a value in an index. Is makes one, and
// so does the method Is of an Index.
type Term interface {
	Query
	// tree returns the ids of the objects that satisfy the term.
	tree(indexes []indexView) (*idNode, error)
}

// Is says that an object has value in the index of the given name, whose values
// are strings.
func Is(index, value string) Term { return named{index, value} }

// named is a Term about an index that is known by name.
type named struct{ index, value string }

func (t named) tree(indexes []indexView) (*idNode, error) {
	values, err := byName(indexes, t.index)
	if err != nil {
		return nil, err
	}
	return values.tree(t.value), nil
}

func (t named) place() place { return place{kind: valuePlace, text: t.index, value: t.value} }

func (t named) check(indexes []indexView) error {
	_, err := byName(indexes, t.index)
	return err
}

// Is says that an object has value in the index.
func (x *Index[T, V]) Is(value V) Term { return typed[T, V]{x, value} }

// typed is a Term about an Index.
type typed[T any, V comparable] struct {
	index *Index[T, V]
	value V
}

func (t typed[T, V]) tree(indexes []indexView) (*idNode, error) {
	values, err := t.index.find(indexes)
	if err != nil {
		return nil, err
	}
	return values.tree(t.value), nil
}

func (t typed[T, V]) place() place {
	return place{kind: valuePlace, text: t.index.name, value: t.value}
}

func (t typed[T, V]) check(indexes []indexView) error {
	_, err := t.index.find(indexes)
	return err
}

// ByIndexes yields the keys and objects that satisfy all terms, in key order,
// without copying; all that there are if there is no term. It walks over the
// objects of the term that has the fewest and looks each up in the others. Errors:
// ErrUnknownIndex, also for a nil term.
func (s *Snapshot[T]) ByIndexes(terms ...Term) (iter.Seq2[string, T], error) {
	trees := make([]*idNode, 0, len(terms))
	for k, term := range terms {
		if term == nil {
			return nil, fmt.Errorf("%w: term %d of %d is nil", ErrUnknownIndex, k+1, len(terms))
		}
		ids, err := term.tree(s.indexes)
		if err != nil {
			return nil, err
		}
		trees = append(trees, ids)
	}
	if slices.Contains(trees, nil) {
		return s.walk(nil, "", ""), nil
	}
	slices.SortFunc(trees, func(a, b *idNode) int { return int(a.size - b.size) })
	switch len(trees) {
	case 0:
		return s.All(), nil
	case 1:
		return s.walk(trees[0], "", ""), nil
	}
	return s.intersect(trees[0], trees[1:]), nil
}

// intersect yields what is under all trees.
func (s *Snapshot[T]) intersect(smallest *idNode, others []*idNode) iter.Seq2[string, T] {
	return func(yield func(string, T) bool) {
		for key, object := range s.walk(smallest, "", "") {
			inAll := true
			for _, ids := range others {
				if inAll = holds(ids, &s.objects, key); !inAll {
					break
				}
			}
			if inAll && !yield(key, object) {
				return
			}
		}
	}
}

// Prefix yields keys and objects whose key begins with prefix, in key order,
// without copying.
func (s *Snapshot[T]) Prefix(prefix string) iter.Seq2[string, T] {
	return s.walk(s.order, prefix, afterPrefix(prefix))
}

// Range yields keys and objects with from <= key < to, in key order, without
// copying; to = "" means to the end. With from = key + "\x00" it goes on behind
// key, for reading page by page.
func (s *Snapshot[T]) Range(from, to string) iter.Seq2[string, T] {
	return s.walk(s.order, from, to)
}

// Namespace yields keys and objects of one namespace, those with keys
// "namespace/…", in key order, without copying. The namespace "" has the keys
// without a slash, those of cluster-scoped objects; to find them it looks at
// every key.
func (s *Snapshot[T]) Namespace(namespace string) iter.Seq2[string, T] {
	if namespace == "" {
		return func(yield func(string, T) bool) {
			for key, object := range s.All() {
				if !strings.Contains(key, "/") && !yield(key, object) {
					return
				}
			}
		}
	}
	return s.Prefix(namespace + "/")
}

// afterPrefix returns the first string that is behind all those which begin with
// prefix, "" if there is none.
func afterPrefix(prefix string) string {
	for i := len(prefix) - 1; i >= 0; i-- {
		if prefix[i] < 0xff {
			return prefix[:i] + string([]byte{prefix[i] + 1})
		}
	}
	return ""
}
