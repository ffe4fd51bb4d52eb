package golden

import (
	"fmt"
	"mime"
	"slices"
	"strings"
)

// Difference is one way in which an answer is not as recorded.
type Difference struct {
	Path string // where: "status", "headers.Allow", "body.metadata.name", "events[0].type", "end", …
	Text string // what was wanted and what came
}

// String is "path: what was wanted and what came".
func (d Difference) String() string { return d.Path + ": " + d.Text }

// answer is what came back, or what was recorded, ready to compare.
type answer struct {
	status  int // 0: not compared
	headers map[string]string
	body    any
	hasBody bool
	events  []any
	end     string // "": not compared
}

// comparison collects what differs between a recorded and a replayed answer,
// and which values stood where symbols were recorded.
type comparison struct {
	differences []Difference
	seen        []observation
	listRV      string // resource version of the list that is being compared
}

// compare compares a whole answer.
func compare(want, got answer) comparison {
	var c comparison
	if want.status != 0 && want.status != got.status {
		c.differ("status", "want %d, got %d%s", want.status, got.status, complaint(got.body))
	}
	c.headers(want.headers, got.headers)
	switch {
	case want.hasBody && !got.hasBody:
		c.differ("body", "want %s, got none", short(want.body))
	case got.hasBody && !want.hasBody:
		c.differ("body", "want none, got %s", short(got.body))
	case want.hasBody && isStatus(got.body) && !isStatus(want.body):
		c.differ("body", "want %s, got a Status%s", short(want.body), complaint(got.body))
	case want.hasBody:
		c.value("body", want.body, got.body)
	}
	if want.end != "" || len(want.events)+len(got.events) > 0 {
		c.list("events", want.events, got.events)
	}
	if want.end != "" && want.end != got.end {
		c.differ("end", "want %s, got %s", want.end, got.end)
	}
	return c
}

// complaint is the message of a Status, to be read beside a wrong status code.
func complaint(body any) string {
	if object, ok := body.(map[string]any); ok && isStatus(body) && object["message"] != nil {
		return " (" + text(object["message"]) + ")"
	}
	return ""
}

func (c *comparison) differ(path, format string, args ...any) {
	c.differences = append(c.differences, Difference{Path: path, Text: fmt.Sprintf(format, args...)})
}

// comparedHeaders are the ones that were recorded.
var comparedHeaders = []string{"Allow", "Content-Type", "Retry-After", "Warning"}

func (c *comparison) headers(want, got map[string]string) {
	for _, name := range comparedHeaders {
		wanted, isWanted := want[name]
		came, isThere := got[name]
		where := "headers." + name
		switch {
		case isWanted && !isThere:
			c.differ(where, "want %q, got none", wanted)
		case isThere && !isWanted:
			c.differ(where, "want none, got %q", came)
		case name == "Content-Type" && canonicalMediaType(wanted) != canonicalMediaType(came),
			name != "Content-Type" && wanted != came:
			c.differ(where, "want %q, got %q", wanted, came)
		}
	}
}

// parseMediaType is mime.ParseMediaType that makes the best of nonsense.
func parseMediaType(text string) (string, map[string]string) {
	mediaType, parameters, err := mime.ParseMediaType(text)
	if err != nil {
		return text, nil
	}
	return mediaType, parameters
}

func canonicalMediaType(text string) string {
	mediaType, parameters := parseMediaType(text)
	for _, name := range sortedKeys(parameters) {
		mediaType += ";" + name + "=" + parameters[name]
	}
	return mediaType
}

// value compares two values at a path.
func (c *comparison) value(path string, want, got any) {
	switch want := want.(type) {
	case string:
		c.text(path, want, got)
	case map[string]any:
		if got, ok := got.(map[string]any); ok {
			c.object(path, want, got)
			return
		}
		c.differ(path, "want %s, got %s", short(want), short(got))
	case []any:
		if got, ok := got.([]any); ok {
			c.list(path, want, got)
			return
		}
		c.differ(path, "want %s, got %s", short(want), short(got))
	default: // nil, bool, json.Number: as it was written
		if want != got {
			c.differ(path, "want %s, got %s", short(want), short(got))
		}
	}
}

// text compares with a recorded string, which may hold symbols.
func (c *comparison) text(path, want string, got any) {
	if want == anything {
		return
	}
	came, ok := got.(string)
	if !ok {
		c.differ(path, "want %s, got %s", short(want), short(got))
		return
	}
	if !strings.Contains(want, "<") {
		if want != came {
			c.differ(path, "want %s, got %s", short(want), short(got))
		}
		return
	}
	seen, ok := matchSymbols(want, came)
	if !ok {
		c.differ(path, "want %s, got %s", short(want), short(got))
		return
	}
	for _, o := range seen {
		o.path = path
		if o.kind == "rv" && o.same {
			if o.value != c.listRV {
				c.differ(path, "want the resourceVersion of the list, %q, got %q", c.listRV, o.value)
			}
			continue
		}
		c.seen = append(c.seen, o)
	}
}

func (c *comparison) object(path string, want, got map[string]any) {
	if metadata, ok := got["metadata"].(map[string]any); ok {
		if rv, ok := metadata["resourceVersion"].(string); ok {
			defer func(outer string) { c.listRV = outer }(c.listRV)
			c.listRV = rv
		}
	}
	for _, key := range sortedKeys(want) {
		where := childPath(path, key)
		if value, ok := got[key]; ok {
			c.value(where, want[key], value)
		} else {
			c.differ(where, "want %s, got nothing", short(want[key]))
		}
	}
	for _, key := range sortedKeys(got) {
		if _, ok := want[key]; !ok {
			c.differ(childPath(path, key), "want nothing, got %s", short(got[key]))
		}
	}
}

func (c *comparison) list(path string, want, got []any) {
	for i := range min(len(want), len(got)) {
		c.value(fmt.Sprintf("%s[%d]", path, i), want[i], got[i])
	}
	if len(want) == len(got) {
		return
	}
	missing, surplus := "", ""
	if len(want) > len(got) {
		missing = "; first missing: " + short(want[len(got)])
	} else {
		surplus = "; first surplus: " + short(got[len(want)])
	}
	c.differ(path, "want %d elements, got %d%s%s", len(want), len(got), missing, surplus)
}

// childPath appends a key to a path, quoted if it would not read as one name.
func childPath(path, key string) string {
	if strings.ContainsAny(key, `.[]"*/`) {
		return path + `["` + key + `"]`
	}
	return path + "." + key
}

// longest bounds how much of a value a difference shows, in runes.
const longest = 200

func short(value any) string {
	shown := []rune(encode(value))
	if len(shown) > longest {
		shown = append(slices.Clone(shown[:longest]), '…')
	}
	return string(shown)
}

// recorded makes an answer of an expectation, through the same rules as a
// replayed one.
func (e *Expectation) recorded(a adapter) (answer, error) {
	want := answer{status: e.Status, headers: e.Headers, hasBody: len(e.Body) > 0, end: e.End}
	if want.hasBody {
		body, err := decode(e.Body)
		if err != nil {
			return answer{}, err
		}
		want.body = a.adapt(body)
	}
	for _, raw := range e.Events {
		event, err := decode(raw)
		if err != nil {
			return answer{}, err
		}
		want.events = append(want.events, a.adaptEvent(event))
	}
	return want, nil
}

// adaptEvent applies the rules to the object of an event.
func (a adapter) adaptEvent(event any) any {
	if object, ok := event.(map[string]any); ok {
		if inner, ok := object["object"]; ok {
			object["object"] = a.adapt(inner)
		}
	}
	return event
}
