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
	if transform == nil {
		return nil, fmt.Errorf("informer %q: %w: no transform", nameOr(options.Name), ErrInvalidOptions)
	}
	if second := options.Transform; second != nil {
		first := transform
		transform = func(received S) (T, error) {
			obj, err := first(received)
			if err != nil || isNil(obj) {
				return obj, err
			}
			return second(obj)
		}
	}
	return newInformer(source, transform, options)
}
