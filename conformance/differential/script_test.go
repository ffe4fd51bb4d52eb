package differential

import (
	"fmt"
	"os"
	"strings"
)

// script is a file of testdata; doc.go explains the format.
type script struct {
	path     string
	sentence string
	commands []command
	text     string   // of the commands, as it is in the file
	differs  []string // names of differences
	trace    string   // expected of both sides
}

// command is one line of a script.
type command struct {
	line  int
	name  string
	words []string
}

func (c command) String() string { return strings.Join(append([]string{c.name}, c.words...), " ") }

const (
	differsPrefix = "differs:"
	nothing       = "nothing"
)

// readScript reads a file.
func readScript(path string) (*script, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	s, err := parseScript(string(content))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	s.path = path
	return s, nil
}

// parseScript reads the text of a script: a sentence, commands, differences,
// trace.
func parseScript(text string) (*script, error) {
	head, rest, ok := strings.Cut(text, "\n\n")
	if !ok {
		return nil, fmt.Errorf("no empty line after the sentence")
	}
	s := &script{sentence: head}
	body, tail, ok := strings.Cut(rest, "\n"+differsPrefix)
	if !ok {
		return nil, fmt.Errorf("no line that begins with %q", differsPrefix)
	}
	s.text = strings.TrimSpace(body)
	names, trace, _ := strings.Cut(tail, "\n")
	s.trace = strings.Trim(trace, "\n")
	for name := range strings.FieldsFuncSeq(names, func(r rune) bool { return r == ',' || r == ' ' }) {
		if name != nothing {
			s.differs = append(s.differs, name)
		}
	}
	first := strings.Count(head, "\n") + 3
	for k, line := range strings.Split(s.text, "\n") {
		line, _, _ = strings.Cut(line, "# ")
		if words := strings.Fields(line); len(words) > 0 {
			s.commands = append(s.commands, command{line: first + k, name: words[0], words: words[1:]})
		}
	}
	if len(s.commands) == 0 {
		return nil, fmt.Errorf("no commands")
	}
	return s, nil
}

// rewrite writes the script with another trace.
func (s *script) rewrite(trace string) error {
	names := strings.Join(s.differs, ", ")
	if names == "" {
		names = nothing
	}
	content := fmt.Sprintf("%s\n\n%s\n\n%s %s\n\n%s\n", s.sentence, s.text, differsPrefix, names, trace)
	return os.WriteFile(s.path, []byte(content), 0o644)
}
