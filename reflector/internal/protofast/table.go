package protofast

import (
	"reflect"
	"strconv"
	"strings"
	"unsafe"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/listwatch/listwatch/reflector/internal/arrays"
	"github.com/listwatch/listwatch/reflector/internal/parts"
)

// Decoder decodes messages into one type. Use For.
type Decoder struct {
	root  *message
	usual parts.Usual
}

// For returns a Decoder for the struct type element, or nil if that type is not
// described by its tags.
func For(element reflect.Type) *Decoder {
	b := builder{known: map[reflect.Type]*message{}}
	if root := b.message(element); root != nil && root.own == nil {
		return &Decoder{root: root}
	}
	return nil
}

// message describes a struct type, or how a type decodes itself.
type message struct {
	typ    reflect.Type
	fields []field // by number
	own    func(object unsafe.Pointer, data []byte) error
}

// field describes one field of a message.
type field struct {
	op     op
	wire   byte
	offset uintptr      // in the struct
	elem   reflect.Type // behind a pointer or in a slice
	slice  reflect.Type
	arrays *arrays.Maker // for the slice
	size   uintptr       // of elem
	sub    *message      // of opMessage, opPointer and opSlice
	shared uintptr       // kind of its parts, zero if these are not shared
}

// op is what is done with a field.
type op uint8

const (
	opNone op = iota // not in the type: skipped
	opBool
	opInt32
	opInt64
	opString
	opBytes
	opBoolPointer
	opInt32Pointer
	opInt64Pointer
	opStringPointer
	opStrings    // []string
	opMessage    // struct
	opPointer    // *struct
	opSlice      // []struct
	opStringMap  // map[string]string
	opBytesMap   // map[string][]byte
	opQuantities // map[~string]resource.Quantity
)

// Protobuf wire types.
const (
	wireVarint = 0
	wireBytes  = 2
)

// builder makes tables. Types may contain themselves, by pointer.
type builder struct{ known map[reflect.Type]*message }

// unmarshaler is a type that decodes itself.
type unmarshaler interface{ Unmarshal(data []byte) error }

// message describes a type; nil if neither tags nor methods do.
func (b builder) message(t reflect.Type) *message {
	if m, ok := b.known[t]; ok {
		return m
	}
	m := &message{typ: t}
	b.known[t] = m
	if t.Kind() == reflect.Struct && b.struct_(t, m) {
		return m
	}
	m.fields = nil
	if m.own = own(t); m.own == nil {
		b.known[t] = nil
		return nil
	}
	return m
}

// own is a type's own Unmarshal.
func own(t reflect.Type) func(unsafe.Pointer, []byte) error {
	switch t {
	case reflect.TypeFor[metav1.Time]():
		return func(p unsafe.Pointer, data []byte) error { return (*metav1.Time)(p).Unmarshal(data) }
	case reflect.TypeFor[metav1.MicroTime]():
		return func(p unsafe.Pointer, data []byte) error { return (*metav1.MicroTime)(p).Unmarshal(data) }
	case reflect.TypeFor[resource.Quantity]():
		return func(p unsafe.Pointer, data []byte) error { return (*resource.Quantity)(p).Unmarshal(data) }
	}
	if !reflect.PointerTo(t).Implements(reflect.TypeFor[unmarshaler]()) {
		return nil
	}
	return func(p unsafe.Pointer, data []byte) error {
		return reflect.NewAt(t, p).Interface().(unmarshaler).Unmarshal(data)
	}
}

// struct_ fills in the fields of a struct type by its tags; false if they do not
// tell all.
func (b builder) struct_(t reflect.Type, m *message) bool {
	tagged := 0
	for i := range t.NumField() {
		f := t.Field(i)
		tag, ok := f.Tag.Lookup("protobuf")
		if !ok {
			continue
		}
		// Only the number: some tags name the wrong wire type.
		_, text, _ := strings.Cut(tag, ",")
		text, _, _ = strings.Cut(text, ",")
		number, err := strconv.Atoi(text)
		if err != nil || number < 1 || number > 1000 {
			return false
		}
		entry := field{offset: f.Offset, wire: wireBytes}
		if entry.op = b.op(f.Type, &entry); entry.op == opNone {
			return false
		}
		entry.shared = entry.kindOf(f.Type)
		for len(m.fields) <= number {
			m.fields = append(m.fields, field{})
		}
		m.fields[number] = entry
		tagged++
	}
	return tagged > 0 || t.NumField() == 0
}

// op is what to do with a field of type t; opNone if that is not known.
func (b builder) op(t reflect.Type, f *field) op {
	if o := numberOp(t); o != opNone {
		f.wire = wireVarint
		return o
	}
	switch t.Kind() {
	case reflect.String:
		return opString
	case reflect.Map:
		return mapOp(t)
	case reflect.Slice:
		if f.sub = b.named(t); f.sub != nil {
			return opMessage
		}
		return b.sliceOp(t, f)
	case reflect.Pointer:
		if f.elem = t.Elem(); f.elem.Kind() == reflect.String {
			return opStringPointer
		}
		if f.sub = b.message(f.elem); f.sub != nil {
			f.size = f.elem.Size()
			return opPointer
		}
	case reflect.Struct:
		if f.sub = b.message(t); f.sub != nil {
			return opMessage
		}
	}
	return opNone
}

// numberOp is op for numbers and pointers to them.
func numberOp(t reflect.Type) op {
	plain, pointed := t.Kind(), reflect.Invalid
	if plain == reflect.Pointer {
		pointed = t.Elem().Kind()
	}
	switch {
	case plain == reflect.Bool:
		return opBool
	case plain == reflect.Int32:
		return opInt32
	case plain == reflect.Int64:
		return opInt64
	case pointed == reflect.Bool:
		return opBoolPointer
	case pointed == reflect.Int32:
		return opInt32Pointer
	case pointed == reflect.Int64:
		return opInt64Pointer
	}
	return opNone
}

// named is a slice type that is a message of its own.
func (b builder) named(t reflect.Type) *message {
	if t.Name() == "" || !reflect.PointerTo(t).Implements(reflect.TypeFor[unmarshaler]()) {
		return nil
	}
	return b.message(t)
}

func (b builder) sliceOp(t reflect.Type, f *field) op {
	f.slice, f.elem, f.size = t, t.Elem(), t.Elem().Size()
	switch f.elem.Kind() {
	case reflect.Uint8:
		return opBytes
	case reflect.String:
		return opStrings
	case reflect.Struct:
		if f.sub = b.message(f.elem); f.sub != nil {
			f.arrays = arrays.Of(t)
			return opSlice
		}
	}
	return opNone
}

func mapOp(t reflect.Type) op {
	switch {
	case t.Key().Kind() != reflect.String:
		return opNone
	case t.Elem() == reflect.TypeFor[resource.Quantity]():
		return opQuantities
	case t.Elem() == reflect.TypeFor[string]():
		return opStringMap
	case t.Elem() == reflect.TypeFor[[]byte]():
		return opBytesMap
	}
	return opNone
}
