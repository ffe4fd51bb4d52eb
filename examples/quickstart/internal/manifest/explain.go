package manifest

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	yamlnode "go.yaml.in/yaml/v3"
)

// The parsers' messages that mean something else to a writer of manifests than
// they say, or that speak of types of Go.
var (
	lineInMessage = regexp.MustCompile(`line (\d+): `)
	keySetTwice   = regexp.MustCompile(`^(?:key (.+) already set in map|duplicate field (".*"))$`)
	keyOfNoUse    = regexp.MustCompile(`^(?:invalid|unsupported) map key`)
	bareTemplate  = regexp.MustCompile(`^[^"'#]*\{\{`) // not in quotes, not in a comment
)

// yamlError moves the line number out of the parser's message, where it counts
// from the document's beginning, into the place. Where the end came too early
// the parser may name a line after the last; where it is the first line, none.
func yamlError(doc document, err error) error {
	place, message := doc.place, err.Error()
	for _, prefix := range []string{"error converting YAML to JSON: ", "yaml: ", "unmarshal errors:\n"} {
		message = strings.TrimPrefix(message, prefix)
	}
	message = strings.TrimSpace(message)
	lines := bytes.Split(bytes.TrimRight(doc.text, "\r\n"), []byte("\n"))
	if found := lineInMessage.FindStringSubmatchIndex(message); found != nil {
		number, _ := strconv.Atoi(message[found[2]:found[3]])
		place.Line += max(0, min(number, len(lines))-1)
		message, _, _ = strings.Cut(message[found[1]:], "\n") // the first of several
	}
	if keyOfNoUse.MatchString(message) {
		if root, _ := nodes(doc.text); root != nil {
			place.Line += max(0, min(lineOfOddKey(root), len(lines))-1)
		}
	}
	if fault := templateError(place, lines, place.Line-doc.place.Line); fault != nil {
		return fault
	}
	return syntaxError(place, "YAML", message)
}

// syntaxError explains the message of a parser.
func syntaxError(place Place, format, message string) error {
	fault := &Error{
		Place: place, Kind: ErrSyntax, Detail: fmt.Sprintf("this is no %s: %s", format, message),
		Fix: "correct it; unbalanced quotes and brackets and wrong indentation are the usual causes",
	}
	if found := keySetTwice.FindStringSubmatch(message); found != nil {
		key := found[1] + found[2]
		fault.Detail, fault.Fix = fmt.Sprintf("the key %s stands twice in one mapping", key), "remove or rename one of the two"
		if key == "true" || key == "false" {
			fault.Fix += fmt.Sprintf("; YAML reads %s without quotes as %s", strings.Join(boolWords[key], ", "), key)
		}
	}
	if keyOfNoUse.MatchString(message) {
		fault.Detail = "a key of a mapping must be a text, and this one is not"
		fault.Fix = "correct it, or put quotes around it"
	}
	return fault
}

// templateError is the explanation if the fault is at a line, counted from zero,
// that holds what only a template does, or next to it: the parser may notice a
// line late, or name the one before.
func templateError(place Place, lines [][]byte, line int) error {
	for _, i := range []int{line, line + 1, line - 1} {
		if i < 0 || i >= len(lines) || !bareTemplate.Match(lines[i]) {
			continue
		}
		place.Line += i - line
		text := strings.TrimSpace(string(lines[i]))
		return &Error{
			Place: place, Kind: ErrSyntax,
			Detail: "it looks like a template that was not rendered: " + shorten(text),
			Fix:    `give what comes out of it ("helm template" renders a chart)`,
		}
	}
	return nil
}

// lineOfOddKey is the line of the first key that is no text and cannot become
// one, or 0.
func lineOfOddKey(node *yamlnode.Node) int {
	for i, below := range node.Content {
		isKey := node.Kind == yamlnode.MappingNode && i%2 == 0
		if isKey && (below.Kind != yamlnode.ScalarNode && below.Kind != yamlnode.AliasNode || below.ShortTag() == "!!null") {
			return below.Line
		}
		if line := lineOfOddKey(below); line > 0 {
			return line
		}
	}
	return 0
}

// boolWords are what YAML 1.1, which Kubernetes reads, takes for a boolean
// unless there are quotes around it. Writers often mean a text.
var boolWords = map[string][]string{
	"true":  {"y", "yes", "on"},
	"false": {"n", "no", "off"},
}

// boolOf is "true" or "false" for a node that YAML 1.1 reads so although it says
// something else, and "" for all others.
func boolOf(node *yamlnode.Node) string {
	if node.Kind != yamlnode.ScalarNode || node.Style != 0 {
		return ""
	}
	for value, words := range boolWords {
		if slices.Contains(words, strings.ToLower(node.Value)) {
			return value
		}
	}
	return ""
}

// boolHint tells, to be appended to what is to be done, if a key of the path or
// the value there is a boolean only because of how YAML reads it.
func (p parsed) boolHint(path ...any) string {
	node := p.root
	for i, step := range path {
		if node == nil {
			return ""
		}
		key, value := child(node, step)
		if value == nil {
			return ""
		}
		for _, node := range []*yamlnode.Node{key, value} {
			if (node == key || i == len(path)-1) && boolOf(node) != "" {
				return fmt.Sprintf("; YAML reads %s without quotes as %s, as it reads other forms of n, no, off, y, yes and on", node.Value, boolOf(node))
			}
		}
		node = value
	}
	return ""
}
