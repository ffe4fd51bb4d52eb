package wire

import (
	"bytes"
	"encoding/binary"
	"io"
)

// ProtoFrames splits a watch stream into protobuf events, each of which comes
// after its length in four bytes.
type ProtoFrames struct{}

// Split implements Splitter.
func (ProtoFrames) Split(data []byte, _ bool) (int, []byte, error) {
	if len(data) < 4 {
		return 0, nil, nil
	}
	length := int(binary.BigEndian.Uint32(data))
	switch {
	case length > MaxItem:
		return 0, nil, ErrTooLong
	case len(data) < 4+length:
		return 0, nil, nil
	}
	return 4 + length, data[4 : 4+length], nil
}

// End implements Splitter.
func (ProtoFrames) End(data []byte) error {
	if len(data) > 0 {
		return io.ErrUnexpectedEOF
	}
	return nil
}

// ProtoList splits a protobuf list into its items, which are bare of envelopes.
// In a list, field 1 is the metadata and field 2 are the items.
type ProtoList struct {
	envelope Unknown
	header   ListHeader
	metadata []byte
	begun    bool // past the magic
	listed   bool // the list itself has begun
	inside   bool // the list itself, not its envelope
	left     int  // bytes of the list to come, if inside
	skip     int  // bytes to come of a field that nobody wants
}

// Header implements ListSplitter.
func (l *ProtoList) Header() ListHeader { return l.header }

// Metadata implements ListSplitter.
func (l *ProtoList) Metadata() []byte { return l.metadata }

// Split implements Splitter.
func (l *ProtoList) Split(data []byte, _ bool) (int, []byte, error) {
	switch {
	case l.skip > 0:
		n := min(l.skip, len(data))
		l.skip -= n
		l.consume(n)
		return n, nil, nil
	case !l.begun:
		if len(data) < len(magic) {
			return 0, nil, nil
		}
		if !bytes.HasPrefix(data, magic) {
			return 0, nil, syntax("no protobuf object of Kubernetes")
		}
		l.begun = true
		return len(magic), nil, nil
	}
	f, size, length, err := header(data)
	if err != nil || size == 0 {
		return 0, nil, err
	}
	if !l.inside && f.number == 2 && f.wire == wireBytes {
		l.listed, l.inside, l.left = true, length > 0, length
		return size, nil, nil
	}
	return l.field(data, f, size, length)
}

// field reads a field of the list or of its envelope.
func (l *ProtoList) field(data []byte, f field, size, length int) (int, []byte, error) {
	end := size + length
	wanted := f.wire == wireBytes && (f.number == 1 || l.inside && f.number == 2)
	switch {
	case l.inside && end > l.left:
		return 0, nil, syntax("a field outgrows its list")
	case !wanted:
		l.skip = length
		l.consume(size)
		return size, nil, nil
	case length > MaxItem:
		return 0, nil, ErrTooLong
	case len(data) < end:
		return 0, nil, nil
	}
	f.bytes = data[size:end]
	inside := l.inside
	l.consume(end)
	switch {
	case inside && f.number == 2:
		return end, f.bytes, nil
	case inside:
		l.metadata = append([]byte{}, f.bytes...)
	default:
		l.envelope.take(f)
		l.header.APIVersion, l.header.Kind = string(l.envelope.APIVersion), string(l.envelope.Kind)
		l.envelope = Unknown{}
	}
	return end, nil, nil
}

// consume counts n bytes as read.
func (l *ProtoList) consume(n int) {
	if l.inside {
		l.left -= n
		l.inside = l.left > 0
	}
}

// End implements Splitter.
func (l *ProtoList) End(data []byte) error {
	if !l.listed || l.inside || l.skip > 0 || len(data) > 0 {
		return io.ErrUnexpectedEOF
	}
	return nil
}
