package informer

import (
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// apply transforms received. The result is the zero value if there is a failure,
// and also, without one, if the object is to be dropped.
func (s *sink[S, T]) apply(key string, received S) (T, *ObjectError) {
	if s.transform == nil {
		obj, _ := any(received).(T)
		return obj, nil
	}
	// The transform may change what it is given.
	was := identity{received.GetNamespace(), received.GetName(), received.GetUID(), received.GetResourceVersion()}
	out, err := callTransform(s.transform, received)
	if err == nil {
		err = was.keptBy(out)
	}
	var zero T
	switch {
	case err == nil:
		if was.uid != "" && out.GetUID() == "" || was.resourceVersion != "" && out.GetResourceVersion() == "" {
			s.failures.anonymous.Add(1)
		}
		return out, nil
	case errors.Is(err, ErrDrop):
		s.failures.dropped.Add(1)
		s.failures.drops.note(key, was.resourceVersion)
		return zero, nil
	}
	return zero, &ObjectError{
		Key:             key,
		ResourceVersion: was.resourceVersion,
		Err:             fmt.Errorf("%w: %w", ErrTransform, err),
		At:              time.Now(),
	}
}

// callTransform turns a panic, and a result that is no object, into errors: one
// odd object must not take the others away from the cache.
func callTransform[S, T Object](transform func(S) (T, error), received S) (out T, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v", r)
		}
	}()
	out, err = transform(received)
	if err == nil && isNil(out) {
		err = fmt.Errorf("returned no object")
	}
	return out, err
}

// identity is what a transform has to keep of an object.
type identity struct {
	namespace, name string
	uid             types.UID
	resourceVersion string
}

// keptBy returns an error if out says that it is another object or version:
// changes of the real one would go unnoticed. UID and resourceVersion may be
// missing.
func (was identity) keptBy(out Object) error {
	uid, resourceVersion := out.GetUID(), out.GetResourceVersion()
	switch {
	case out.GetNamespace() != was.namespace || out.GetName() != was.name:
		return fmt.Errorf("returned an object called %q", keyOf(out))
	case uid != "" && uid != was.uid:
		return fmt.Errorf("returned an object with UID %q", uid)
	case resourceVersion != "" && resourceVersion != was.resourceVersion:
		return fmt.Errorf("returned an object with resourceVersion %q", resourceVersion)
	}
	return nil
}
