package wire

import "io"

// ListHeader is what a list says it is, as far as that has come.
type ListHeader struct{ APIVersion, Kind string }

// ListSplitter is a Splitter of a list's items.
type ListSplitter interface {
	Splitter
	// Header may be empty before the end of the list.
	Header() ListHeader
	// Metadata is the encoded ListMeta, a copy; nil if it has not come yet.
	Metadata() []byte
}

// JSONList splits the JSON of a list into the items.
type JSONList struct {
	header   ListHeader
	metadata []byte
	state    listState
	key      string // of the member whose value comes next
	value    scan   // of the object or array under way
	items    bool   // there was a member "items"
}

type listState uint8

const (
	listStart  listState = iota // before the first brace
	listMember                  // before a member, a comma or the last brace
	listValue                   // before or in a member's value
	listItem                    // in items: before or in an item, a comma or the last bracket
	listOver                    // after the last brace
)

// Header implements ListSplitter.
func (l *JSONList) Header() ListHeader { return l.header }

// Metadata implements ListSplitter.
func (l *JSONList) Metadata() []byte { return l.metadata }

// Split implements Splitter.
func (l *JSONList) Split(data []byte, idle bool) (int, []byte, error) {
	begin := 0
	if l.value.at == 0 {
		if begin = space(data, 0); begin > 0 {
			return begin, nil, nil
		}
	}
	switch {
	case len(data) == 0:
		return 0, nil, nil
	case len(data) > MaxItem:
		return 0, nil, ErrTooLong
	}
	switch l.state {
	case listStart:
		if data[0] != '{' {
			return 0, nil, syntax("a list begins with %q", data[0])
		}
		l.state = listMember
		return 1, nil, nil
	case listMember:
		return l.member(data)
	case listValue:
		return l.memberValue(data)
	case listItem:
		return l.item(data)
	}
	return 0, nil, syntax("%q follows a list", data[0])
}

// member reads up to the colon of a member.
func (l *JSONList) member(data []byte) (int, []byte, error) {
	switch data[0] {
	case ',':
		return 1, nil, nil
	case '}':
		l.state = listOver
		return 1, nil, nil
	case '"':
	default:
		return 0, nil, syntax("%q where a member of the list was expected", data[0])
	}
	end := stringEnd(data, 1)
	if end < 0 {
		return 0, nil, nil
	}
	colon := space(data, end)
	if colon >= len(data) {
		return 0, nil, nil
	}
	if data[colon] != ':' {
		return 0, nil, syntax("%q after the name of a member", data[colon])
	}
	l.key, l.state = string(data[1:end-1]), listValue
	return colon + 1, nil, nil
}

// memberValue reads the value of a member other than items, or up to the first
// item.
func (l *JSONList) memberValue(data []byte) (int, []byte, error) {
	if l.key == "items" && data[0] == '[' {
		if l.items {
			return 0, nil, syntax("a list with two members named items")
		}
		l.items, l.state = true, listItem
		return 1, nil, nil
	}
	end := l.valueEnd(data)
	if end <= 0 {
		return 0, nil, nil
	}
	switch value := data[:end]; l.key {
	case "items":
		if string(value) != "null" {
			return 0, nil, syntax("items that are no array")
		}
		l.items = true
	case "metadata":
		l.metadata = append([]byte{}, value...)
	case "kind":
		l.header.Kind, _ = unquote(value)
	case "apiVersion":
		l.header.APIVersion, _ = unquote(value)
	}
	l.state = listMember
	return end, nil, nil
}

// item reads one item, or what is around it.
func (l *JSONList) item(data []byte) (int, []byte, error) {
	if l.value.at == 0 {
		switch data[0] {
		case ',':
			return 1, nil, nil
		case ']':
			l.state = listMember
			return 1, nil, nil
		case '}', ':':
			return 0, nil, syntax("%q among items", data[0])
		}
	}
	end := l.valueEnd(data)
	if end <= 0 {
		return 0, nil, nil
	}
	return end, data[:end], nil
}

// valueEnd is the index after the value that begins data, or zero. A word or
// number is whole when something follows.
func (l *JSONList) valueEnd(data []byte) int {
	if data[0] == '{' || data[0] == '[' {
		end := l.value.end(data)
		if end > 0 {
			l.value = scan{}
		}
		return end
	}
	end := valueEnd(data, 0)
	if end == len(data) && data[0] != '"' {
		return 0
	}
	return end
}

// End implements Splitter.
func (l *JSONList) End(data []byte) error {
	switch {
	case l.state != listOver || space(data, 0) < len(data):
		return io.ErrUnexpectedEOF
	case !l.items:
		return syntax("no list: there is no member named items")
	}
	return nil
}
