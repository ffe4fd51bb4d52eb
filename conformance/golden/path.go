package golden

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// path leads to values in decoded JSON: "items[*].metadata.name". The empty
// path is the whole.
type path []segment

// segment is one step of a path.
type segment struct {
	kind  segmentKind
	name  string // of a key; of the key to look at, for where
	value string // for where
	index int
}

type segmentKind uint8

const (
	byKey   segmentKind = iota // name
	byIndex                    // [0]
	each                       // * or [*]: every child
	where                      // [key=value]: elements that have it
	deep                       // **: here and at any depth
)

// parsePath reads the syntax described in testdata/README.md. Errors wrap
// ErrPath.
func parsePath(text string) (path, error) {
	var parsed path
	rest := text
	for rest != "" {
		var s segment
		var err error
		if rest[0] == '[' {
			s, rest, err = parseBracket(rest)
		} else {
			s, rest, err = parseName(rest)
		}
		if err != nil {
			return nil, fmt.Errorf("%w %q: %w", ErrPath, text, err)
		}
		parsed = append(parsed, s)
		if strings.HasPrefix(rest, ".") {
			if rest = rest[1:]; rest == "" {
				return nil, fmt.Errorf("%w %q: ends in a dot", ErrPath, text)
			}
		}
	}
	return parsed, nil
}

func parseName(text string) (segment, string, error) {
	end := strings.IndexAny(text, ".[")
	if end < 0 {
		end = len(text)
	}
	name, rest := text[:end], text[end:]
	switch name {
	case "":
		return segment{}, "", fmt.Errorf("empty name")
	case "*":
		return segment{kind: each}, rest, nil
	case "**":
		return segment{kind: deep}, rest, nil
	}
	return segment{kind: byKey, name: name}, rest, nil
}

func parseBracket(text string) (segment, string, error) {
	if strings.HasPrefix(text, `["`) {
		end := strings.Index(text, `"]`)
		if end < 2 {
			return segment{}, "", fmt.Errorf("no end of the quoted name")
		}
		return segment{kind: byKey, name: text[2:end]}, text[end+2:], nil
	}
	end := strings.IndexByte(text, ']')
	if end < 0 {
		return segment{}, "", fmt.Errorf("no ] after [")
	}
	inner, rest := text[1:end], text[end+1:]
	if inner == "*" {
		return segment{kind: each}, rest, nil
	}
	if key, value, ok := strings.Cut(inner, "="); ok {
		return segment{kind: where, name: key, value: value}, rest, nil
	}
	index, err := strconv.ParseUint(inner, 10, 31)
	if err != nil {
		return segment{}, "", fmt.Errorf("[%s] is no index", inner)
	}
	return segment{kind: byIndex, index: int(index)}, rest, nil
}

// find returns what is at the path, in the order of lists and of sorted keys.
func (p path) find(value any) []any {
	var found []any
	p.edit(value, func(v any) (any, bool) {
		found = append(found, v)
		return v, true
	})
	return found
}

// edit calls change for what is at the path, children before parents, and puts
// what it returns in its place, or removes it if keep is false. It changes maps
// and lists in place and returns the new whole (nil if that was removed).
func (p path) edit(value any, change func(any) (result any, keep bool)) any {
	value, keep := p.apply(value, change)
	if !keep {
		return nil
	}
	return value
}

func (p path) apply(value any, change func(any) (any, bool)) (any, bool) {
	if len(p) == 0 {
		return change(value)
	}
	s, rest := p[0], p[1:]
	if s.kind == deep {
		value = eachChild(value, func(string, int, any) bool { return true },
			func(child any) (any, bool) { return p.apply(child, change) })
		return rest.apply(value, change)
	}
	return eachChild(value, s.matches, func(child any) (any, bool) { return rest.apply(child, change) }), true
}

// matches reports whether the segment names a child of an object (index -1) or
// of a list (key "").
func (s segment) matches(key string, index int, child any) bool {
	switch s.kind {
	case byKey:
		return index < 0 && key == s.name
	case byIndex:
		return index == s.index
	case each:
		return true
	case where:
		object, ok := child.(map[string]any)
		if !ok || index < 0 {
			return false
		}
		has, ok := object[s.name]
		return ok && text(has) == s.value
	}
	return false
}

// eachChild changes the children that matches names.
func eachChild(value any, matches func(string, int, any) bool, change func(any) (any, bool)) any {
	switch value := value.(type) {
	case map[string]any:
		for _, key := range sortedKeys(value) {
			if !matches(key, -1, value[key]) {
				continue
			}
			if changed, keep := change(value[key]); keep {
				value[key] = changed
			} else {
				delete(value, key)
			}
		}
	case []any:
		kept := value[:0]
		for i, child := range value {
			keep := true
			if matches("", i, child) {
				child, keep = change(child)
			}
			if keep {
				kept = append(kept, child)
			}
		}
		clear(value[len(kept):])
		return kept
	}
	return value
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}
