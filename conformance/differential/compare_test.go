package differential

import (
	"fmt"
	"slices"
	"strings"
)

// comparedSection is a section of both sides.
type comparedSection struct {
	name  string
	lines []claimedLine
}

// claimedLine is a line with the differences that explain it.
type claimedLine struct {
	compared
	claimed []string // those that the script names
	could   []string // all
}

// view is what a difference sees of the line that it may explain.
type view struct {
	section string
	side    side
	lines   []line // of the section, on the line's side
	i       int    // the line
	others  []line // those of the other side in the same place
	// opposite are all lines of the section on the other side.
	opposite []line
	// requests are those of both sides: what other sections show has its cause
	// there.
	requests map[side][]line
}

func (v view) line() line { return v.lines[v.i] }

// previous is the request before.
func (v view) previous() *request {
	if v.i == 0 {
		return nil
	}
	return v.lines[v.i-1].request
}

// compare lays two traces side by side and lets the named differences explain
// the lines that differ. Problems are what is unexplained, and explanations of
// nothing.
func compare(upstream, own trace, named []string) (comparison []comparedSection, problems []string) {
	seen := map[string]bool{}
	requests := map[side][]line{theirs: upstream.section("requests"), ours: own.section("requests")}
	for _, name := range names(upstream, own) {
		v := view{section: name, requests: requests}
		s := v.explain(upstream.section(name), own.section(name), named)
		comparison = append(comparison, s)
		for _, l := range s.lines {
			for _, d := range l.claimed {
				seen[d] = true
			}
			if l.side != both && len(l.claimed) == 0 {
				problems = append(problems, unexplained(name, l))
			}
		}
	}
	for _, name := range named {
		if !seen[name] { // or there is none of that name
			problems = append(problems, fmt.Sprintf("the difference %q does not show", name))
		}
	}
	return comparison, problems
}

// unexplained says which line it is, and what could explain it.
func unexplained(section string, l claimedLine) string {
	whose := map[side]string{theirs: "client-go's", ours: "ours"}[l.side]
	hint := "none could"
	if len(l.could) > 0 {
		hint = strings.Join(l.could, " or ") + " could"
	}
	return fmt.Sprintf("%s: only %s, and no named difference explains it (%s): %s", section, whose, hint, l.text)
}

// explain is compare for one section.
func (v view) explain(upstream, own []line, named []string) comparedSection {
	aligned := align(upstream, own)
	s := comparedSection{name: v.section}
	for k, l := range aligned {
		c := claimedLine{compared: l}
		if l.side != both {
			v := v.of(aligned, k)
			v.lines, v.opposite = upstream, own
			if l.side == ours {
				v.lines, v.opposite = own, upstream
			}
			for _, d := range differences {
				if !d.explains(v) {
					continue
				}
				c.could = append(c.could, d.name)
				if slices.Contains(named, d.name) {
					c.claimed = append(c.claimed, d.name)
				}
			}
		}
		s.lines = append(s.lines, c)
	}
	return s
}

// of finds the surroundings of a line.
func (v view) of(aligned []compared, k int) view {
	v.side, v.i = aligned[k].side, aligned[k].number
	first, last := k, k
	for first > 0 && aligned[first-1].side != both {
		first--
	}
	for last < len(aligned)-1 && aligned[last+1].side != both {
		last++
	}
	for _, l := range aligned[first : last+1] {
		if l.side != v.side {
			v.others = append(v.others, l.line)
		}
	}
	return v
}

// firstDifference shows where two texts part.
func firstDifference(got, want string) string {
	a, b := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range a {
		if i >= len(b) || a[i] != b[i] {
			expected := "(the end)"
			if i < len(b) {
				expected = b[i]
			}
			return fmt.Sprintf("line %d of the trace\n  is       %s\n  expected %s", i+1, a[i], expected)
		}
	}
	return "the trace ends early"
}
