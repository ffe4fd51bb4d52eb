package factory

import (
	"fmt"
	"reflect"
	"runtime"
	"strings"
	"unsafe"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/listwatch/listwatch/reflector"
)

// key tells informers apart.
type key struct {
	resource       schema.GroupVersionResource
	namespaces     string // sorted, with commas; "" is all
	labels, fields string
	shard          string
	as             reflect.Type // what objects are
}

// settings are what all users of an informer have to agree on.
type settings struct {
	waiting            bool
	transform, mapping function
	rest               reflector.RESTSettings // its selectors are in the key
	reflector          reflector.Options
	informer           InformerOptions
}

// request is what somebody asks for.
type request struct {
	key        key
	namespaces []string
	settings   settings
	transform  any // func(T) (T, error), or nil
	mapping    any // maker[T], or nil
	indexes    []anyIndex
	ownCopy    bool
	site       string
}

// changes: what is cached is not what the server sends.
func (r *request) changes() bool { return r.transform != nil || r.mapping != nil }

// name is what the informer is called.
func (r *request) name() string {
	if r.mapping == nil {
		return r.key.String()
	}
	return r.key.String() + " mapped to " + strings.TrimPrefix(r.key.as.String(), "*")
}

// anyIndex is an index function of any type.
type anyIndex struct {
	name     string
	function any // indexer.Func[T]
	identity function
	site     string // of whoever added it
}

// function tells whether two values are the same function: same code, and the
// same variables that it refers to. It is not enough by itself: as long as it is
// compared the function must be kept alive.
type function struct{ closure unsafe.Pointer }

// identify returns the identity of a function. Package reflect gives the address
// of the code only, which is that of all closures made at one place.
func identify[F any](f F) function { return function{*(*unsafe.Pointer)(unsafe.Pointer(&f))} }

// name is that of the code.
func (f function) String() string {
	if f.closure == nil {
		return "none"
	}
	return runtime.FuncForPC(*(*uintptr)(f.closure)).Name()
}

// String is what the informer is called: "deployments.v1.apps as metadata in a,b".
func (k key) String() string {
	text := k.resource.Resource + "." + k.resource.Version
	if k.resource.Group != "" {
		text += "." + k.resource.Group
	}
	switch k.as {
	case metadataType:
		text += " as metadata"
	case unstructuredType:
		text += " as unstructured"
	}
	for _, part := range []struct{ before, value string }{
		{" in ", k.namespaces}, {" with labels ", k.labels}, {" with fields ", k.fields}, {" of ", k.shard},
	} {
		if part.value != "" {
			text += part.before + part.value
		}
	}
	return text
}

// differences says in what s is other than asked, "" if in nothing.
func (s *settings) differences(asked *settings) string {
	all := fieldsThatDiffer(&s.rest, &asked.rest)
	all = append(all, fieldsThatDiffer(&s.reflector, &asked.reflector)...)
	all = append(all, fieldsThatDiffer(&s.informer, &asked.informer)...)
	for _, d := range []struct {
		what     string
		has, got any
	}{
		{"transform", s.transform, asked.transform},
		{"mapping", s.mapping, asked.mapping},
		{"waiting", s.waiting, asked.waiting},
	} {
		if d.has != d.got {
			all = append(all, notAlike(d.what, d.has, d.got))
		}
	}
	return strings.Join(all, "; ")
}

// fieldsThatDiffer compares structs field by field, functions by what they are.
func fieldsThatDiffer[S any](has, got *S) (all []string) {
	a, b := reflect.ValueOf(has).Elem(), reflect.ValueOf(got).Elem()
	for k := range a.NumField() {
		x, y, name := a.Field(k), b.Field(k), a.Type().Field(k).Name
		switch {
		case x.Kind() == reflect.Func:
			one, other := function{*(*unsafe.Pointer)(x.Addr().UnsafePointer())}, function{*(*unsafe.Pointer)(y.Addr().UnsafePointer())}
			if one != other {
				all = append(all, notAlike(name, one, other))
			}
		case !x.Comparable() || !y.Comparable() || !x.Equal(y):
			all = append(all, notAlike(name, x.Interface(), y.Interface()))
		}
	}
	return all
}

func notAlike(what string, has, got any) string {
	text := fmt.Sprintf("%s: %v, not %v", what, has, got)
	if fmt.Sprint(has) == fmt.Sprint(got) {
		text += " made anew"
	}
	return text
}
