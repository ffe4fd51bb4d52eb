package protofast

import (
	"reflect"
	"unsafe"

	"github.com/listwatch/listwatch/reflector/internal/parts"
)

// Sharer is a Decoder whose objects share their equal parts: what is behind a
// pointer, maps, slices, and longer strings. Objects must not be written to.
type Sharer struct {
	root  *message
	table *parts.Table
	usual parts.Usual
}

// Sharing returns a Sharer that remembers parts in table.
func (d *Decoder) Sharing(table *parts.Table) *Sharer { return &Sharer{root: d.root, table: table} }

// Decode is Decoder.Decode. A field that comes twice is refused: it would be
// merged into what is shared.
func (d *Sharer) Decode(data []byte, object any) error {
	s := state{table: d.table, texts: d.usual.Texts(len(data))}
	err := s.message(d.root, reflect.ValueOf(object).UnsafePointer(), data)
	d.usual.Learn(len(data), &s.texts)
	return err
}

const (
	// shortest string that is worth looking for. Kubernetes' constants are shorter.
	shortest = 20
	// longest part that is worth remembering.
	longest = 32 << 10
	// smallest struct that is, if it decodes itself: it has hardly any memory.
	smallest = 32
)

// kindOf is the kind of a field's parts, by its type; zero if they are not shared.
func (f *field) kindOf(t reflect.Type) uintptr {
	switch f.op {
	case opPointer:
		if f.sub.own != nil && f.size <= smallest {
			return 0
		}
	case opString, opBytes, opStrings, opSlice, opStringMap, opBytesMap, opQuantities:
	default:
		return 0
	}
	return uintptr(reflect.ValueOf(t).UnsafePointer()) // which tells types apart
}

// span is a field of a message: body is its content, from the message from it on,
// rest what follows it.
type span struct{ body, from, rest []byte }

// share decodes a field of a kind that may be shared, with those of its number that
// follow it, and returns what follows these.
func (s *state) share(f *field, at unsafe.Pointer, in span) (rest []byte, err error) {
	raw, n := in.body, 0
	switch f.op {
	case opString, opBytes:
		if len(raw) < shortest {
			return in.rest, s.bytes(f, at, in.body, in.from)
		}
	case opPointer:
		if *(*unsafe.Pointer)(at) != nil {
			return nil, errRefused
		}
	default:
		if *(*unsafe.Pointer)(at) != nil {
			return nil, errRefused
		}
		n, in.rest = extent(in.from)
		raw = in.from[:len(in.from)-len(in.rest)]
	}
	if len(raw) > longest {
		return in.rest, s.all(f, at, raw, n)
	}
	found, key := s.table.Find(f.shared, raw)
	switch {
	case found != nil:
		s.size += found.Size
		f.set(at, found)
	case s.part || !s.table.Again(key):
		return in.rest, s.all(f, at, raw, n)
	default:
		part, err := s.remember(f, raw, n)
		if err != nil {
			return nil, err
		}
		s.table.Add(key, part)
		f.set(at, part)
	}
	return in.rest, nil
}

// all decodes one field, or a run of n.
func (s *state) all(f *field, at unsafe.Pointer, raw []byte, n int) error {
	if n == 0 {
		return s.bytes(f, at, raw, nil)
	}
	for len(raw) > 0 {
		_, _, _, body, rest, _ := next(raw)
		if err := s.bytes(f, at, body, raw); err != nil {
			return err
		}
		raw = rest
	}
	return nil
}

// remember makes a part that can be kept alive without the object. Its own parts
// are shared if they are known, and counted all the same, as they may be forgotten
// before it; else they are not worth it beside the whole.
func (s *state) remember(f *field, raw []byte, n int) (*parts.Part, error) {
	part := &parts.Part{Raw: string(raw), Len: n}
	inner := state{own: true, table: s.table, part: true, size: len(raw)}
	switch f.op {
	case opString, opBytes:
	default:
		if f.op == opStrings || f.op == opSlice {
			var list slice
			if err := inner.all(f, unsafe.Pointer(&list), bytesOf(part.Raw), n); err != nil {
				return nil, err
			}
			part.Value = list.data
			break
		}
		if err := inner.all(f, unsafe.Pointer(&part.Value), bytesOf(part.Raw), n); err != nil {
			return nil, err
		}
	}
	part.Size = inner.size
	return part, nil
}

// bytesOf are the bytes of a string, not to be written to.
func bytesOf(text string) []byte { return unsafe.Slice(unsafe.StringData(text), len(text)) }

// set makes a field the value of a part.
func (f *field) set(at unsafe.Pointer, part *parts.Part) {
	switch f.op {
	case opString:
		*(*string)(at) = part.Raw
	case opBytes:
		*(*[]byte)(at) = bytesOf(part.Raw)
	case opStrings:
		*(*[]string)(at) = unsafe.Slice((*string)(part.Value), part.Len)
	case opSlice:
		*(*slice)(at) = slice{part.Value, part.Len, part.Len}
	default:
		*(*unsafe.Pointer)(at) = part.Value
	}
}
