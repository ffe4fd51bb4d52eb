package clientgo

import (
	"context"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
)

// collection is where a generated client lists and watches objects of a type, as in
// client.CoreV1().Pods(namespace).
type collection struct {
	object     reflect.Type // a pointer
	group      string       // the client's method, as CoreV1
	resource   string       // the group's, as Pods
	namespaced bool
}

// types of the methods of generated clients.
var (
	contextType = reflect.TypeFor[context.Context]()
	optionsType = reflect.TypeFor[metav1.ListOptions]()
	objectType  = reflect.TypeFor[runtime.Object]()
	watcherType = reflect.TypeFor[interface {
		Watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error)
	}]()
)

// collectionsOf finds all that a generated clientset's interface can list and watch,
// one for each type.
func collectionsOf(clientset reflect.Type) []collection {
	var found []collection
	seen := map[reflect.Type]bool{}
	for k := range clientset.NumMethod() {
		group := clientset.Method(k)
		if group.Type.NumIn() != 0 || group.Type.NumOut() != 1 || group.Type.Out(0).Kind() != reflect.Interface {
			continue
		}
		for j := range group.Type.Out(0).NumMethod() {
			resource := group.Type.Out(0).Method(j)
			c := collection{group: group.Name, resource: resource.Name, object: listed(resource.Type)}
			if c.object == nil || seen[c.object] {
				continue
			}
			seen[c.object] = true
			c.namespaced = resource.Type.NumIn() == 1
			found = append(found, c)
		}
	}
	return found
}

// listed is the type of the objects that a group's method gives access to, nil if it
// is no such method.
func listed(method reflect.Type) reflect.Type {
	if method.NumOut() != 1 || method.NumIn() > 1 || method.NumIn() == 1 && method.In(0).Kind() != reflect.String {
		return nil
	}
	client := method.Out(0)
	if client.Kind() != reflect.Interface || !client.Implements(watcherType) {
		return nil
	}
	list, ok := client.MethodByName("List")
	if !ok || list.Type.NumIn() != 2 || list.Type.In(0) != contextType || list.Type.In(1) != optionsType ||
		list.Type.NumOut() != 2 || list.Type.Out(0).Kind() != reflect.Pointer || list.Type.Out(0).Elem().Kind() != reflect.Struct {
		return nil
	}
	items, ok := list.Type.Out(0).Elem().FieldByName("Items")
	if !ok || items.Type.Kind() != reflect.Slice {
		return nil
	}
	object := items.Type.Elem()
	if object.Kind() != reflect.Pointer {
		object = reflect.PointerTo(object)
	}
	if !object.Implements(objectType) {
		return nil
	}
	return object
}

// example is an object of the collection.
func (c collection) example() runtime.Object {
	return reflect.New(c.object.Elem()).Interface().(runtime.Object) // listed has looked
}

// of is the client of the collection, as client.CoreV1().Pods(namespace).
func (c collection) of(clientset any, namespace string) reflect.Value {
	var in []reflect.Value
	if c.namespaced {
		in = []reflect.Value{reflect.ValueOf(namespace)}
	}
	return reflect.ValueOf(c.groupOf(clientset)).MethodByName(c.resource).Call(in)[0]
}

// groupOf is the client of the collection's group, as client.CoreV1().
func (c collection) groupOf(clientset any) any {
	return reflect.ValueOf(clientset).MethodByName(c.group).Call(nil)[0].Interface()
}

// listWatch lists and watches the collection through a clientset.
func (c collection) listWatch(clientset any, scope Scope) cache.ListerWatcher {
	client := c.of(clientset, scope.Namespace).Interface()
	list := reflect.ValueOf(client).MethodByName("List")
	watcher := client.(interface {
		Watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error)
	})
	tweaked := func(options metav1.ListOptions) metav1.ListOptions {
		if scope.TweakListOptions != nil {
			scope.TweakListOptions(&options)
		}
		return options
	}
	return cache.ToListWatcherWithWatchListSemantics(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			out := list.Call([]reflect.Value{reflect.ValueOf(ctx), reflect.ValueOf(tweaked(options))})
			if err, _ := out[1].Interface().(error); err != nil {
				return nil, err
			}
			return out[0].Interface().(runtime.Object), nil
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			return watcher.Watch(ctx, tweaked(options))
		},
	}, clientset)
}
