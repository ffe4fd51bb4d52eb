package clientgo

import (
	"reflect"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/listwatch/listwatch/reflector"
)

// kindOf is the kind of an object: what it says, or else what client-go's scheme has
// for its type. It is empty if neither knows.
func kindOf(obj runtime.Object) schema.GroupVersionKind {
	if v := reflect.ValueOf(obj); !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil() {
		return schema.GroupVersionKind{}
	}
	if kind := obj.GetObjectKind().GroupVersionKind(); !kind.Empty() {
		return kind
	}
	if kinds, _, err := scheme.Scheme.ObjectKinds(obj); err == nil && len(kinds) == 1 {
		return kinds[0]
	}
	return schema.GroupVersionKind{}
}

// collectionLike is what can be told of a collection by an example of its objects. The
// name of the resource follows from the kind of what Kubernetes serves itself; a custom
// one may have any, and is left out.
func collectionLike(example runtime.Object) reflector.Collection {
	kind := kindOf(example)
	c := reflector.Collection{Group: kind.Group, Version: kind.Version}
	if scheme.Scheme.Recognizes(kind) {
		resource, _ := meta.UnsafeGuessKindToResource(kind)
		c.Resource = resource.Resource
	}
	return c
}

// collectionAt is what a client by resource reads.
func collectionAt(gvr schema.GroupVersionResource, namespace string) reflector.Collection {
	return reflector.Collection{Group: gvr.Group, Version: gvr.Version, Resource: gvr.Resource, Namespace: namespace}
}

// read is what is read of c through a clientset. A fake one does not know versions:
// then that of the type counts.
func (c collection) read(clientset any, scope Scope) reflector.Collection {
	gvr, ok := c.at(clientset)
	if !ok {
		gvr = kindOf(c.example()).GroupVersion().WithResource(gvr.Resource)
	}
	if !c.namespaced {
		return collectionAt(gvr, "")
	}
	return collectionAt(gvr, scope.Namespace)
}

// at is the resource of c by a clientset; without group and version, and false, if that
// does not know them.
func (c collection) at(clientset any) (schema.GroupVersionResource, bool) {
	resource := strings.ToLower(c.resource)
	group, ok := c.groupOf(clientset).(interface{ RESTClient() rest.Interface })
	if !ok {
		return schema.GroupVersionResource{Resource: resource}, false
	}
	client := group.RESTClient()
	if v := reflect.ValueOf(client); !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil() {
		return schema.GroupVersionResource{Resource: resource}, false
	}
	return client.APIVersion().WithResource(resource), true
}
