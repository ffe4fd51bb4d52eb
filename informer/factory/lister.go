package factory

import (
	"iter"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/cache"

	"github.com/listwatch/listwatch/informer"
)

// Lister answers the questions that client-go's generated listers answer, in the
// same words, from the newest snapshot: it takes no lock and delays nobody. Two
// questions may be answered from two snapshots; what must belong together is asked
// of one Snapshot.
//
// A Lister[*corev1.Node] is a corelisters.NodeLister. Where objects have
// namespaces, what Namespace returns is one of client-go's, as
// corelisters.PodNamespaceLister, and the method that gives it is two lines:
//
//	type podLister struct{ factory.Lister[*corev1.Pod] }
//
//	func (l podLister) Pods(namespace string) corelisters.PodNamespaceLister { return l.Namespace(namespace) }
//
// Lists are in key order. Errors name the resource in the plural, as the API server
// does and cache.GenericLister, where generated listers have the singular. Objects are shared, and must not be modified.
type Lister[T informer.Object] struct {
	read     func() table[T]
	resource schema.GroupResource
}

// NamespaceLister is a Lister of one namespace, or of all if that is "".
type NamespaceLister[T informer.Object] struct {
	Lister[T]
	namespace string
}

// table is what a Lister reads: a snapshot.
type table[T informer.Object] interface {
	Get(key string) (T, bool)
	All() iter.Seq2[string, T]
	Namespace(namespace string) iter.Seq2[string, T]
}

// chooser is a table that tells which objects are wanted before it makes them.
type chooser[T informer.Object] interface {
	choose(namespace string, want func(metav1.Object) bool) iter.Seq2[string, T]
}

// ListerOf makes a Lister of an informer. resource stands in errors.
func ListerOf[T informer.Object](one *informer.Informer[T], resource schema.GroupResource) Lister[T] {
	return Lister[T]{read: func() table[T] { return one.Snapshot() }, resource: resource}
}

// List is For whose informer is of interest only as a Lister.
func List[T informer.Object](f *Factory, options ...Option) (Lister[T], error) {
	r, err := ask[T](f, options)
	if err != nil {
		return Lister[T]{}, err
	}
	one, err := obtain[T](f, r)
	if err != nil {
		return Lister[T]{}, err
	}
	return ListerOf(one, r.key.resource.GroupResource()), nil
}

// List returns the objects whose labels match, of all namespaces. Its error is
// always nil.
func (l Lister[T]) List(selector labels.Selector) ([]T, error) {
	return selected(l.read(), metav1.NamespaceAll, selector), nil
}

// Get returns an object without namespace. The error is the API server's for what
// does not exist.
func (l Lister[T]) Get(name string) (T, error) { return l.get(name, name) }

// Namespace is a Lister of one namespace; "" is all, as with client-go.
func (l Lister[T]) Namespace(namespace string) NamespaceLister[T] {
	return NamespaceLister[T]{Lister: l, namespace: namespace}
}

// List returns the objects of the namespace whose labels match. Its error is
// always nil.
func (l NamespaceLister[T]) List(selector labels.Selector) ([]T, error) {
	return selected(l.read(), l.namespace, selector), nil
}

// Get returns an object of the namespace. The error is the API server's for what
// does not exist.
func (l NamespaceLister[T]) Get(name string) (T, error) {
	if l.namespace == metav1.NamespaceAll {
		return l.get(name, name)
	}
	return l.get(l.namespace+"/"+name, name)
}

func (l Lister[T]) get(key, name string) (T, error) {
	obj, found := l.read().Get(key)
	if !found {
		var none T
		return none, apierrors.NewNotFound(l.resource, name)
	}
	return obj, nil
}

// selected are the objects of a namespace that match; of all if that is "".
func selected[T informer.Object](from table[T], namespace string, selector labels.Selector) (matching []T) {
	var want func(metav1.Object) bool
	switch {
	case labels.MatchesNothing(selector):
		return nil
	case selector != nil && !selector.Empty():
		want = func(obj metav1.Object) bool { return selector.Matches(labels.Set(obj.GetLabels())) }
	}
	if c, ok := from.(chooser[T]); ok {
		for _, obj := range c.choose(namespace, want) {
			matching = append(matching, obj)
		}
		return matching
	}
	all := from.All()
	if namespace != metav1.NamespaceAll {
		all = from.Namespace(namespace)
	}
	for _, obj := range all {
		if want == nil || want(obj) {
			matching = append(matching, obj)
		}
	}
	return matching
}

// Generic is the Lister as client-go's untyped one.
func (l Lister[T]) Generic() cache.GenericLister { return genericLister[T]{l} }

type genericLister[T informer.Object] struct{ of Lister[T] }

// List implements cache.GenericLister.
func (g genericLister[T]) List(selector labels.Selector) ([]runtime.Object, error) {
	return untyped(selected(g.of.read(), metav1.NamespaceAll, selector)), nil
}

// Get implements cache.GenericLister: name may be "namespace/name".
func (g genericLister[T]) Get(name string) (runtime.Object, error) { return untypedOne(g.of.Get(name)) }

// ByNamespace implements cache.GenericLister.
func (g genericLister[T]) ByNamespace(namespace string) cache.GenericNamespaceLister {
	return genericNamespaceLister[T]{g.of.Namespace(namespace)}
}

type genericNamespaceLister[T informer.Object] struct{ of NamespaceLister[T] }

// List implements cache.GenericNamespaceLister.
func (g genericNamespaceLister[T]) List(selector labels.Selector) ([]runtime.Object, error) {
	return untyped(selected(g.of.read(), g.of.namespace, selector)), nil
}

// Get implements cache.GenericNamespaceLister. In the namespace "" there is
// nothing, other than for the typed lister; client-go has it so.
func (g genericNamespaceLister[T]) Get(name string) (runtime.Object, error) {
	return untypedOne(g.of.get(g.of.namespace+"/"+name, name))
}

func untyped[T informer.Object](objects []T) (list []runtime.Object) {
	for _, obj := range objects {
		list = append(list, obj)
	}
	return list
}

// untypedOne makes a nil of a typed nil.
func untypedOne[T informer.Object](obj T, err error) (runtime.Object, error) {
	if err != nil {
		return nil, err
	}
	return obj, nil
}
