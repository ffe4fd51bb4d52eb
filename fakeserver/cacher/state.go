package cacher

import (
	"sort"

	"github.com/tidwall/btree"
)

// treeDegree keeps what one write copies of the tree small.
const treeDegree = 16

// tree holds items under their keys. A published tree (a state) is never
// written again: the writer copies nodes that it shares with one.
type tree = btree.Map[string, *Item]

// state is the collection at one revision, immutable.
type state struct {
	items *tree
	// byTrigger is nil without Options.TriggerField.
	byTrigger *triggerIndex
}

// page is a part of a state.
type page struct {
	items []*Item
	// next is the first key of the following page; "" if there is none.
	next string
	// remaining counts the keys from next on that are in scope.
	remaining int
	// fetched counts the items that were looked at, which those were that an index
	// led to if byIndex.
	fetched int
	byIndex bool
}

// bounds returns the first key of a namespace ("" for all) and the first one
// after it.
func bounds(namespace string) (first, end string) {
	if namespace == "" {
		return "", "\xff"
	}
	return namespace + "/", namespace + string('/'+byte(1))
}

// get returns the item under key, nil if there is none.
func (s state) get(key string) *Item {
	item, _ := s.items.Get(key)
	return item
}

// rank returns how many keys are less than key.
func (s state) rank(key string) int {
	return sort.Search(s.items.Len(), func(i int) bool {
		at, _, _ := s.items.GetAt(i)
		return at >= key
	})
}

// list returns the matching items from key from on, limit of them at most if it
// is greater than 0.
func (s state) list(predicate *Predicate, from string, limit int64) page {
	if predicate.Name != "" {
		if item, exact := s.single(predicate); exact {
			if item == nil || item.Key < from {
				return page{}
			}
			return page{items: []*Item{item}, fetched: 1}
		}
	}
	first, end := bounds(predicate.Namespace)
	result := page{items: []*Item{}}
	_, result.byIndex = s.byTrigger.serves(predicate)
	if !predicate.selective() {
		size := max(0, s.rank(end)-s.rank(max(first, from)))
		if limit > 0 {
			size = min(size, int(limit))
		}
		result.items = make([]*Item, 0, size)
	}
	s.ascend(predicate, max(first, from), end, func(item *Item) bool {
		result.fetched++
		if predicate.matches(item) {
			result.items = append(result.items, item)
		}
		return limit <= 0 || int64(len(result.items)) < limit
	})
	if n := len(result.items); limit > 0 && int64(n) == limit {
		next := result.items[n-1].Key + "\x00"
		if s.any(next, end) {
			result.next = next
			result.remaining = s.rank(end) - s.rank(next)
		}
	}
	return result
}

// ascend visits the items with keys from from to end, which is not included, that
// a predicate can match: all of them, unless an index leads to fewer.
func (s state) ascend(predicate *Predicate, from, end string, visit func(item *Item) bool) {
	if value, ok := s.byTrigger.serves(predicate); ok {
		s.byTrigger.ascend(value, from, func(key string) bool {
			if key >= end {
				return false
			}
			item := s.get(key)
			return item == nil || visit(item)
		})
		return
	}
	s.items.Ascend(from, func(key string, item *Item) bool { return key < end && visit(item) })
}

// any says whether there is a key from from to end, which is not included.
func (s state) any(from, end string) bool {
	found := false
	s.items.Ascend(from, func(key string, _ *Item) bool {
		found = key < end
		return false
	})
	return found
}

// single looks up the one key that a predicate with a name can match. It
// reports false if the namespace is unknown, so that several may match.
func (s state) single(predicate *Predicate) (*Item, bool) {
	item := s.get(joinKey(predicate.Namespace, predicate.Name))
	if item == nil && predicate.Namespace == "" {
		return nil, false
	}
	if !predicate.matches(item) {
		return nil, true
	}
	return item, true
}

// chunk appends up to size matching items from key from on to into, and returns
// the key to go on at, "" at the end.
func (s state) chunk(predicate *Predicate, from string, size int, into []*Item) ([]*Item, string) {
	first, end := bounds(predicate.Namespace)
	next := ""
	seen := 0
	s.ascend(predicate, max(first, from), end, func(item *Item) bool {
		if seen == size {
			next = item.Key
			return false
		}
		seen++
		if predicate.matches(item) {
			into = append(into, item)
		}
		return true
	})
	return into, next
}
