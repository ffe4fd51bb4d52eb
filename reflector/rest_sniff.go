package reflector

import (
	"bytes"
	"fmt"

	"github.com/listwatch/listwatch/reflector/internal/wire"
)

// sniffer is the Splitter of a body that shows by its first byte how it is
// encoded. Servers choose among what they were offered, and some proxies answer
// a page of their own.
type sniffer struct {
	watch bool
	check func(wire.ListHeader) error // asked before the first item of a list

	split   wire.Splitter     // nil before the first byte
	list    wire.ListSplitter // the same, of a list
	isProto bool
	checked bool
}

// Split implements wire.Splitter.
func (s *sniffer) Split(data []byte, idle bool) (int, []byte, error) {
	if s.split == nil {
		if rest := bytes.TrimLeft(data, " \r\n\t"); len(rest) == 0 {
			return 0, nil, nil
		} else if err := s.choose(rest); err != nil {
			return 0, nil, err
		}
	}
	advance, item, err := s.split.Split(data, idle)
	if err == nil && item != nil && !s.checked && s.check != nil {
		s.checked = true
		err = s.check(s.list.Header())
	}
	return advance, item, err
}

// choose looks at the first byte: JSON begins with a brace, a protobuf object
// with its magic, a protobuf frame with the highest byte of its length.
func (s *sniffer) choose(rest []byte) error {
	s.isProto = rest[0] != '{'
	switch {
	case s.watch && !s.isProto:
		s.split = &wire.JSONFrames{}
	case s.watch && rest[0] <= wire.MaxItem>>24:
		s.split = wire.ProtoFrames{}
	case !s.watch && !s.isProto:
		s.list = &wire.JSONList{}
	case !s.watch && rest[0] == 'k':
		s.list = &wire.ProtoList{}
	default:
		return fmt.Errorf("%w: neither JSON nor protobuf: %.60q", ErrMalformed, rest)
	}
	if s.list != nil {
		s.split = s.list
	}
	return nil
}

// subject is what errors are about.
func (s *sniffer) subject() string {
	if s.watch {
		return "watch event"
	}
	return "list"
}

// End implements wire.Splitter.
func (s *sniffer) End(data []byte) error {
	switch {
	case s.split != nil:
		return s.split.End(data)
	case s.watch:
		return nil
	}
	return fmt.Errorf("%w: an empty answer", ErrMalformed)
}
