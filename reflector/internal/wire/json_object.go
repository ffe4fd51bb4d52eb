package wire

import (
	"bytes"
	"encoding/json"
)

// Identity is what tells versions of objects apart. The slices are parts of the
// input.
type Identity struct {
	Namespace, Name, UID, ResourceVersion []byte
}

// Known reports whether it is one that can be compared.
func (id *Identity) known() bool { return len(id.Name) > 0 && len(id.ResourceVersion) > 0 }

// Key appends "namespace/name", or "name", to buffer.
func (id *Identity) Key(buffer []byte) []byte {
	if len(id.Namespace) > 0 {
		buffer = append(append(buffer, id.Namespace...), '/')
	}
	return append(buffer, id.Name...)
}

// unquote decodes a JSON string.
func unquote(value []byte) (string, bool) {
	if text, ok := plain(value); ok {
		return string(text), true
	}
	var text string
	err := json.Unmarshal(value, &text)
	return text, err == nil
}

// plain returns the text of a JSON string without escapes.
func plain(value []byte) ([]byte, bool) {
	if len(value) < 2 || value[0] != '"' || bytes.IndexByte(value, '\\') >= 0 {
		return nil, false
	}
	return value[1 : len(value)-1], true
}

// Envelope splits a JSON watch event in the form in which servers write it,
// type first and object last. If object turns out to be no JSON, or ok is
// false, the frame has another form.
func Envelope(frame []byte) (eventType, object []byte, ok bool) {
	rest, ok := bytes.CutPrefix(frame, []byte(`{"type":"`))
	if !ok {
		return nil, nil, false
	}
	quote := bytes.IndexByte(rest, '"')
	if quote < 0 || bytes.IndexByte(rest[:quote], '\\') >= 0 {
		return nil, nil, false
	}
	eventType = rest[:quote]
	rest, ok = bytes.CutPrefix(rest[quote:], []byte(`","object":`))
	if !ok || len(rest) == 0 || rest[len(rest)-1] != '}' {
		return nil, nil, false
	}
	return eventType, rest[:len(rest)-1], true
}

// PeekJSON reads the identity of an object, as far as it is written plainly.
func PeekJSON(object []byte) (Identity, bool) {
	metadata := member(object, "metadata")
	if metadata == nil {
		return Identity{}, false
	}
	var id Identity
	found := 0
	walk := members{data: metadata}
	for found < 4 {
		key, value, _, ok := walk.next()
		if !ok {
			break
		}
		var field *[]byte
		switch string(key) {
		case "namespace":
			field = &id.Namespace
		case "name":
			field = &id.Name
		case "uid":
			field = &id.UID
		case "resourceVersion":
			field = &id.ResourceVersion
		default:
			continue
		}
		if *field, ok = plain(value); !ok {
			return Identity{}, false
		}
		found++
	}
	return id, id.known()
}

// member returns the value of an object's member.
func member(object []byte, name string) []byte {
	walk := members{data: object}
	for {
		key, value, _, ok := walk.next()
		if !ok {
			return nil
		}
		if string(key) == name {
			return value
		}
	}
}

// WithoutManagedFieldsJSON returns object without metadata.managedFields. If
// there are any the result is built in buffer, else it is object.
func WithoutManagedFieldsJSON(buffer, object []byte) []byte {
	walk := members{data: object}
	for {
		key, metadata, at, ok := walk.next()
		if !ok {
			return object
		}
		if string(key) != "metadata" {
			continue
		}
		inner := members{data: metadata}
		before := 1 // the end of the member before
		for {
			key, value, begin, ok := inner.next()
			if !ok {
				return object
			}
			end := begin + len(value)
			if string(key) != "managedFields" {
				before = end
				continue
			}
			if before == 1 { // it is the first: the comma after it goes too
				if next := space(metadata, end); metadata[next] == ',' {
					end = next + 1
				}
				before = space(metadata, 0) + 1
			}
			return append(append(buffer[:0], object[:at+before]...), object[at+end:]...)
		}
	}
}
