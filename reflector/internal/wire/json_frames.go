package wire

import (
	"bytes"
	"io"
)

// JSONFrames splits a watch stream into its JSON objects. Servers end each with
// a newline; any white space, or nothing, between them will do, and newlines
// within them too.
//
// A newline between a brace that closes and one that opens is the end of a
// frame: within an object another token would have to follow, and in a string
// it must not stand. Braces are counted only where nothing has followed yet, or
// where another frame might end on the same line.
type JSONFrames struct {
	searched int // of the frame's bytes, for newlines
	braces   scan
}

// Split implements Splitter.
func (f *JSONFrames) Split(data []byte, idle bool) (int, []byte, error) {
	if begin := space(data, 0); begin > 0 {
		*f = JSONFrames{}
		return begin, nil, nil
	}
	if len(data) == 0 {
		return 0, nil, nil
	}
	if data[0] != '{' {
		return 0, nil, syntax("a frame begins with %q", data[0])
	}
	if end := f.byNewline(data); end > 0 {
		return f.cut(data, end)
	}
	// The end of a frame is a brace.
	if idle && data[len(bytes.TrimRight(data, " \r\n\t"))-1] == '}' || len(data) > MaxItem {
		if end := f.braces.end(data); end > 0 {
			return f.cut(data, end)
		}
	}
	if len(data) > MaxItem {
		return 0, nil, ErrTooLong
	}
	return 0, nil, nil
}

// cut ends a frame.
func (f *JSONFrames) cut(data []byte, end int) (int, []byte, error) {
	*f = JSONFrames{}
	return end, data[:end], nil
}

// byNewline finds the end of the frame by what is around a newline, or returns
// zero.
func (f *JSONFrames) byNewline(data []byte) int {
	for {
		next := bytes.IndexByte(data[f.searched:], '\n')
		if next < 0 {
			f.searched = len(data)
			return 0
		}
		newline := f.searched + next
		following := space(data, newline)
		if following >= len(data) {
			f.searched = newline // it is decided when more has come
			return 0
		}
		end := newline
		for end > 0 && (data[end-1] == ' ' || data[end-1] == '\r' || data[end-1] == '\t') {
			end--
		}
		if data[end-1] == '}' && data[following] == '{' {
			if mayHoldTwo(data[:end]) {
				return f.braces.end(data)
			}
			return end
		}
		f.searched = following
	}
}

// mayHoldTwo reports whether a brace that closes and one that opens might stand
// side by side. Where it says so that is mostly in a string.
func mayHoldTwo(line []byte) bool {
	return bytes.Contains(line, []byte("}{")) || bytes.Contains(line, []byte("} ")) ||
		bytes.IndexByte(line, '\t') >= 0 || bytes.IndexByte(line, '\r') >= 0
}

// End implements Splitter.
func (f *JSONFrames) End(data []byte) error {
	if space(data, 0) < len(data) {
		return io.ErrUnexpectedEOF
	}
	return nil
}
