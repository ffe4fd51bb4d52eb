package manifest

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	serializer "k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/client-go/kubernetes/scheme"
)

// strictDecoder knows every built-in type and takes nothing that a type lacks.
var strictDecoder = serializer.NewSerializerWithOptions(
	serializer.DefaultMetaFactory, scheme.Scheme, scheme.Scheme, serializer.SerializerOptions{Strict: true})

// checkTypes decodes the object into its Go type, if client-go has one. Errors:
// ErrWrongType, ErrUnknownField.
func checkTypes(object parsed, gvk schema.GroupVersionKind) error {
	if !scheme.Scheme.Recognizes(gvk) {
		return nil
	}
	err := decode(object.fields)
	if err == nil {
		return nil
	}
	path, value, found := findFault(object.fields)
	if found != nil {
		err = found
	}
	place := object.place
	place.Line = object.line(path...)
	fault := typeError(place, gvk.Kind+" field "+pathString(path), value, err)
	fault.Fix += object.boolHint(path...)
	return fault
}

func decode(fields map[string]any) error {
	data, err := json.Marshal(fields)
	if err != nil {
		return err
	}
	_, _, err = strictDecoder.Decode(data, nil, nil)
	return err
}

// findFault names the field that does not decode. The decoder's own message
// often cannot (a quantity that does not parse says nothing of where it stood),
// so each field is tried alone, in an otherwise empty object: first what
// contains others, emptied, then the others within. It returns a nil error if
// no field is at fault alone.
func findFault(fields map[string]any) (path []any, value any, err error) {
	header := map[string]any{"apiVersion": fields["apiVersion"], "kind": fields["kind"]}
	var search func(path []any, value any) ([]any, any, error)
	search = func(path []any, value any) ([]any, any, error) {
		alone := maps.Clone(header)
		maps.Copy(alone, nest(path, hollow(value)).(map[string]any))
		if err := decode(alone); err != nil {
			return path, value, err
		}
		for _, below := range children(value) {
			path, value, err := search(append(slices.Clip(path), below.step), below.value)
			if err != nil {
				return path, value, err
			}
		}
		return nil, nil, nil
	}
	return search(nil, fields)
}

type step struct {
	step  any // string or int
	value any
}

func children(value any) []step {
	var steps []step
	switch value := value.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(value)) {
			steps = append(steps, step{key, value[key]})
		}
	case []any:
		for i, element := range value {
			steps = append(steps, step{i, element})
		}
	}
	return steps
}

// hollow is the value without what is in it.
func hollow(value any) any {
	switch value.(type) {
	case map[string]any:
		return map[string]any{}
	case []any:
		return []any{}
	}
	return value
}

// nest is an object with nothing but the value at path.
func nest(path []any, value any) any {
	for _, step := range slices.Backward(path) {
		if name, isName := step.(string); isName {
			value = map[string]any{name: value}
		} else {
			value = []any{value}
		}
	}
	return value
}

func pathString(path []any) string {
	if len(path) == 0 {
		return "(unknown)"
	}
	var text strings.Builder
	for i, step := range path {
		switch step := step.(type) {
		case int:
			fmt.Fprintf(&text, "[%d]", step)
		case string:
			if strings.ContainsAny(step, "./") {
				fmt.Fprintf(&text, "[%q]", step)
				continue
			}
			if i > 0 {
				text.WriteByte('.')
			}
			text.WriteString(step)
		}
	}
	return text.String()
}

func typeError(place Place, field string, value any, err error) *Error {
	if strict, ok := runtime.AsStrictDecodingError(err); ok && len(strict.Errors()) > 0 {
		return &Error{
			Place: place, Kind: ErrUnknownField, Detail: field + " does not exist",
			Fix: "check its spelling and its indentation",
		}
	}
	detail, fix := fmt.Sprintf("%s is %s", field, describe(value)), "correct the value"
	if mismatch, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		wanted := describeType(mismatch.Type)
		detail, fix = detail+", which is not "+wanted, "write "+wanted
		if _, isText := value.(string); !isText && mismatch.Type.Kind() == reflect.String && hollow(value) != nil {
			fix += " (put quotes around it)"
		}
	} else {
		detail += ": " + err.Error()
	}
	return &Error{Place: place, Kind: ErrWrongType, Detail: detail, Fix: fix}
}

func describeType(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return "a text"
	case reflect.Bool:
		return "true or false"
	case reflect.Slice, reflect.Array:
		return "a list"
	case reflect.Map, reflect.Struct:
		return "a mapping of fields"
	case reflect.Float32, reflect.Float64:
		return "a number"
	case reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64, reflect.Int:
		return fmt.Sprintf("a whole number of %d bits", t.Bits())
	}
	return "a " + t.String()
}
