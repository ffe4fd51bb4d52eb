package informertest

import (
	"fmt"
	"slices"
	"strings"
)

// Violation says how a trace contradicts the history, with the shortest part of
// both that shows it. It wraps ErrIllegal.
type Violation struct {
	// Rule is the promise that was broken.
	Rule Rule
	// Key of the object that it was broken for, "" if it is about none.
	Key string
	// Text says what is wrong.
	Text string
	// At is the index of the entry at which the trace became illegal.
	At int
	// Trace is a smallest part of the trace that breaks the same promise at the
	// same entry; Places are the indexes of its entries. Where a part begins in
	// the middle of an object's life, what the entry itself says about before is
	// taken for true.
	Trace  []Entry
	Places []int
	// History has the changes of the key around what the trace tells of it.
	History []Change
	// Length of the whole trace.
	Length int
}

// shownChanges is how many lines of history are written at each end of a long one.
const shownChanges = 6

// Error writes all of it, in several lines.
func (v *Violation) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%v: %s", ErrIllegal, v.Rule)
	if v.Key != "" {
		fmt.Fprintf(&b, " of %s", v.Key)
	}
	fmt.Fprintf(&b, ": %s\n  trace (%d of %d entries):", v.Text, len(v.Trace), v.Length)
	for i, e := range v.Trace {
		fmt.Fprintf(&b, "\n    #%-4d %v", v.Places[i], e)
	}
	if len(v.History) > 0 {
		b.WriteString("\n  history:")
		for i, c := range v.History {
			switch hidden := len(v.History) - 2*shownChanges; {
			case hidden <= 0 || i < shownChanges || i >= shownChanges+hidden:
				fmt.Fprintf(&b, "\n    %v", c)
			case i == shownChanges:
				fmt.Fprintf(&b, "\n    … %d more", hidden)
			}
		}
	}
	return b.String()
}

// Unwrap is ErrIllegal.
func (v *Violation) Unwrap() error { return ErrIllegal }

// explain finds the shortest counter-example.
func explain(c checker, part piece, found finding) *Violation {
	m := minimiser{checker: c, found: found, trace: part.trace}
	v := &Violation{Rule: found.rule, Key: found.key, Text: found.text, At: part.place(found.at)}
	for _, place := range m.minimise() {
		v.Places = append(v.Places, part.place(place))
		v.Trace = append(v.Trace, part.trace[place])
	}
	last := c.worlds[len(c.worlds)-1]
	history := last.history
	if part.trace[found.at].Kind == SnapshotRead {
		history = last.whole
	}
	v.History = relevant(history.of(v.Key), v)
	return v
}

// minimiser looks for a small part of a trace that has the same fault.
type minimiser struct {
	checker checker
	trace   []Entry
	found   finding
}

// minimise returns the places of the part. It drops what it can in ever smaller
// pieces, until no single entry can be dropped.
func (m *minimiser) minimise() []int {
	var places []int
	for i := range m.found.at + 1 {
		places = append(places, i)
	}
	if m.found.rule == EarlySync {
		return m.about(places) // what else was told is as much part of it
	}
	if only := m.about(places); m.fails(only) {
		places = only
	}
	for size := (len(places) + 1) / 2; size > 0; size /= 2 {
		for start := 0; start < len(places)-1; { // the last entry is the fault itself
			end := min(start+size, len(places)-1)
			fewer := slices.Concat(places[:start], places[end:])
			if m.fails(fewer) {
				places = fewer
			} else {
				start = end
			}
		}
	}
	return places
}

// about keeps the entries about the key, and those about no key.
func (m *minimiser) about(places []int) []int {
	var kept []int
	for _, i := range places {
		if e := &m.trace[i]; !e.isCall() || e.Key == m.found.key || i == m.found.at {
			kept = append(kept, i)
		}
	}
	return kept
}

// fails says whether a part of the trace breaks the same rule for the same key,
// at its last entry: as a trace of its own, or as a fragment of one.
func (m *minimiser) fails(places []int) bool {
	part := make([]Entry, 0, len(places))
	for _, place := range places {
		part = append(part, m.trace[place])
	}
	for _, fragment := range []bool{true, false} {
		c := m.checker
		c.fragment, c.only = fragment, m.found.key
		found := c.check(part)
		if found != nil && found.at == len(part)-1 && found.rule == m.found.rule && found.key == m.found.key && found.text == m.found.text {
			return true
		}
	}
	return false
}

// relevant are the changes of the violation's key from the last one before what
// its trace names to the first one after.
func relevant(changes []Change, v *Violation) []Change {
	low, high := ^uint64(0), uint64(0)
	for _, e := range v.Trace {
		for _, named := range []uint64{e.Old.ResourceVersion, e.Object.ResourceVersion, e.ResourceVersion} {
			if named != 0 && (!e.isCall() || e.Key == v.Key) {
				low, high = min(low, named), max(high, named)
			}
		}
	}
	if high == 0 { // it names no moment
		return changes
	}
	first := slices.IndexFunc(changes, func(c Change) bool { return c.Version.ResourceVersion >= low })
	last := slices.IndexFunc(changes, func(c Change) bool { return c.Version.ResourceVersion > high })
	if first < 0 {
		first = len(changes)
	}
	if last < 0 {
		last = len(changes) - 1
	}
	return changes[max(0, first-1) : last+1]
}
