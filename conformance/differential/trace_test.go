package differential

import (
	"fmt"
	"slices"
	"strings"
)

// trace is what one side did, in sections.
type trace []section

type section struct {
	name  string
	lines []line
}

// line is one line of a trace. The structured part is for the differences to
// look at; sides are compared by text.
type line struct {
	text    string
	request *request // in the section of requests
	call    *call    // in the section of a handler
}

// call is a call of a handler.
type call struct {
	key      string
	op       string // add, update or delete
	old, new string // described objects
	initial  bool
	missed   bool   // of a delete: it was not seen as such
	payload  string // of a delete, if the script asks for it
	run      int    // of the informer, from 1

	latestOnly bool // the handler wants no more
}

func (c call) String() string {
	switch {
	case c.op == "update":
		return fmt.Sprintf("%s: update %s -> %s", c.key, c.old, c.new)
	case c.op == "delete":
		text := fmt.Sprintf("%s: delete %s", c.key, c.old)
		if c.missed {
			text += " missed"
		}
		return text + c.payload
	case c.initial:
		return fmt.Sprintf("%s: add %s initial", c.key, c.new)
	default:
		return fmt.Sprintf("%s: add %s", c.key, c.new)
	}
}

// section returns the lines of a section.
func (t trace) section(name string) []line {
	for _, s := range t {
		if s.name == name {
			return s.lines
		}
	}
	return nil
}

// names lists the sections of two traces.
func names(theirs, ours trace) []string {
	var all []string
	for _, t := range []trace{theirs, ours} {
		for _, s := range t {
			if !slices.Contains(all, s.name) {
				all = append(all, s.name)
			}
		}
	}
	return all
}

// compared is a line of two traces that were laid side by side.
type compared struct {
	line
	side   side
	number int // in its section, on its side; on client-go's for a common line
}

// side says whose a line is.
type side int

const (
	both side = iota
	theirs
	ours
)

// align lays two sections side by side: the longest common subsequence of their
// lines is common.
func align(a, b []line) []compared {
	common := make([][]int, len(a)+1) // length of that of a[i:] and b[j:]
	for i := range common {
		common[i] = make([]int, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i].text == b[j].text {
				common[i][j] = common[i+1][j+1] + 1
			} else {
				common[i][j] = max(common[i+1][j], common[i][j+1])
			}
		}
	}
	var all []compared
	i, j := 0, 0
	for i < len(a) || j < len(b) {
		switch {
		case i < len(a) && j < len(b) && a[i].text == b[j].text:
			all = append(all, compared{line: a[i], side: both, number: i})
			i, j = i+1, j+1
		case j == len(b) || i < len(a) && common[i+1][j] >= common[i][j+1]:
			all = append(all, compared{line: a[i], side: theirs, number: i})
			i++
		default:
			all = append(all, compared{line: b[j], side: ours, number: j})
			j++
		}
	}
	return all
}

// render writes two traces as one: what is common once, what is client-go's
// with a minus, what is ours with a plus and with the difference that explains
// it.
func render(comparison []comparedSection) string {
	var b strings.Builder
	for k, s := range comparison {
		if k > 0 {
			b.WriteString("\n")
		}
		fmt.Fprintf(&b, "%s\n", s.name)
		for _, l := range s.lines {
			mark := map[side]string{both: " ", theirs: "-", ours: "+"}[l.side]
			text := fmt.Sprintf("  %s %s", mark, l.text)
			if l.side != both {
				text += "  [" + strings.Join(l.claimed, ", ") + "]"
			}
			b.WriteString(text + "\n")
		}
	}
	return strings.TrimRight(b.String(), "\n")
}
