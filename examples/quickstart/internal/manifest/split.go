package manifest

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"path"
	"strings"
)

// document is one document of a file.
type document struct {
	place Place // with the line on which text begins
	text  []byte
	json  bool
}

// split cuts a file into its documents. Those that hold nothing but blanks and
// comments do not count. Errors: ErrSyntax, ErrEmpty.
func split(file File) ([]document, error) {
	data := bytes.TrimPrefix(file.Data, []byte("\uFEFF"))
	cut := splitYAML
	if strings.EqualFold(path.Ext(file.Name), ".json") {
		cut = splitJSON
	}
	documents, err := cut(file.Name, data)
	if err == nil && len(documents) == 0 {
		err = &Error{
			Place: Place{File: file.Name}, Kind: ErrEmpty, Detail: "the file holds no object",
			Fix: "put a manifest into it or remove it",
		}
	}
	return documents, err
}

// splitYAML cuts at lines that begin with "---" or "...", which YAML keeps free
// for that purpose at the beginning of a line, whatever surrounds them. A lone
// carriage return ends a line, too.
func splitYAML(name string, data []byte) ([]document, error) {
	data = bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n"))
	data = bytes.ReplaceAll(data, []byte("\r"), []byte("\n"))
	var documents []document
	current := document{place: Place{File: name, Line: 1}}
	flush := func(nextLine int) {
		if hasContent(current.text) {
			current.place.Document = len(documents) + 1
			documents = append(documents, current)
		}
		current = document{place: Place{File: name, Line: nextLine}}
	}
	number := 0
	for line := range bytes.Lines(data) {
		number++
		rest, isMarker := afterMarker(line)
		switch {
		case !isMarker:
			current.text = append(current.text, line...)
		case hasContent(rest): // "--- {kind: Pod}" is legal
			flush(number)
			current.text = append(current.text, rest...)
		default:
			flush(number + 1)
		}
	}
	flush(0)
	return documents, nil
}

// afterMarker reports whether the line is a document marker, and what follows
// the marker on the line.
func afterMarker(line []byte) ([]byte, bool) {
	for _, marker := range []string{"---", "..."} {
		rest, found := bytes.CutPrefix(line, []byte(marker))
		if found && (len(rest) == 0 || bytes.ContainsRune([]byte(" \t\r\n"), rune(rest[0]))) {
			return rest, true
		}
	}
	return nil, false
}

// hasContent reports whether there is anything but blanks, comments and
// directives ("%YAML 1.2").
func hasContent(text []byte) bool {
	for line := range bytes.Lines(text) {
		line = bytes.TrimSpace(line)
		if len(line) > 0 && line[0] != '#' && line[0] != '%' {
			return true
		}
	}
	return false
}

// splitJSON takes one JSON value after the other.
func splitJSON(name string, data []byte) ([]document, error) {
	var documents []document
	decoder := json.NewDecoder(bytes.NewReader(data))
	for {
		begin := decoder.InputOffset()
		var value json.RawMessage
		err := decoder.Decode(&value)
		if errors.Is(err, io.EOF) {
			return documents, nil
		}
		place := Place{File: name, Document: len(documents) + 1}
		if err != nil {
			offset := int64(len(data)) // the end came too early
			if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
				offset = syntax.Offset
			}
			place.Line = lineAt(data, offset)
			return nil, syntaxError(place, "JSON", err.Error())
		}
		begin += int64(bytes.Index(data[begin:], value))
		place.Line = lineAt(data, begin)
		documents = append(documents, document{place: place, text: value, json: true})
	}
}

// lineAt is the number of the line that holds the byte at offset.
func lineAt(data []byte, offset int64) int {
	offset = min(offset, int64(len(data)))
	return 1 + bytes.Count(data[:offset], []byte("\n"))
}
