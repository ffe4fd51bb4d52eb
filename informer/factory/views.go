package factory

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/listwatch/listwatch/informer"
)

// Metadata shows the metadata of a resource. If the Factory has a typed informer of
// the same collection, its cache is shown, so ask for that one first; else an
// informer is made that asks the server for metadata only.
//
// The metadata of a typed object shares its maps, slices and strings: reading one
// allocates 288 bytes, and keeping it keeps those parts of the object alive.
// Nothing is kept by the View.
//
// Of a typed informer with a transform or a mapping, or that drops managed fields
// where this does not, no view is made. With WithTransform or WithMapping there is
// always an informer of its own.
// Errors are those of For.
func Metadata(f *Factory, resource schema.GroupVersionResource, options ...Option) (*View[*metav1.PartialObjectMetadata], error) {
	return show(f, resource, options, func(e *entry) func(shared, key) *View[*metav1.PartialObjectMetadata] { return e.metadata })
}

// Unstructured is Metadata for whole objects without a Go type.
//
// To convert a typed object takes as long as to decode it: some 50 microseconds and
// 22 KB for a Pod of two containers (BenchmarkConversion). What is converted is kept
// as long as somebody uses it, so that two readers get the same object, at 0.1
// microseconds. That is for who reads some objects some of the time. Who reads all
// of them all of the time is better served by an informer of its own: WithOwnCopy.
// Fields that the Go type does not have are missing from a converted object.
func Unstructured(f *Factory, resource schema.GroupVersionResource, options ...Option) (*View[*unstructured.Unstructured], error) {
	return show(f, resource, options, func(e *entry) func(shared, key) *View[*unstructured.Unstructured] { return e.unstructured })
}

// show makes a View on a typed informer, or on an informer of T.
func show[T informer.Object](f *Factory, resource schema.GroupVersionResource, options []Option, way func(*entry) func(shared, key) *View[T]) (*View[T], error) {
	r, err := ask[T](f, append([]Option{WithResource(resource)}, options...))
	if err != nil {
		return nil, err
	}
	if e, base, sessions := f.typed(r); base != nil {
		for _, s := range sessions {
			s.hold(e, base)
		}
		v := way(e)(base, r.key)
		if err := addIndexes(f, e, r, v.prefix, v.index); err != nil {
			return nil, err
		}
		return v, nil
	}
	one, err := obtain[T](f, r)
	if err != nil {
		return nil, err
	}
	return newView(r.key, one, "", func(obj T) T { return obj }), nil
}

// typed finds the typed informer that can serve r; there is none if there is one of
// r's own already.
func (f *Factory) typed(r *request) (*entry, shared, []*session) {
	if r.ownCopy || r.changes() {
		return nil, nil, nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, own := f.find(r.key); own != nil {
		return nil, nil, nil
	}
	for _, e := range f.entries {
		k := e.key
		k.as = r.key.as
		isTyped := e.key.as != metadataType && e.key.as != unstructuredType
		if !isTyped || k != r.key || e.changed || e.settings.rest.WithoutManagedFields != r.settings.rest.WithoutManagedFields {
			continue
		}
		if r.key.as == unstructuredType && e.unstructured == nil {
			continue
		}
		if one := e.weak(); one != nil {
			e.strong = one
			return e, one, slices.Clone(f.sessions)
		}
	}
	return nil, nil, nil
}
