package wire

import "bytes"

// scan finds the end of a JSON object or array that arrives piece by piece. The
// zero value stands before its first byte.
type scan struct {
	at     int // of the next byte to look at
	depth  int // of braces and brackets
	string bool
}

// end returns the index after the value that begins at data[0], or -1 if data
// does not hold all of it. Called again, data has the same beginning.
func (s *scan) end(data []byte) int {
	i := s.at
	for i < len(data) {
		if s.string {
			if i = stringEnd(data, i); i < 0 {
				s.at = len(data)
				return -1
			}
			s.string = false
			continue
		}
		switch data[i] {
		case '"':
			s.string = true
		case '{', '[':
			s.depth++
		case '}', ']':
			if s.depth--; s.depth <= 0 {
				return i + 1
			}
		}
		i++
	}
	s.at = i
	return -1
}

// stringEnd returns the index after the quote that ends the string in whose
// inside i is, or -1. The string's first quote is before i.
func stringEnd(data []byte, i int) int {
	for from := i; ; {
		next := bytes.IndexByte(data[from:], '"')
		if next < 0 {
			return -1
		}
		quote := from + next
		back := quote
		for back > 0 && data[back-1] == '\\' {
			back--
		}
		if (quote-back)%2 == 0 {
			return quote + 1
		}
		from = quote + 1
	}
}

// space returns the index of the first byte from i on that is no white space.
func space(data []byte, i int) int {
	for i < len(data) && (data[i] == ' ' || data[i] == '\n' || data[i] == '\r' || data[i] == '\t') {
		i++
	}
	return i
}

// valueEnd returns the index after the JSON value that begins at data[i], or -1
// if data does not hold all of it. A number or word that ends with data counts
// as whole.
func valueEnd(data []byte, i int) int {
	if i >= len(data) {
		return -1
	}
	switch data[i] {
	case '"':
		return stringEnd(data, i+1)
	case '{', '[':
		s := scan{}
		end := s.end(data[i:])
		if end < 0 {
			return -1
		}
		return i + end
	}
	from := i
	for i < len(data) && !delimiter(data[i]) {
		i++
	}
	if i == from {
		return -1
	}
	return i
}

// delimiter reports whether c ends a number or a word.
func delimiter(c byte) bool {
	switch c {
	case ',', ':', '{', '}', '[', ']', '"', ' ', '\n', '\r', '\t':
		return true
	}
	return false
}

// members walks the members of a JSON object.
type members struct {
	data  []byte
	i     int
	begun bool
}

// next returns the next key without its quotes, and the value with the index
// where it begins; false at the end, or where data is no object.
func (m *members) next() (key, value []byte, at int, ok bool) {
	data, i := m.data, space(m.data, m.i)
	opening := byte(',')
	if !m.begun {
		opening, m.begun = '{', true
	}
	if i >= len(data) || data[i] != opening {
		return nil, nil, 0, false
	}
	i = space(data, i+1)
	if i >= len(data) || data[i] != '"' {
		return nil, nil, 0, false
	}
	end := stringEnd(data, i+1)
	if end < 0 {
		return nil, nil, 0, false
	}
	key = data[i+1 : end-1]
	i = space(data, end)
	if i >= len(data) || data[i] != ':' {
		return nil, nil, 0, false
	}
	i = space(data, i+1)
	if end = valueEnd(data, i); end < 0 {
		return nil, nil, 0, false
	}
	m.i = end
	return key, data[i:end], i, true
}
