package manifest

import (
	"errors"
	"fmt"
	"strings"
)

// What can be wrong with manifests; errors.Is finds them in every error of this
// package.
var (
	// ErrNotFound: the file or folder does not exist.
	ErrNotFound = errors.New("no such file or folder")
	// ErrUnreadable: it exists, but its content cannot be had.
	ErrUnreadable = errors.New("cannot read it")
	// ErrEmpty: a folder without manifests, a file without documents or a list
	// without items. Never meant, so never passed over.
	ErrEmpty = errors.New("nothing in it")
	// ErrSyntax: neither YAML nor JSON, or a key that is set twice.
	ErrSyntax = errors.New("not valid")
	// ErrMissing: apiVersion, kind or metadata.name is not set.
	ErrMissing = errors.New("missing field")
	// ErrUnknownKind: the server does not serve this apiVersion and kind, or
	// does not let it be created, listed and watched.
	ErrUnknownKind = errors.New("unknown kind")
	// ErrWrongType: a field holds another type of value than it must.
	ErrWrongType = errors.New("wrong type")
	// ErrUnknownField: the kind has no such field.
	ErrUnknownField = errors.New("unknown field")
	// ErrBadName: a name that cannot stand in a URL, or a namespace where none
	// belongs.
	ErrBadName = errors.New("bad name")
	// ErrDuplicate: the same object twice.
	ErrDuplicate = errors.New("duplicate object")
)

// Place is where something stands in the manifests.
type Place struct {
	File     string // as the user would write it
	Document int    // counts from 1; 0: the file as a whole
	Item     int    // counts from 1 within a list; 0: not in a list
	Line     int    // counts from 1 within the file; 0: not known
}

// String is the place in words, without those parts that are not known.
func (p Place) String() string {
	parts := []string{p.File}
	for _, part := range []struct {
		name   string
		number int
	}{{"document", p.Document}, {"item", p.Item}, {"line", p.Line}} {
		if part.number > 0 {
			parts = append(parts, fmt.Sprintf("%s %d", part.name, part.number))
		}
	}
	return strings.Join(parts, ", ")
}

// Error is one fault in one place.
type Error struct {
	Place  Place
	Kind   error  // one of this package's sentinels
	Detail string // what exactly; may be empty
	Fix    string // what to do about it
}

// Error is the fault on one line.
func (e *Error) Error() string {
	text := e.Kind.Error()
	if e.Place.File != "" {
		text = fmt.Sprintf("%s: %s", e.Place, text)
	}
	if e.Detail != "" {
		text += ": " + e.Detail
	}
	return oneLine(text + "; " + e.Fix)
}

// Unwrap gives the sentinel.
func (e *Error) Unwrap() error { return e.Kind }

// oneLine keeps text from a file (or from a parser that quotes it) from breaking
// the line or steering a terminal.
func oneLine(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || (r >= 0x80 && r < 0xa0) {
			return '\uFFFD'
		}
		return r
	}, text)
}
