package factory

import (
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/listwatch/listwatch/informer"
)

// The representations that are of any resource.
var (
	metadataType     = reflect.TypeFor[*metav1.PartialObjectMetadata]()
	unstructuredType = reflect.TypeFor[*unstructured.Unstructured]()
)

// kindOf is the kind by which a scheme knows T.
func kindOf[T informer.Object](scheme *runtime.Scheme) (schema.GroupVersionKind, error) {
	t := reflect.TypeFor[T]()
	if t.Kind() != reflect.Pointer {
		return schema.GroupVersionKind{}, fmt.Errorf("%w: %v is no pointer type", ErrInvalidOptions, t)
	}
	if t == metadataType || t == unstructuredType {
		return schema.GroupVersionKind{}, fmt.Errorf("%w: a %v may be of any", ErrUnknownKind, t)
	}
	kinds, _, err := scheme.ObjectKinds(reflect.New(t.Elem()).Interface().(T))
	if err != nil {
		return schema.GroupVersionKind{}, fmt.Errorf("%w: %w", ErrUnknownKind, err)
	}
	if len(kinds) > 1 {
		return schema.GroupVersionKind{}, fmt.Errorf("%w: the scheme knows %v as %v", ErrUnknownKind, t, kinds)
	}
	return kinds[0], nil
}

// resourceOf is the resource of a kind by the rule that all built-in ones, and
// most others, follow: lower case, in the plural.
func resourceOf(kind schema.GroupVersionKind) schema.GroupVersionResource {
	resource, _ := meta.UnsafeGuessKindToResource(kind)
	return resource
}
