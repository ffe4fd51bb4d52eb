package protofast

import (
	"encoding/binary"
	"errors"
	"reflect"
	"unsafe"

	"k8s.io/apimachinery/pkg/api/resource"
)

// errRefused: the generated code knows why.
var errRefused = errors.New("protobuf message is refused")

// Decode decodes data into object, a pointer to a new object of the Decoder's
// type. After an error the object is of no use.
func (d *Decoder) Decode(data []byte, object any) error {
	kept := append(make([]byte, 0, len(data)), data...)
	return decode(d.root, reflect.ValueOf(object).UnsafePointer(), kept)
}

// text is data as a string; nothing writes to data any more.
func text(data []byte) string { return unsafe.String(unsafe.SliceData(data), len(data)) }

// decode decodes a message into object.
func decode(m *message, object unsafe.Pointer, data []byte) error {
	if m.own != nil {
		return m.own(object, data)
	}
	for len(data) > 0 {
		number, wire, value, body, rest, ok := next(data)
		if !ok {
			return errRefused
		}
		if number < len(m.fields) && m.fields[number].op != opNone {
			f := &m.fields[number]
			if wire != f.wire {
				return errRefused
			}
			at := unsafe.Add(object, f.offset)
			if wire == wireVarint {
				f.number(at, value)
			} else if err := f.bytes(at, body, data); err != nil {
				return err
			}
		}
		data = rest
	}
	return nil
}

// next takes a field off data.
func next(data []byte) (number int, wire byte, value uint64, body, rest []byte, ok bool) {
	tag, n := varint(data)
	if n <= 0 || tag>>3 == 0 || tag>>3 > 1<<29-1 {
		return
	}
	number, wire, data = int(tag>>3), byte(tag&7), data[n:]
	skip := 0
	switch wire {
	case wireVarint:
		value, skip = varint(data)
		ok = skip > 0
	case wireBytes:
		var length uint64
		if length, n = varint(data); n <= 0 || length > uint64(len(data)-n) {
			return
		}
		skip, ok = n+int(length), true
		body = data[n:skip:skip]
	case 1:
		skip, ok = 8, len(data) >= 8
	case 5:
		skip, ok = 4, len(data) >= 4
	}
	if !ok {
		return
	}
	return number, wire, value, body, data[skip:], true
}

// varint is binary.Uvarint with a short way for the many small ones.
func varint(data []byte) (uint64, int) {
	if len(data) > 0 && data[0] < 0x80 {
		return uint64(data[0]), 1
	}
	return binary.Uvarint(data)
}

// number sets a field of wire type varint.
func (f *field) number(at unsafe.Pointer, value uint64) {
	switch f.op {
	case opBool:
		*(*bool)(at) = value != 0
	case opInt32:
		*(*int32)(at) = int32(value)
	case opInt64:
		*(*int64)(at) = int64(value)
	case opBoolPointer:
		v := value != 0
		*(**bool)(at) = &v
	case opInt32Pointer:
		v := int32(value)
		*(**int32)(at) = &v
	case opInt64Pointer:
		v := int64(value)
		*(**int64)(at) = &v
	}
}

// bytes sets a field of wire type bytes. from is the message from the field on.
func (f *field) bytes(at unsafe.Pointer, body, from []byte) error {
	switch f.op {
	case opString:
		*(*string)(at) = text(body)
	case opBytes:
		*(*[]byte)(at) = body
	case opStringPointer:
		v := text(body)
		*(**string)(at) = &v
	case opStrings:
		list := (*[]string)(at)
		if *list == nil {
			*list = make([]string, 0, run(from))
		}
		*list = append(*list, text(body))
	case opMessage:
		return decode(f.sub, at, body)
	case opPointer:
		p := *(*unsafe.Pointer)(at)
		if p == nil {
			p = reflect.New(f.elem).UnsafePointer()
			*(*unsafe.Pointer)(at) = p
		}
		return decode(f.sub, p, body)
	case opSlice:
		return decode(f.sub, f.grow(at, from), body)
	default:
		return f.entry(at, body, from)
	}
	return nil
}

// slice is how a slice lies in memory.
type slice struct {
	data     unsafe.Pointer
	len, cap int
}

// grow makes the slice at longer by an element and returns that. At first it
// makes room for all that follow.
func (f *field) grow(at unsafe.Pointer, from []byte) unsafe.Pointer {
	list := (*slice)(at)
	if list.len == list.cap {
		grown := slice{len: list.len, cap: list.len + run(from)}
		grown.data = f.arrays.Make(grown.cap)
		if list.len > 0 {
			reflect.Copy(reflect.NewAt(f.slice, unsafe.Pointer(&grown)).Elem(), reflect.NewAt(f.slice, at).Elem())
		}
		*list = grown
	}
	list.len++
	return unsafe.Add(list.data, uintptr(list.len-1)*f.size)
}

// run counts how many fields of the first's number and type follow each other.
func run(data []byte) int {
	n := 1
	first, wire, _, _, rest, _ := next(data)
	for len(rest) > 0 {
		number, w, _, _, after, ok := next(rest)
		if !ok || number != first || w != wire {
			break
		}
		n++
		rest = after
	}
	return n
}

// entry sets an entry of a map.
func (f *field) entry(at unsafe.Pointer, body, from []byte) error {
	var key, value []byte
	for len(body) > 0 {
		number, wire, _, part, rest, ok := next(body)
		if !ok || number <= 2 && wire != wireBytes {
			return errRefused
		}
		switch number {
		case 1:
			key = part
		case 2:
			value = part
		}
		body = rest
	}
	switch f.op {
	case opStringMap:
		entries := (*map[string]string)(at)
		if *entries == nil {
			*entries = make(map[string]string, run(from))
		}
		(*entries)[text(key)] = text(value)
	case opBytesMap:
		entries := (*map[string][]byte)(at)
		if *entries == nil {
			*entries = make(map[string][]byte, run(from))
		}
		if value == nil {
			value = []byte{}
		}
		(*entries)[text(key)] = value
	case opQuantities:
		entries := (*map[string]resource.Quantity)(at)
		if *entries == nil {
			*entries = make(map[string]resource.Quantity, run(from))
		}
		var quantity resource.Quantity
		if err := quantity.Unmarshal(value); err != nil {
			return err
		}
		(*entries)[text(key)] = quantity
	}
	return nil
}
