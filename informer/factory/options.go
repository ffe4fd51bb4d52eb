package factory

import (
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"unsafe"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/listwatch/listwatch/indexer"
	"github.com/listwatch/listwatch/informer"
)

// Option says which informer is asked for, and how it is to be.
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

// WithLabels reads only objects whose labels match.
func WithLabels(selector labels.Selector) Option {
	return func(r *request) { r.labels, r.key.labels = selector, selector.String() }
}

// WithFields reads only objects whose fields match.
func WithFields(selector fields.Selector) Option {
	return func(r *request) { r.fields, r.key.fields = selector, selector.String() }
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

// WithIndex adds an index, if the informer has it not yet. T must be the
// informer's type. Whoever else asks for an index of this name has to name the very
// same function, as with WithTransform.
func WithIndex[T informer.Object](name string, index indexer.Func[T]) Option {
	return func(r *request) {
		r.indexes = append(r.indexes, anyIndex{name: name, function: index, identity: identify(index)})
	}
}

// WithoutManagedFields drops metadata.managedFields before objects are decoded.
func WithoutManagedFields() Option {
	return func(r *request) { r.settings.withoutManagedFields = true }
}

// WithInterning shares equal strings among objects (see reflector.WithInterning).
func WithInterning(limit int) Option {
	return func(r *request) { r.settings.interning = max(0, limit) + 1 }
}

// WithJSON asks the server for JSON also where the type has protobuf.
func WithJSON() Option { return func(r *request) { r.settings.json = true } }

// WithOwnCopy has Metadata and Unstructured make an informer of their own even if
// a typed one could serve.
func WithOwnCopy() Option { return func(r *request) { r.ownCopy = true } }

// key tells informers apart.
type key struct {
	resource       schema.GroupVersionResource
	namespaces     string // sorted, with commas; "" is all
	labels, fields string
	as             reflect.Type // what objects are
}

// settings are what all users of an informer have to agree on.
type settings struct {
	withoutManagedFields, json bool
	waiting                    bool
	interning                  int // limit + 1; 0 is none
	transform                  function
}

// request is what somebody asks for.
type request struct {
	key        key
	namespaces []string
	labels     labels.Selector // nil is everything, as fields
	fields     fields.Selector
	settings   settings
	transform  any // func(T) (T, error), or nil
	indexes    []anyIndex
	ownCopy    bool
	site       string
}

// anyIndex is an index function of any type.
type anyIndex struct {
	name     string
	function any // indexer.Func[T]
	identity function
	site     string // of whoever added it
}

// function tells whether two values are the same function: same code, and the
// same variables that it refers to. It is not enough by itself: as long as it is
// compared the function must be kept alive.
type function struct{ closure unsafe.Pointer }

// identify returns the identity of a function. Package reflect gives the address
// of the code only, which is that of all closures made at one place.
func identify[F any](f F) function { return function{*(*unsafe.Pointer)(unsafe.Pointer(&f))} }

// name is that of the code.
func (f function) String() string {
	if f.closure == nil {
		return "none"
	}
	return runtime.FuncForPC(*(*uintptr)(f.closure)).Name()
}

// String is what the informer is called: "deployments.v1.apps as metadata in a,b".
func (k key) String() string {
	text := k.resource.Resource + "." + k.resource.Version
	if k.resource.Group != "" {
		text += "." + k.resource.Group
	}
	switch k.as {
	case metadataType:
		text += " as metadata"
	case unstructuredType:
		text += " as unstructured"
	}
	for _, part := range []struct{ before, value string }{
		{" in ", k.namespaces}, {" with labels ", k.labels}, {" with fields ", k.fields},
	} {
		if part.value != "" {
			text += part.before + part.value
		}
	}
	return text
}

// differences says in what s is other than asked, "" if in nothing.
func (s settings) differences(asked settings) string {
	var all []string
	for _, d := range []struct {
		what     string
		has, got any
	}{
		{"transform", s.transform, asked.transform},
		{"without managed fields", s.withoutManagedFields, asked.withoutManagedFields},
		{"JSON", s.json, asked.json},
		{"waiting", s.waiting, asked.waiting},
		{"interning", s.interning != 0, asked.interning != 0},
	} {
		if d.has == d.got {
			continue
		}
		text := fmt.Sprintf("%s: %v, not %v", d.what, d.has, d.got)
		if fmt.Sprint(d.has) == fmt.Sprint(d.got) {
			text += " made anew"
		}
		all = append(all, text)
	}
	if len(all) == 0 && s != asked {
		all = []string{fmt.Sprintf("strings interned: %d, not %d", s.interning-1, asked.interning-1)}
	}
	return strings.Join(all, "; ")
}
