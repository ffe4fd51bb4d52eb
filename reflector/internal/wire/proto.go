package wire

import (
	"bytes"
	"encoding/binary"
)

// Protobuf wire types.
const (
	wireVarint = 0
	wireFixed8 = 1
	wireBytes  = 2
	wireFixed4 = 5
)

// magic begins a protobuf object that says what it is.
var magic = []byte("k8s\x00")

// field is one field of a protobuf message.
type field struct {
	number int
	wire   int
	bytes  []byte // of a wireBytes field
}

// header reads the tag of a field, and the length of what is behind it, which
// may not have arrived yet. size is the length of tag and length; zero says that
// data is too short for them.
func header(data []byte) (f field, size, length int, err error) {
	tag, n := binary.Uvarint(data)
	switch {
	case n == 0:
		return field{}, 0, 0, nil
	case n < 0 || tag>>3 == 0 || tag>>3 > 1<<29-1:
		return field{}, 0, 0, syntax("bad tag of a field")
	}
	f = field{number: int(tag >> 3), wire: int(tag & 7)}
	switch f.wire {
	case wireFixed8:
		return f, n, 8, nil
	case wireFixed4:
		return f, n, 4, nil
	case wireVarint, wireBytes:
	default:
		return field{}, 0, 0, syntax("wire type %d", f.wire)
	}
	value, m := binary.Uvarint(data[n:])
	switch {
	case m == 0:
		return field{}, 0, 0, nil
	case m < 0:
		return field{}, 0, 0, syntax("bad varint")
	case f.wire == wireVarint:
		return f, n + m, 0, nil
	case value > 1<<40:
		return field{}, 0, 0, syntax("length of %d bytes", value)
	}
	return f, n + m, int(value), nil
}

// next takes the first field off message; false at its end, or where it is not
// whole.
func next(message []byte) (f field, rest []byte, ok bool) {
	f, size, length, err := header(message)
	if err != nil || size == 0 || len(message)-size < length {
		return field{}, nil, false
	}
	if f.wire == wireBytes {
		f.bytes = message[size : size+length]
	}
	return f, message[size+length:], true
}

// Unknown is an object in protobuf's envelope.
type Unknown struct {
	APIVersion, Kind []byte
	// Raw is the object; ContentType its encoding, protobuf if empty.
	Raw, ContentType []byte
}

// SplitUnknown opens the envelope of an object.
func SplitUnknown(data []byte) (u Unknown, err error) {
	data, ok := bytes.CutPrefix(data, magic)
	if !ok {
		return Unknown{}, syntax("no protobuf object of Kubernetes")
	}
	for len(data) > 0 {
		var f field
		if f, data, ok = next(data); !ok {
			return Unknown{}, syntax("cut protobuf object")
		}
		u.take(f)
	}
	return u, nil
}

// take takes in one field of the envelope.
func (u *Unknown) take(f field) {
	switch f.number {
	case 1:
		for f, rest, ok := next(f.bytes); ok; f, rest, ok = next(rest) {
			switch f.number {
			case 1:
				u.APIVersion = f.bytes
			case 2:
				u.Kind = f.bytes
			}
		}
	case 2:
		u.Raw = f.bytes
	case 4:
		u.ContentType = f.bytes
	}
}

// SplitEvent opens a protobuf watch event. object is still in its envelope.
func SplitEvent(frame []byte) (eventType, object []byte, err error) {
	for len(frame) > 0 {
		f, rest, ok := next(frame)
		if !ok {
			return nil, nil, syntax("cut watch event")
		}
		switch f.number {
		case 1:
			eventType = f.bytes
		case 2:
			for inner, rest, ok := next(f.bytes); ok; inner, rest, ok = next(rest) {
				if inner.number == 1 {
					object = inner.bytes
				}
			}
		}
		frame = rest
	}
	return eventType, object, nil
}

// PeekProto reads the identity of an object whose first field is its metadata,
// without an envelope.
func PeekProto(object []byte) (id Identity, ok bool) {
	f, _, ok := next(object)
	if !ok || f.number != 1 || f.wire != wireBytes {
		return Identity{}, false
	}
	for f, rest, ok := next(f.bytes); ok; f, rest, ok = next(rest) {
		switch f.number {
		case 1:
			id.Name = f.bytes
		case 3:
			id.Namespace = f.bytes
		case 5:
			id.UID = f.bytes
		case 6:
			id.ResourceVersion = f.bytes
		case 7, 8, 9, 10, 11, 12, 17: // fields come in the order of their numbers
			return id, id.known()
		}
	}
	return id, id.known()
}

// WithoutManagedFieldsProto returns object, whose first field is its metadata,
// without metadata.managedFields. If there are any the result is built in
// buffer, else it is object.
func WithoutManagedFieldsProto(buffer, object []byte) []byte {
	meta, after, ok := next(object)
	if !ok || meta.number != 1 || meta.wire != wireBytes {
		return object
	}
	kept := 0
	for rest := meta.bytes; len(rest) > 0; {
		f, tail, ok := next(rest)
		if !ok {
			return object
		}
		if f.number != 17 {
			kept += len(rest) - len(tail)
		}
		rest = tail
	}
	if kept == len(meta.bytes) {
		return object
	}
	buffer = append(buffer[:0], 1<<3|wireBytes)
	buffer = binary.AppendUvarint(buffer, uint64(kept))
	for rest := meta.bytes; len(rest) > 0; {
		f, tail, _ := next(rest)
		if f.number != 17 {
			buffer = append(buffer, rest[:len(rest)-len(tail)]...)
		}
		rest = tail
	}
	return append(buffer, after...)
}
