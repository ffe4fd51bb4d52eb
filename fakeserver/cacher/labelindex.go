package cacher

import (
	"slices"

	"k8s.io/apimachinery/pkg/labels"
	operators "k8s.io/apimachinery/pkg/selection"
)

// mostIndexed is up to how many values of a label a selector may allow so that
// its watcher is found by them: it stands in a list for each.
const mostIndexed = 16

// requiredLabel is a label that a selector requires with one of some values.
type requiredLabel struct {
	key    string
	values []string
	// slots are where the watcher stands in the lists of values.
	slots []int
}

// requiredLabelOf finds the label of a selector that allows the fewest values,
// nil if there is none to find a watcher by.
func requiredLabelOf(selector labels.Selector) *requiredLabel {
	if selector == nil {
		return nil
	}
	requirements, _ := selector.Requirements()
	var best *requiredLabel
	for _, required := range requirements {
		switch required.Operator() {
		case operators.In, operators.Equals, operators.DoubleEquals:
		default:
			continue
		}
		values := slices.Compact(slices.Sorted(slices.Values(required.ValuesUnsorted())))
		if len(values) > mostIndexed || (best != nil && len(best.values) <= len(values)) {
			continue
		}
		best = &requiredLabel{key: required.Key(), values: values}
	}
	if best != nil {
		best.slots = make([]int, len(best.values))
	}
	return best
}

// in says whether a set has what is required.
func (l *requiredLabel) in(set labels.Set) bool {
	value, ok := set[l.key]
	return ok && slices.Contains(l.values, value)
}

// labelIndex holds watchers by a label that they require, key and value: one
// that does not match costs nothing then. Each stands in one list for each value
// that it allows, all of the same key, so an object leads to it once.
type labelIndex map[string]map[string][]labelPlace

// labelPlace is a watcher and which of its values the list is about.
type labelPlace struct {
	watcher *Watcher
	value   int
}

func (x labelIndex) add(w *Watcher) {
	byValue := x[w.label.key]
	if byValue == nil {
		byValue = map[string][]labelPlace{}
		x[w.label.key] = byValue
	}
	for i, value := range w.label.values {
		w.label.slots[i] = len(byValue[value])
		byValue[value] = append(byValue[value], labelPlace{w, i})
	}
}

func (x labelIndex) remove(w *Watcher) {
	byValue := x[w.label.key]
	for i, value := range w.label.values {
		list, slot := byValue[value], w.label.slots[i]
		last := len(list) - 1
		moved := list[last]
		list[slot] = moved
		moved.watcher.label.slots[moved.value] = slot
		list[last] = labelPlace{}
		if byValue[value] = list[:last]; last == 0 {
			delete(byValue, value)
		}
	}
	if len(byValue) == 0 {
		delete(x, w.label.key)
	}
}

// appendAll appends every watcher, once, in no order.
func (x labelIndex) appendAll(to []*Watcher) []*Watcher {
	for _, byValue := range x {
		for _, list := range byValue {
			for _, place := range list {
				if place.value == 0 {
					to = append(to, place.watcher)
				}
			}
		}
	}
	return to
}

// showLabelled shows a change to those who require a label that the object has
// or had. Who finds it by both sees it once.
func (r *registry) showLabelled(added *change, index labelIndex) {
	prev, next := added.prev, added.next
	if next != nil {
		for key, value := range next.Labels {
			for _, place := range index[key][value] {
				r.show(added, place.watcher)
			}
		}
	}
	if prev == nil || (next != nil && added.sameLabels()) {
		return
	}
	for key, value := range prev.Labels {
		for _, place := range index[key][value] {
			if next == nil || !place.watcher.label.in(next.Labels) {
				r.show(added, place.watcher)
			}
		}
	}
}
