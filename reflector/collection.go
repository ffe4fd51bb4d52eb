package reflector

import (
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Collection says what a Source reads, for people, Status and metrics. All of it
// is optional.
type Collection struct {
	// Group, Version and Resource as in the server's URLs: "apps", "v1",
	// "deployments".
	Group, Version, Resource string
	// Namespace is the only one that is read; "" means all, or none where
	// objects have no namespace.
	Namespace string
	// LabelSelector and FieldSelector narrow the collection.
	LabelSelector, FieldSelector string
}

// Describer is an optional part of a Source: it knows what it reads. The answer
// never changes, and may be asked for at any time, from any goroutine.
type Describer interface {
	// Collection is what is read, as far as it is known.
	Collection() Collection
}

// Describe is what source says of itself, the zero value if it says nothing.
func Describe[T Object](source Source[T]) Collection {
	if d, ok := source.(Describer); ok {
		return d.Collection()
	}
	return Collection{}
}

// GroupVersionResource is those three fields.
func (c Collection) GroupVersionResource() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: c.Group, Version: c.Version, Resource: c.Resource}
}

// String writes the collection as "deployments.v1.apps in namespace web with
// labels app=web"; "" if nothing is known.
func (c Collection) String() string {
	var parts []string
	for _, part := range []string{c.Resource, c.Version, c.Group} {
		if part != "" {
			parts = append(parts, part)
		}
	}
	text := strings.Join(parts, ".")
	for _, part := range []struct{ before, value string }{
		{" in namespace ", c.Namespace}, {" with labels ", c.LabelSelector}, {" with fields ", c.FieldSelector},
	} {
		if part.value != "" {
			text += part.before + part.value
		}
	}
	return strings.TrimPrefix(text, " ")
}

// Collection implements Describer.
func (s *restSource[T]) Collection() Collection {
	version := s.client.APIVersion()
	return Collection{
		Group: version.Group, Version: version.Version, Resource: s.query.resource, Namespace: s.query.namespace,
		LabelSelector: s.query.LabelSelector, FieldSelector: s.query.FieldSelector,
	}
}
