package factory_test

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/listwatch/listwatch/informer"
	"github.com/listwatch/listwatch/reflector"
)

// fixed is a source of a collection that never changes.
type fixed[T informer.Object] struct{ items []T }

func (f *fixed[T]) List(context.Context, metav1.ListOptions) (reflector.Page[T], error) {
	return reflector.Page[T]{Items: append([]T(nil), f.items...), ResourceVersion: "1"}, nil
}

func (f *fixed[T]) Watch(context.Context, metav1.ListOptions) (reflector.Stream[T], error) {
	return silence[T]{}, nil
}

// IsWatchListSemanticsUnSupported has the collection listed.
func (f *fixed[T]) IsWatchListSemanticsUnSupported() bool { return true }

// silence is a stream of nothing.
type silence[T informer.Object] struct{}

func (silence[T]) Next(ctx context.Context) (reflector.Event[T], error) {
	<-ctx.Done()
	return reflector.Event[T]{}, ctx.Err()
}

func (silence[T]) Close() {}
