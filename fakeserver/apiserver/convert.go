package apiserver

import (
	"encoding/json"
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// eventRenames are the fields of a core Event and their names in events.k8s.io.
var eventRenames = map[string]string{
	"involvedObject":     "regarding",
	"message":            "note",
	"source":             "deprecatedSource",
	"firstTimestamp":     "deprecatedFirstTimestamp",
	"lastTimestamp":      "deprecatedLastTimestamp",
	"count":              "deprecatedCount",
	"reportingComponent": "reportingController",
}

// renamesFor returns the renames of top-level fields between two kinds.
func renamesFor(from, to schema.GroupVersionKind) map[string]string {
	if from.Kind != "Event" || from.Group == to.Group {
		return nil
	}
	if from.Group == "" {
		return eventRenames
	}
	back := make(map[string]string, len(eventRenames))
	for core, other := range eventRenames {
		back[other] = core
	}
	return back
}

// convert returns obj, which is of kind from, as an object of kind to. It
// returns obj itself if they are the same. obj is not changed, but may be shared
// with the result.
func convert(obj runtime.Object, from, to schema.GroupVersionKind) (runtime.Object, error) {
	if from == to {
		return obj, nil
	}
	if _, ok := obj.(*unstructured.Unstructured); ok {
		return withKind(obj, to), nil
	}
	data, err := json.Marshal(obj)
	if err == nil {
		data, err = renameFields(data, renamesFor(from, to))
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %s as %s: %w", ErrCodec, from, to, err)
	}
	converted, err := kinds.New(to)
	if err == nil {
		err = json.Unmarshal(data, converted)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %s as %s: %w", ErrCodec, from, to, err)
	}
	converted.GetObjectKind().SetGroupVersionKind(to)
	return converted, nil
}

func renameFields(data []byte, renames map[string]string) ([]byte, error) {
	if len(renames) == 0 {
		return data, nil
	}
	fields := map[string]json.RawMessage{}
	if err := json.Unmarshal(data, &fields); err != nil {
		return nil, err
	}
	renamed := make(map[string]json.RawMessage, len(fields))
	for name, value := range fields {
		if other, ok := renames[name]; ok {
			name = other
		}
		renamed[name] = value
	}
	return json.Marshal(renamed)
}

// withKind returns a shallow copy of obj that says it is of kind gvk. obj is
// shared with other readers, so its own TypeMeta must not be written.
func withKind(obj runtime.Object, gvk schema.GroupVersionKind) runtime.Object {
	if obj.GetObjectKind().GroupVersionKind() == gvk {
		return obj
	}
	if loose, ok := obj.(*unstructured.Unstructured); ok {
		named := shallowLoose(loose)
		named.SetGroupVersionKind(gvk)
		return named
	}
	copied := reflect.New(reflect.TypeOf(obj).Elem())
	copied.Elem().Set(reflect.ValueOf(obj).Elem())
	named := copied.Interface().(runtime.Object)
	named.GetObjectKind().SetGroupVersionKind(gvk)
	return named
}
