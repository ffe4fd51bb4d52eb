package factory

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/listwatch/listwatch/indexer"
	"github.com/listwatch/listwatch/informer"
	"github.com/listwatch/listwatch/reflector"
)

// Option says which informer is asked for, and how it is to be. A nil one is ignored.
type Option func(*request)

// WithResource names the resource, where it does not follow from the type.
func WithResource(resource schema.GroupVersionResource) Option {
	return func(r *request) { r.key.resource = resource }
}

// WithNamespaces reads these namespaces only; without any it reads all. Several
// are listed and watched one by one (see informer.NewJoined). Not for resources
// without namespaces.
func WithNamespaces(namespaces ...string) Option {
	return func(r *request) {
		sorted := slices.Compact(slices.Sorted(slices.Values(namespaces)))
		r.namespaces = sorted
		if slices.Contains(sorted, "") { // which is all
			r.namespaces = nil
		}
		r.key.namespaces = strings.Join(r.namespaces, ",")
	}
}

// WithREST says how the collection is read: reflector.WithoutManagedFields,
// reflector.WithJSON, reflector.WithSharing, reflector.WithClientDecoding and others.
// They add to those given before. Whoever else asks for the informer has to mean the
// same, but for what narrows the collection: reflector.WithShard and the selectors
// make an informer of their own.
func WithREST(options ...reflector.RESTOption) Option {
	return func(r *request) {
		for _, option := range options {
			if option != nil {
				option(&r.settings.rest)
			}
		}
	}
}

// WithLabels reads only objects whose labels match; all with nil.
func WithLabels(selector labels.Selector) Option {
	return WithREST(reflector.WithLabelSelector(selector))
}

// WithFields reads only objects whose fields match; all with nil.
func WithFields(selector fields.Selector) Option {
	return WithREST(reflector.WithFieldSelector(selector))
}

// WithoutManagedFields drops metadata.managedFields before objects are decoded.
func WithoutManagedFields() Option { return WithREST(reflector.WithoutManagedFields()) }

// WithSharing lets objects share their equal parts, which a transform must not write
// to then (see reflector.WithSharing).
func WithSharing(limit int) Option { return WithREST(reflector.WithSharing(limit)) }

// WithJSON asks the server for JSON also where the type has protobuf.
func WithJSON() Option { return WithREST(reflector.WithJSON()) }

// WithReflector configures how the collection is listed and watched, in place of
// Options.Reflector. The Name is not used, and an Absence not with WithWaiting.
// Whoever else asks for the informer has to name the same values; an Observer has to
// be the very same function.
func WithReflector(options reflector.Options) Option {
	return func(r *request) { r.settings.reflector = options }
}

// InformerOptions are those of informer.Options, of the same names, that are of no type
// and have no Option of their own here. See there for what they do.
type InformerOptions struct {
	// MaxPending is the number of deltas that may wait before some are merged.
	MaxPending int
	// DetectMutations looks for objects of the cache that somebody modified.
	DetectMutations bool
	// OnMutation is told of them; nil panics.
	OnMutation func(*informer.Mutation)
	// NewUIDUpdates tells of another UID as of an update. Not for several namespaces.
	NewUIDUpdates bool
	// Instruments are told of each piece of work.
	Instruments informer.Instruments
}

// WithInformer configures the informer, in place of what was given before. Whoever
// else asks for it has to name the same values, as with WithReflector; among
// Options.Defaults it is for all.
func WithInformer(options InformerOptions) Option {
	return func(r *request) { r.settings.informer = options }
}

// WithTransform calls transform for each object received (see
// informer.Options.Transform). T must be the informer's type. Whoever else asks for
// the informer has to name the very same function: a function of a package, not one
// made anew for each call.
func WithTransform[T informer.Object](transform func(T) (T, error)) Option {
	return func(r *request) {
		r.transform = transform
		r.settings.transform = identify(transform)
	}
}

// WithMapping caches what mapping makes of each object received, such as something
// smaller: S is what the server is asked for, T the informer's type (see
// informer.NewMapped).
//
//	slim, err := factory.For[*Slim](f, factory.WithMapping(func(pod *corev1.Pod) (*Slim, error) { … }))
//
// A transform is applied to the result. Whoever else asks for the informer has to
// name the very same function, as with WithTransform.
func WithMapping[S, T informer.Object](mapping func(S) (T, error)) Option {
	return func(r *request) {
		r.mapping = mapped[S, T](mapping)
		r.settings.mapping = identify(mapping)
	}
}

// WithIndex adds an index, if the informer has it not yet. T must be the
// informer's type. Whoever else asks for an index of this name has to name the very
// same function, as with WithTransform.
func WithIndex[T informer.Object](name string, index indexer.Func[T]) Option {
	return func(r *request) {
		r.indexes = append(r.indexes, anyIndex{name: name, function: index, identity: identify(index)})
	}
}

// WithOwnCopy has Metadata and Unstructured make an informer of their own even if
// a typed one could serve.
func WithOwnCopy() Option { return func(r *request) { r.ownCopy = true } }
