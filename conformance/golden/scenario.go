package golden

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"time"
)

// Scenario is one recorded file. testdata/README.md explains the fields.
type Scenario struct {
	Name        string   `json:"name"`
	Area        string   `json:"area"`
	Description string   `json:"description"`
	Namespaces  []string `json:"namespaces"`
	Cleanup     []string `json:"cleanup"`
	Requires    []string `json:"requires"`
	Exclusive   bool     `json:"exclusive"`
	Ignore      []Rule   `json:"ignore"`
	Steps       []Step   `json:"steps"`
}

// Step is one request, stream, collection of a stream, wait or compaction.
type Step struct {
	Note string `json:"note"`

	Method     string            `json:"method"`
	Path       string            `json:"path"`
	Headers    map[string]string `json:"headers"`
	Body       json.RawMessage   `json:"body"`
	BodyText   *string           `json:"bodyText"`
	BodyBase64 []byte            `json:"bodyBase64"`
	BodyFrom   *BodyFrom         `json:"bodyFrom"`
	Until      *Until            `json:"until"`

	Stream  *Stream `json:"stream"`
	Collect string  `json:"collect"`
	WaitMs  int     `json:"waitMs"`
	Compact bool    `json:"compact"`

	Capture map[string]string `json:"capture"`
	Assert  []Assert          `json:"assert"`

	Full   bool         `json:"full"`
	Ignore []Rule       `json:"ignore"`
	Any    []Rule       `json:"any"`
	Mask   []Rule       `json:"mask"`
	Pick   []Rule       `json:"pick"`
	Expect *Expectation `json:"expect"`
}

// BodyFrom makes a body of a captured value and a JSON merge patch.
type BodyFrom struct {
	Var   string          `json:"var"`
	Merge json.RawMessage `json:"merge"`
}

// Until repeats a request until its answer is as wanted.
type Until struct {
	Status int     `json:"status"`
	Path   *string `json:"path"`
	Equals string  `json:"equals"`
}

// Stream says how far to read a stream of watch events.
type Stream struct {
	Events     int     `json:"events"`
	Seconds    float64 `json:"seconds"`
	Background string  `json:"background"`
	Await      int     `json:"await"`
	Bookmarks  string  `json:"bookmarks"` // "collapse" or nothing
}

// Assert is an exact statement about the answer.
type Assert struct {
	Path    string  `json:"path"`
	Equals  *string `json:"equals"`
	Differs *string `json:"differs"`
}

// Rule adapts answers before they are compared. With and Regex are for mask,
// Key and Values for pick.
type Rule struct {
	Path   string   `json:"path"`
	Reason string   `json:"reason"`
	Regex  string   `json:"regex"`
	With   string   `json:"with"`
	Key    *string  `json:"key"`
	Values []string `json:"values"`
	path   path     // parsed Path
	regex  *regexp.Regexp
}

// Expectation is a recorded answer.
type Expectation struct {
	Status  int               `json:"status"`
	Headers map[string]string `json:"headers"`
	Body    json.RawMessage   `json:"body"` // empty: no body
	Events  []json.RawMessage `json:"events"`
	End     string            `json:"end"` // "eof", "open", or not compared
}

// limit is how long a stream is read at most.
func (s *Stream) limit() time.Duration {
	if s.Seconds == 0 {
		return 10 * time.Second
	}
	return time.Duration(s.Seconds * float64(time.Second))
}

// Parse reads one scenario. Unknown fields are errors, so that nothing that a
// recording asks for goes unnoticed. Errors wrap ErrScenario.
func Parse(data []byte) (*Scenario, error) {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	var s Scenario
	if err := decoder.Decode(&s); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrScenario, err)
	}
	if s.Name == "" || s.Area == "" {
		return nil, fmt.Errorf("%w: name or area is missing", ErrScenario)
	}
	if err := prepare(s.Ignore); err != nil {
		return nil, fmt.Errorf("%w %q: %w", ErrScenario, s.Name, err)
	}
	for i := range s.Steps {
		if err := s.Steps[i].prepare(); err != nil {
			return nil, fmt.Errorf("%w %q: step %d: %w", ErrScenario, s.Name, i+1, err)
		}
	}
	return &s, nil
}

// prepare validates a step and parses its rules.
func (s *Step) prepare() error {
	kinds := 0
	for _, is := range []bool{s.Method != "", s.Collect != "", s.WaitMs != 0, s.Compact} {
		if is {
			kinds++
		}
	}
	switch {
	case kinds != 1:
		return fmt.Errorf("has %d kinds instead of one", kinds)
	case s.Collect != "" && s.Stream == nil:
		return fmt.Errorf("collects %q without saying how far to read", s.Collect)
	case s.Stream != nil && s.Stream.Bookmarks != "" && s.Stream.Bookmarks != "collapse":
		return fmt.Errorf("bookmarks: %q is unknown", s.Stream.Bookmarks)
	}
	for i, rule := range s.Mask {
		regex, err := regexp.Compile(rule.Regex)
		if err != nil {
			return err
		}
		s.Mask[i].regex = regex
	}
	paths := make([]string, 0, len(s.Assert)+len(s.Capture))
	for _, assert := range s.Assert {
		paths = append(paths, assert.Path)
	}
	for _, capture := range s.Capture {
		paths = append(paths, capture)
	}
	if s.Until != nil && s.Until.Path != nil {
		paths = append(paths, *s.Until.Path)
	}
	for _, text := range paths {
		if _, err := parsePath(text); err != nil {
			return err
		}
	}
	return prepare(s.Ignore, s.Any, s.Mask, s.Pick)
}

func prepare(lists ...[]Rule) error {
	for _, rules := range lists {
		for i := range rules {
			parsed, err := parsePath(rules[i].Path)
			if err != nil {
				return err
			}
			rules[i].path = parsed
		}
	}
	return nil
}

// Load reads every *.json of a directory, sorted by name.
func Load(dir fs.FS) ([]*Scenario, error) {
	names, err := fs.Glob(dir, "*.json")
	if err != nil {
		return nil, err
	}
	slices.Sort(names)
	scenarios := make([]*Scenario, 0, len(names))
	for _, name := range names {
		data, err := fs.ReadFile(dir, name)
		if err != nil {
			return nil, err
		}
		s, err := Parse(data)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		scenarios = append(scenarios, s)
	}
	return scenarios, nil
}
