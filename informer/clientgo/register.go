package clientgo

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/cache"
)

// Factory is what generated factories of informers have in common: client-go's
// informers.SharedInformerFactory, and those of clients for custom resources. F is
// the factory's type for a constructor.
type Factory[F any] interface {
	// InformerFor returns the informer for objects of obj's type; the first call for
	// a type makes it.
	InformerFor(obj runtime.Object, newFunc F) cache.SharedIndexInformer
}

// Scope is what a factory is restricted to. It must say what the factory was made
// with, since a factory does not tell.
type Scope struct {
	// Namespace of a factory WithNamespace. It can be left out for a generated
	// factory.
	Namespace string
	// TweakListOptions is the function of a factory WithTweakListOptions.
	TweakListOptions func(*metav1.ListOptions)
}

// Register has a generated factory hand out our informers for the types of objects,
// to everyone who asks it, also by listers and ForResource. To be called before
// anyone else has asked for one of the types: what the factory has made already
// stays, which is an error, unless it is ours. The factory then has informers for
// these types, so that its Start starts them: name the types that are used.
//
//	factory := informers.NewSharedInformerFactory(client, resync)
//	err := clientgo.Register(factory, clientgo.Scope{}, &corev1.Pod{}, &appsv1.Deployment{})
//
// Transform, resync periods, custom ones, and the name that metrics are made with, are
// the factory's. Indexes are those that generated informers have. Errors: one
// without a type; ErrNoInformer if the factory's client cannot list and watch a type;
// ErrScope if the factory is known to be restricted otherwise; nothing is registered
// then. ErrLate names the types that the factory had another informer of already; all
// others of the call are registered, since a factory tells what it has only by making
// what it lacks.
func Register[C any, F ~func(C, time.Duration) cache.SharedIndexInformer](factory Factory[F], scope Scope, objects ...runtime.Object) error {
	scope, err := scopeOf(factory, scope)
	if err != nil {
		return err
	}
	if len(objects) == 0 {
		return errors.New("register: no type is named: name those that are used, or call RegisterAll")
	}
	known := collectionsOf(reflect.TypeFor[C]())
	chosen := make([]collection, 0, len(objects))
	for _, obj := range objects {
		k := slices.IndexFunc(known, func(c collection) bool { return c.object == reflect.TypeOf(obj) })
		if k < 0 {
			return fmt.Errorf("register %T: %w", obj, ErrNoInformer)
		}
		chosen = append(chosen, known[k])
	}
	return register(factory, scope, chosen)
}

// RegisterAll is Register for every type that the factory's client can list and
// watch. Start then starts an informer for each: this is for tests, and for programs
// that do watch everything. Errors: ErrScope, and ErrLate as of Register.
func RegisterAll[C any, F ~func(C, time.Duration) cache.SharedIndexInformer](factory Factory[F], scope Scope) error {
	scope, err := scopeOf(factory, scope)
	if err != nil {
		return err
	}
	return register(factory, scope, collectionsOf(reflect.TypeFor[C]()))
}

func register[C any, F ~func(C, time.Duration) cache.SharedIndexInformer](factory Factory[F], scope Scope, chosen []collection) error {
	var late []error
	for _, c := range chosen {
		inf := factory.InformerFor(c.example(), func(client C, resync time.Duration) cache.SharedIndexInformer {
			return newInformer(c.listWatch(client, scope), c.example(), cache.SharedIndexInformerOptions{
				ResyncPeriod: resync,
				Indexers:     byNamespace(),
				Identifier:   c.identifier(factory, client),
			}, c.read(client, scope))
		})
		if _, ok := Of(inf); !ok {
			late = append(late, fmt.Errorf("register %v: %w: call Register before anything asks the factory for it", c.object, ErrLate))
		}
	}
	return errors.Join(late...)
}

// scopeOf completes a scope by what can be seen of a factory, whose informers would
// otherwise watch what the factory was not to watch.
func scopeOf(factory any, scope Scope) (Scope, error) {
	v := reflect.Indirect(reflect.ValueOf(factory))
	if v.Kind() != reflect.Struct {
		return scope, nil
	}
	if f := v.FieldByName("namespace"); f.IsValid() && f.Kind() == reflect.String {
		switch {
		case scope.Namespace == "":
			scope.Namespace = f.String()
		case scope.Namespace != f.String():
			return scope, fmt.Errorf("%w: namespace %q, not %q", ErrScope, scope.Namespace, f.String())
		}
	}
	if f := v.FieldByName("tweakListOptions"); f.IsValid() && f.Kind() == reflect.Func && f.IsNil() != (scope.TweakListOptions == nil) {
		return scope, fmt.Errorf("%w: TweakListOptions of one and not of the other", ErrScope)
	}
	return scope, nil
}
