package informer

import (
	"fmt"

	"github.com/listwatch/listwatch/reflector"
)

// NewMapped makes an Informer that caches something else than what source
// sends: transform is called exactly once for every object received, deleted
// ones included, and what it returns is cached, indexed, and told to handlers.
// The result must keep namespace, name, UID and resourceVersion, and should not
// refer to its argument if the point is to save memory. With ErrDrop the object
// is not cached; about that, and about failures, see Options.Transform, which if
// set is applied to the result.
//
// Errors are those of New, and ErrInvalidOptions without a transform.
func NewMapped[S, T Object](source reflector.Source[S], transform func(S) (T, error), options Options[T]) (*Informer[T], error) {
	all, err := mapping(transform, options)
	if err != nil {
		return nil, err
	}
	return newInformer(source, all, options)
}

// NewJoinedMapped is NewMapped for several parts, which are joined as NewJoined
// says. Calls of transform for different parts may come at the same time. Errors are
// those of NewJoined, and ErrInvalidOptions without a transform.
func NewJoinedMapped[S, T Object](parts []Part[S], transform func(S) (T, error), options Options[T]) (*Informer[T], error) {
	all, err := mapping(transform, options)
	if err != nil {
		return nil, err
	}
	return newJoined(parts, all, options)
}

// mapping is first, then the transform of the options.
func mapping[S, T Object](first func(S) (T, error), options Options[T]) (func(S) (T, error), error) {
	second := options.Transform
	switch {
	case first == nil:
		return nil, fmt.Errorf("informer %q: %w: no transform", nameOr(options.Name), ErrInvalidOptions)
	case second == nil:
		return first, nil
	}
	return func(received S) (T, error) {
		obj, err := first(received)
		if err != nil || isNil(obj) {
			return obj, err
		}
		return second(obj)
	}, nil
}
