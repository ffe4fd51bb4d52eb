package reflector

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// noSource is the Source of a client that is nil. New refuses it; where it is
// part of another Source, which New cannot look into, it gives the same error.
type noSource[T Object] struct {
	missing string
}

// invalid says why the Source cannot be used.
func (s noSource[T]) invalid() error {
	return fmt.Errorf("%w: %s is nil", ErrInvalidOptions, s.missing)
}

// List implements Source.
func (s noSource[T]) List(context.Context, metav1.ListOptions) (Page[T], error) {
	return Page[T]{}, s.invalid()
}

// Watch implements Source.
func (s noSource[T]) Watch(context.Context, metav1.ListOptions) (Stream[T], error) {
	return nil, s.invalid()
}
