package reflector

import (
	"errors"
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
)

// toPage reads a decoded list. Items are shallow copies: a pointer into the
// list's array would keep the whole page in memory as long as one of its
// objects lives.
func toPage[T Object](list runtime.Object) (Page[T], error) {
	if isNil(list) {
		return Page[T]{}, malformed("list", "the client returned nothing")
	}
	if isTable(list) {
		return Page[T]{}, malformed("list", "got a Table")
	}
	accessor, err := meta.ListAccessor(list)
	if err != nil {
		return Page[T]{}, malformed("list", "%T: %w", list, err)
	}
	page := Page[T]{
		ResourceVersion: accessor.GetResourceVersion(),
		Continue:        accessor.GetContinue(),
		Remaining:       accessor.GetRemainingItemCount(),
		Items:           make([]T, 0, meta.LenList(list)),
	}
	err = meta.EachListItemWithAlloc(list, func(item runtime.Object) error {
		object, err := toObject[T]("list item", item)
		if errors.Is(err, ErrWrongType) {
			page.Skipped = append(page.Skipped, err)
			return nil
		} else if err != nil {
			return err
		}
		page.Items = append(page.Items, object)
		return nil
	})
	if err != nil {
		return Page[T]{}, asDecodeError("list", err)
	}
	return page, nil
}

// toEvent reads a decoded watch event.
func toEvent[T Object](event watch.Event) (Event[T], error) {
	switch event.Type {
	case watch.Added, watch.Modified, watch.Deleted:
		object, err := toObject[T]("watch event", event.Object)
		if err != nil {
			return Event[T]{}, err
		}
		return Event[T]{Type: event.Type, Object: object, ResourceVersion: object.GetResourceVersion()}, nil
	case watch.Bookmark:
		return toBookmark[T](event.Object)
	case watch.Error:
		return Event[T]{}, eventError(event)
	default:
		return Event[T]{}, malformed("watch event", "unknown type %q", event.Type)
	}
}

// toBookmark reads a bookmark. Only its metadata is looked at, so it need not
// be a T.
func toBookmark[T Object](object runtime.Object) (Event[T], error) {
	if isNil(object) {
		return Event[T]{}, malformed("watch event", "bookmark without an object")
	}
	accessor, err := meta.Accessor(object)
	if err != nil {
		return Event[T]{}, malformed("watch event", "bookmark of type %T: %w", object, err)
	}
	return Event[T]{
		Type:             watch.Bookmark,
		ResourceVersion:  accessor.GetResourceVersion(),
		InitialEventsEnd: accessor.GetAnnotations()[metav1.InitialEventsAnnotationKey] == "true",
	}, nil
}

// toObject asserts that object is a T and is there.
func toObject[T Object](subject string, object runtime.Object) (T, error) {
	var want T
	if isNil(object) {
		return want, malformed(subject, "no object")
	}
	typed, ok := object.(T)
	if !ok {
		return want, &DecodeError{Subject: subject, Err: fmt.Errorf("%w: got %T, want %T", ErrWrongType, object, want)}
	}
	if isTable(object) {
		return want, &DecodeError{Subject: subject, Err: fmt.Errorf("%w: got a Table", ErrWrongType)}
	}
	return typed, nil
}

// isTable recognises a Table that was decoded without its type. As a list it
// looks like one without items, as an object like one without a name: taken for
// what it looks like, it would empty the collection (kubernetes#132926).
func isTable(object runtime.Object) bool {
	var kind schema.GroupVersionKind
	switch object := object.(type) {
	case *unstructured.Unstructured:
		kind = object.GroupVersionKind()
	case *unstructured.UnstructuredList:
		kind = object.GroupVersionKind()
	}
	return kind.Kind == "Table" && kind.Group == metav1.GroupName
}

// asDecodeError wraps err unless it is a *DecodeError already.
func asDecodeError(subject string, err error) error {
	if _, ok := err.(*DecodeError); ok {
		return err
	}
	return &DecodeError{Subject: subject, Err: err}
}

// isNil also sees a nil pointer in an interface.
func isNil(value any) bool {
	v := reflect.ValueOf(value)
	return !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil()
}
