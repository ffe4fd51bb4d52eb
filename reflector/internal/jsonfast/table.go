package jsonfast

import (
	"encoding"
	"encoding/json"
	"reflect"
	"strings"
	"sync/atomic"
	"unsafe"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/listwatch/listwatch/reflector/internal/arrays"
	"github.com/listwatch/listwatch/reflector/internal/parts"
)

// Decoder decodes objects of one type. Use For.
type Decoder struct {
	root  *node
	usual parts.Usual
}

// Other decodes a JSON value into a pointer.
type Other func(data []byte, into any) error

// For returns a Decoder for the struct type element, or nil if that type cannot
// be decoded by tables. Parts of it that cannot are left to other.
func For(element reflect.Type, other Other) *Decoder {
	b := builder{known: map[reflect.Type]*node{}, other: other}
	if root := b.node(element); root.op == opStruct {
		return &Decoder{root: root}
	}
	return nil
}

// op is how a value is decoded.
type op uint8

const (
	opOther op = iota // by a function
	opBool
	opInt32
	opInt64
	opString
	opBytes
	opPointer
	opStruct
	opSlice
	opStringMap  // map[~string]string
	opQuantities // map[~string]resource.Quantity
	opTime       // metav1.Time
	opRaw        // a struct of the bytes themselves
)

// node describes a type.
type node struct {
	op     op
	typ    reflect.Type
	elem   *node // behind a pointer or in a slice
	size   uintptr
	arrays *arrays.Maker // of a slice
	usual  atomic.Int32  // length of a slice: that of the last one
	fields []field       // of a struct
	other  func(at unsafe.Pointer, raw []byte) error
	shared uintptr // kind of its parts, zero if they are not shared
}

// field is a member of a struct, or of one that is embedded in it.
type field struct {
	name   string
	offset uintptr
	node   *node
}

// maxFields of a struct: as many bits tell which of them came.
const maxFields = 128

// builder makes tables. Types may contain themselves.
type builder struct {
	known map[reflect.Type]*node
	other Other
}

var (
	jsonUnmarshaler = reflect.TypeFor[json.Unmarshaler]()
	textUnmarshaler = reflect.TypeFor[encoding.TextUnmarshaler]()
	quantity        = reflect.TypeFor[resource.Quantity]()
	timestamp       = reflect.TypeFor[metav1.Time]()
	managed         = reflect.TypeFor[metav1.FieldsV1]()
)

// node describes t.
func (b builder) node(t reflect.Type) *node {
	if n, ok := b.known[t]; ok {
		return n
	}
	n := &node{typ: t, size: t.Size()}
	b.known[t] = n
	pointer := reflect.PointerTo(t)
	switch {
	case t == timestamp:
		n.op = opTime
	case t == managed && managed.NumField() == 1 && managed.Field(0).Type == reflect.TypeFor[[]byte]():
		n.op = opRaw // but with the build tag fieldsv1string
	case t.Kind() != reflect.Pointer && pointer.Implements(jsonUnmarshaler):
		n.other = func(at unsafe.Pointer, raw []byte) error {
			return reflect.NewAt(t, at).Interface().(json.Unmarshaler).UnmarshalJSON(raw)
		}
	case t.Kind() == reflect.Pointer || !pointer.Implements(textUnmarshaler):
		n.op = b.op(t, n)
	}
	if n.op == opOther && n.other == nil {
		n.other = func(at unsafe.Pointer, raw []byte) error { return b.other(raw, reflect.NewAt(t, at).Interface()) }
	}
	n.shared = n.kind()
	return n
}

// op is how values of a type without methods of its own are decoded.
func (b builder) op(t reflect.Type, n *node) op {
	switch t.Kind() {
	case reflect.Bool:
		return opBool
	case reflect.Int32:
		return opInt32
	case reflect.Int64:
		return opInt64
	case reflect.String:
		return opString
	case reflect.Pointer:
		n.elem = b.node(t.Elem())
		return opPointer
	case reflect.Struct:
		if fields, ok := b.fields(t, 0); ok && len(fields) <= maxFields {
			n.fields = fields
			return opStruct
		}
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return opBytes
		}
		n.elem, n.arrays = b.node(t.Elem()), arrays.Of(t)
		return opSlice
	case reflect.Map:
		switch {
		case t.Key().Kind() != reflect.String || reflect.PointerTo(t.Key()).Implements(textUnmarshaler):
		case t.Elem() == reflect.TypeFor[string]():
			return opStringMap
		case t.Elem() == quantity:
			return opQuantities
		}
	}
	return opOther
}

// fields are the members of a struct that lies at an offset; false if their names
// are not plain.
func (b builder) fields(t reflect.Type, offset uintptr) (fields []field, ok bool) {
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Tag.Get("json") == "-":
			continue
		case f.Anonymous && name == "":
			if f.Type.Kind() != reflect.Struct || !f.IsExported() {
				return nil, false
			}
			inner, ok := b.fields(f.Type, offset+f.Offset)
			if !ok {
				return nil, false
			}
			fields = append(fields, inner...)
			continue
		case !f.IsExported():
			continue
		case strings.Contains(options, "string"):
			return nil, false
		case name == "":
			name = f.Name
		}
		fields = append(fields, field{name, offset + f.Offset, b.node(f.Type)})
	}
	names := map[string]bool{}
	for _, f := range fields {
		if names[f.name] {
			return nil, false
		}
		names[f.name] = true
	}
	return fields, true
}
