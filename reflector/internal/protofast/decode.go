package protofast

import (
	"encoding/binary"
	"errors"
	"reflect"
	"unsafe"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/listwatch/listwatch/reflector/internal/parts"
)

// errRefused: the generated code knows why.
var errRefused = errors.New("protobuf message is refused")

// Decode decodes data into object, a pointer to a new object of the Decoder's
// type. After an error the object is of no use.
func (d *Decoder) Decode(data []byte, object any) error {
	s := state{texts: d.usual.Texts(len(data))}
	err := s.message(d.root, reflect.ValueOf(object).UnsafePointer(), data)
	d.usual.Learn(len(data), &s.texts)
	return err
}

// state is what decoding an object needs besides the bytes.
type state struct {
	own bool // the bytes are the object's: strings are parts of them

	// For sharing; see share.go.
	table *parts.Table // nil: nothing is shared
	part  bool         // what is decoded will be shared
	size  int          // of the memory referred to so far, but for texts
	texts parts.Texts
}

// text is data as a string that may be kept.
func (s *state) text(data []byte) string {
	if !s.own {
		data = s.texts.Keep(data)
	}
	return unsafe.String(unsafe.SliceData(data), len(data))
}

// message decodes a message into object.
func (s *state) message(m *message, object unsafe.Pointer, data []byte) error {
	if m.own != nil {
		err := m.own(object, data)
		if s.part {
			s.size += parts.SizeBehind(reflect.NewAt(m.typ, object).Elem())
		}
		return err
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
			var err error
			switch {
			case wire == wireVarint:
				s.size += f.number(at, value)
			case f.shared != 0 && s.table != nil:
				rest, err = s.share(f, at, span{body, data, rest})
			default:
				err = s.bytes(f, at, body, data)
			}
			if err != nil {
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

// number sets a field of wire type varint, and returns what memory that took.
func (f *field) number(at unsafe.Pointer, value uint64) (size int) {
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
	if f.op >= opBoolPointer {
		size = int(unsafe.Sizeof(value))
	}
	return size
}

// bytes sets a field of wire type bytes. from is the message from the field on.
func (s *state) bytes(f *field, at unsafe.Pointer, body, from []byte) error {
	switch f.op {
	case opString:
		*(*string)(at) = s.text(body)
	case opBytes:
		if !s.own {
			body = s.texts.Keep(body)
		}
		*(*[]byte)(at) = body
	case opStringPointer:
		v := s.text(body)
		s.size += int(unsafe.Sizeof(v))
		*(**string)(at) = &v
	case opStrings:
		list := (*[]string)(at)
		if *list == nil {
			n := run(from)
			s.size += n * int(unsafe.Sizeof(""))
			*list = make([]string, 0, n)
		}
		*list = append(*list, s.text(body))
	case opMessage:
		return s.message(f.sub, at, body)
	case opPointer:
		p := *(*unsafe.Pointer)(at)
		if p == nil {
			s.size += int(f.size)
			p = reflect.New(f.elem).UnsafePointer()
			*(*unsafe.Pointer)(at) = p
		}
		return s.message(f.sub, p, body)
	case opSlice:
		return s.message(f.sub, s.grow(f, at, from), body)
	default:
		return s.entry(f, at, body, from)
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
func (s *state) grow(f *field, at unsafe.Pointer, from []byte) unsafe.Pointer {
	list := (*slice)(at)
	if list.len == list.cap {
		grown := slice{len: list.len, cap: list.len + run(from)}
		grown.data = f.arrays.Make(grown.cap)
		s.size += grown.cap * int(f.size)
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
	n, _ := extent(data)
	return n
}

// extent is run, and what follows.
func extent(data []byte) (n int, rest []byte) {
	n = 1
	first, wire, _, _, rest, _ := next(data)
	for len(rest) > 0 {
		number, w, _, _, after, ok := next(rest)
		if !ok || number != first || w != wire {
			break
		}
		n++
		rest = after
	}
	return n, rest
}

// entry sets an entry of a map.
func (s *state) entry(f *field, at unsafe.Pointer, body, from []byte) error {
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
			n := run(from)
			s.size += parts.MapSize(n, unsafe.Sizeof(""), unsafe.Sizeof(""))
			*entries = make(map[string]string, n)
		}
		(*entries)[s.text(key)] = s.text(value)
	case opBytesMap:
		entries := (*map[string][]byte)(at)
		if *entries == nil {
			n := run(from)
			s.size += parts.MapSize(n, unsafe.Sizeof(""), unsafe.Sizeof(key))
			*entries = make(map[string][]byte, n)
		}
		switch {
		case value == nil:
			value = []byte{}
		case !s.own:
			value = s.texts.Keep(value)
		}
		(*entries)[s.text(key)] = value
	case opQuantities:
		entries := (*map[string]resource.Quantity)(at)
		if *entries == nil {
			n := run(from)
			s.size += parts.MapSize(n, unsafe.Sizeof(""), unsafe.Sizeof(resource.Quantity{}))
			*entries = make(map[string]resource.Quantity, n)
		}
		var quantity resource.Quantity
		if err := quantity.Unmarshal(value); err != nil {
			return err
		}
		if s.part {
			s.size += parts.SizeBehind(reflect.ValueOf(&quantity).Elem())
		}
		(*entries)[s.text(key)] = quantity
	}
	return nil
}
