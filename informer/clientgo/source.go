package clientgo

import (
	"context"
	"fmt"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"

	"github.com/listwatch/listwatch/reflector"
)

// source reads through a client, and leaves out what is not like the example.
type source struct {
	reflector.Source[Object]
	client any // the ListerWatcher
	like   example
}

// newSource makes a source of any client.
func newSource(lw cache.ListerWatcher, exampleObject runtime.Object) *source {
	return &source{Source: reflector.FromListerWatcher[Object](lw), client: lw, like: newExample(exampleObject)}
}

// IsWatchListSemanticsUnSupported passes on what the client says.
func (s *source) IsWatchListSemanticsUnSupported() bool {
	refuser, ok := s.client.(interface{ IsWatchListSemanticsUnSupported() bool })
	return ok && refuser.IsWatchListSemanticsUnSupported()
}

// List implements reflector.Source.
func (s *source) List(ctx context.Context, options metav1.ListOptions) (reflector.Page[Object], error) {
	page, err := s.Source.List(ctx, options)
	kept := page.Items[:0]
	for _, obj := range page.Items {
		if wrong := s.like.sameType(obj); wrong != nil {
			page.Skipped = append(page.Skipped, wrong)
			continue
		}
		kept = append(kept, obj)
	}
	clear(page.Items[len(kept):])
	page.Items = kept
	return page, err
}

// Watch implements reflector.Source.
func (s *source) Watch(ctx context.Context, options metav1.ListOptions) (reflector.Stream[Object], error) {
	inner, err := s.Source.Watch(ctx, options)
	if err != nil {
		return nil, err
	}
	return &stream{Stream: inner, like: s.like}, nil
}

// stream is a watch that leaves out what is not like the example.
type stream struct {
	reflector.Stream[Object]
	like example
}

// Next implements reflector.Stream.
func (s *stream) Next(ctx context.Context) (reflector.Event[Object], error) {
	event, err := s.Stream.Next(ctx)
	if err != nil || event.Type == watch.Bookmark {
		return event, err
	}
	err = s.like.sameType(event.Object)
	if err == nil {
		err = s.like.sameKind(event.Object)
	}
	if err != nil {
		return reflector.Event[Object]{}, err
	}
	return event, nil
}

// example says which objects belong to a collection. The zero value takes all.
type example struct {
	goType reflect.Type
	kind   schema.GroupVersionKind // of unstructured objects
}

func newExample(obj runtime.Object) example {
	if obj == nil {
		return example{}
	}
	e := example{goType: reflect.TypeOf(obj)}
	if u, ok := obj.(*unstructured.Unstructured); ok {
		e.kind = u.GroupVersionKind()
	}
	return e
}

// sameType returns an error that wraps reflector.ErrWrongType if obj is of another
// Go type.
func (e example) sameType(obj Object) error {
	if e.goType == nil || reflect.TypeOf(obj) == e.goType {
		return nil
	}
	return &reflector.DecodeError{Subject: "object", Err: fmt.Errorf("%w: got %T, want %v", reflector.ErrWrongType, obj, e.goType)}
}

// sameKind returns such an error if obj says that it is of another kind.
func (e example) sameKind(obj Object) error {
	if e.kind.Empty() {
		return nil
	}
	if kind := obj.GetObjectKind().GroupVersionKind(); kind != e.kind {
		return &reflector.DecodeError{Subject: "object", Err: fmt.Errorf("%w: got a %v, want a %v", reflector.ErrWrongType, kind, e.kind)}
	}
	return nil
}
