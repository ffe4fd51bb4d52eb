package informer

import (
	"maps"
)

// Predicate says whether an update is worth a call. It must depend on its
// arguments only, and must not change them.
type Predicate func(old, updated Object) bool

// WithPredicates tells the handler only of updates for which any of the
// predicates is true; adds and deletes, also those that a filter makes of an
// update, and resyncs are always told. For such a handler the old object of an
// update is the version directly before, which it may not have been told. With
// WithLatestOnly it is the version at which the handler was last.
//
// Without any predicate all updates are told.
func WithPredicates(any ...Predicate) HandlerOption {
	return func(c *handlerConfig) { c.predicates = append(c.predicates, any...) }
}

// PredicateOf makes a Predicate of a function over the type of the objects; of
// another type everything counts as changed.
func PredicateOf[T Object](changed func(old, updated T) bool) Predicate {
	return func(old, updated Object) bool {
		before, ok := old.(T)
		now, also := updated.(T)
		return !ok || !also || changed(before, now)
	}
}

// GenerationChanged is true if metadata.generation differs, which is what the
// server raises when the spec changes, not when only status or metadata do. Of
// kinds that keep no generation every update counts as a change.
func GenerationChanged(old, updated Object) bool {
	return old.GetGeneration() != updated.GetGeneration() || updated.GetGeneration() == 0
}

// LabelsChanged is true if metadata.labels differ.
func LabelsChanged(old, updated Object) bool {
	return !maps.Equal(old.GetLabels(), updated.GetLabels())
}

// AnnotationsChanged is true if metadata.annotations differ.
func AnnotationsChanged(old, updated Object) bool {
	return !maps.Equal(old.GetAnnotations(), updated.GetAnnotations())
}

// ResourceVersionChanged is true if metadata.resourceVersion differs, or if a
// transform removed it.
func ResourceVersionChanged(old, updated Object) bool {
	return old.GetResourceVersion() != updated.GetResourceVersion() || updated.GetResourceVersion() == ""
}

// changed says whether an update is worth telling.
func (t *teller[T]) changed(n *notice[T]) bool {
	for _, changed := range t.predicates {
		if changed(n.old, n.obj) {
			return true
		}
	}
	return len(t.predicates) == 0
}
