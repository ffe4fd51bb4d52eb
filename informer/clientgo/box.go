package clientgo

import (
	"errors"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/listwatch/listwatch/reflector"
)

// Object is what these informers cache: any API object.
type Object = reflector.Object

// box makes an Object of a value that has metadata, but is none: a transform may
// return what it likes.
type box struct {
	metav1.Object
	value any
}

// errNoMetadata: without a name a value cannot be cached.
var errNoMetadata = errors.New("a value without metadata cannot be cached")

// wrap makes an Object of a value.
func wrap(value any) (Object, error) {
	if obj, ok := value.(Object); ok {
		return obj, nil
	}
	if value == nil {
		return nil, errNoMetadata
	}
	accessor, err := meta.Accessor(value)
	if err != nil {
		return nil, errors.Join(errNoMetadata, err)
	}
	return &box{Object: accessor, value: value}, nil
}

// Value is what a user of client-go's interface sees of an object that the
// Informer of Of has: the object itself, unless a transform made of it something
// that is no API object.
func Value(obj Object) any {
	if b, ok := obj.(*box); ok {
		return b.value
	}
	return obj
}

// GetObjectKind implements runtime.Object.
func (b *box) GetObjectKind() schema.ObjectKind { return schema.EmptyObjectKind }

// DeepCopyObject implements runtime.Object. The value cannot be copied.
func (b *box) DeepCopyObject() runtime.Object { return &box{Object: b.Object, value: b.value} }
