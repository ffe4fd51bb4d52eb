package factory

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/listwatch/listwatch/informer"
	"github.com/listwatch/listwatch/reflector"
)

// maker makes informers of T.
type maker[T informer.Object] interface {
	// kind is that of the objects that are received.
	kind(*runtime.Scheme) (schema.GroupVersionKind, error)
	make(rest.Interface, *request, informer.Options[T]) (*informer.Informer[T], error)
}

// makerOf is r's mapping, or makes informers that cache what they receive.
func makerOf[T informer.Object](r *request) maker[T] {
	if m, ok := r.mapping.(maker[T]); ok {
		return m
	}
	return plain[T]{}
}

// plain informers cache what they receive.
type plain[T informer.Object] struct{}

func (plain[T]) kind(scheme *runtime.Scheme) (schema.GroupVersionKind, error) {
	return kindOf[T](scheme)
}

func (plain[T]) make(client rest.Interface, r *request, options informer.Options[T]) (*informer.Informer[T], error) {
	parts := partsOf[T](client, r)
	if len(parts) > 1 {
		return informer.NewJoined(parts, options)
	}
	return informer.New(parts[0].Source, options)
}

// mapped informers cache what a function makes of what they receive.
type mapped[S, T informer.Object] func(S) (T, error)

func (mapped[S, T]) kind(scheme *runtime.Scheme) (schema.GroupVersionKind, error) {
	return kindOf[S](scheme)
}

func (m mapped[S, T]) make(client rest.Interface, r *request, options informer.Options[T]) (*informer.Informer[T], error) {
	parts := partsOf[S](client, r)
	if len(parts) > 1 {
		return informer.NewJoinedMapped(parts, m, options)
	}
	return informer.NewMapped(parts[0].Source, m, options)
}

// partsOf are the sources of what r asks for, at least one.
func partsOf[S informer.Object](client rest.Interface, r *request) []informer.Part[S] {
	namespaces := r.namespaces
	if len(namespaces) == 0 {
		namespaces = []string{""}
	}
	read := func(s *reflector.RESTSettings) { *s = r.settings.rest }
	return informer.Namespaces(namespaces, func(namespace string) reflector.Source[S] {
		return reflector.FromREST[S](client, r.key.resource.Resource, namespace, read)
	})
}
