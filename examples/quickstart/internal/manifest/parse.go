package manifest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"

	yamlnode "go.yaml.in/yaml/v3"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"
)

// parsed is the content of one document (or of one item of a list in it).
type parsed struct {
	place  Place
	fields map[string]any
	root   *yamlnode.Node // for line numbers; nil where the text has none
	base   int            // lines of the file before the document
}

// parse turns a document into fields as JSON has them: whole numbers are int64,
// others float64. Errors: ErrSyntax.
func parse(doc document) (parsed, error) {
	data, format := doc.text, "JSON"
	if !doc.json {
		format = "YAML"
		var err error
		if data, err = yaml.YAMLToJSONStrict(doc.text); err != nil {
			return parsed{}, yamlError(doc, err)
		}
	}
	var value any
	strict, err := kjson.UnmarshalStrict(data, &value)
	if err == nil && len(strict) > 0 {
		err = strict[0] // a key that is set twice
	}
	if err != nil {
		return parsed{}, syntaxError(doc.place, format, err.Error())
	}
	root, another := nodes(doc.text)
	if another {
		return parsed{}, syntaxError(doc.place, format, `another document begins in it; put "---" on a line of its own between them`)
	}
	result := parsed{place: doc.place, root: root, base: doc.place.Line - 1}
	result.place.Line = result.line()
	var isMap bool
	if result.fields, isMap = value.(map[string]any); !isMap {
		return parsed{}, &Error{
			Place: result.place, Kind: ErrSyntax,
			Detail: "a manifest is a mapping of fields, this is " + describe(value),
			Fix:    `begin it with "apiVersion:" and "kind:"`,
		}
	}
	return result, nil
}

// nodes is the document with its line numbers, or nil: they are a help, not a
// condition. It also reports whether the parser sees a second document, of which
// nothing may be lost: YAML has rarer ways to end a line than split knows.
func nodes(text []byte) (root *yamlnode.Node, another bool) {
	decoder := yamlnode.NewDecoder(bytes.NewReader(text))
	var first, second yamlnode.Node
	if decoder.Decode(&first) != nil || len(first.Content) == 0 {
		return nil, false
	}
	return first.Content[0], !errors.Is(decoder.Decode(&second), io.EOF)
}

// line is the number, in the file, of the line with the field at path (names
// and indexes), or of the closest field above it that the text has.
func (p parsed) line(path ...any) int {
	node := p.root
	if node == nil {
		return p.place.Line
	}
	line := node.Line
	for _, step := range path {
		key, value := child(node, step)
		if value == nil {
			break
		}
		node, line = value, key.Line
	}
	return p.base + line
}

// child finds the node one step below, and the node that stands for the step
// itself: a key, or the element of a list.
func child(node *yamlnode.Node, step any) (key, value *yamlnode.Node) {
	if node.Kind == yamlnode.AliasNode {
		node = node.Alias
	}
	switch step := step.(type) {
	case string:
		if node.Kind != yamlnode.MappingNode {
			return nil, nil
		}
		for i := 0; i+1 < len(node.Content); i += 2 {
			if node.Content[i].Value == step || boolOf(node.Content[i]) == step {
				return node.Content[i], node.Content[i+1]
			}
		}
	case int:
		if node.Kind == yamlnode.SequenceNode && step < len(node.Content) {
			return node.Content[step], node.Content[step]
		}
	}
	return nil, nil
}

// describe says what a value is, for "… is <this>".
func describe(value any) string {
	switch value := value.(type) {
	case nil:
		return "empty"
	case map[string]any:
		return "a mapping of fields"
	case []any:
		return "a list"
	case string:
		return "the text " + strconv.Quote(shorten(value))
	default:
		return fmt.Sprintf("%v", value)
	}
}

func shorten(text string) string {
	const most = 40
	runes := []rune(text)
	if len(runes) <= most {
		return text
	}
	return string(runes[:most]) + "…"
}
