package informertest

import (
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// worldsOf are what can be known of a history, the oldest first.
func worldsOf(history *History, options VerifyOptions) []world {
	var worlds []world
	for h := history; h != nil; h = h.before {
		worlds = append(worlds, worldOf(h, options))
	}
	slices.Reverse(worlds)
	return worlds
}

func worldOf(h *History, options VerifyOptions) world {
	w := world{whole: h}
	if len(options.Parts) > 0 {
		w.whole = h.Filter(func(obj metav1.Object) bool {
			return slices.ContainsFunc(options.Parts, func(part func(metav1.Object) bool) bool { return part(obj) })
		})
	}
	told := func(shown *History) *History {
		if options.Filter == nil {
			return shown
		}
		return shown.Filter(options.Filter)
	}
	w.history = told(w.whole)
	for _, part := range options.Parts {
		one := h.Filter(part)
		w.parts, w.toldParts = append(w.parts, one), append(w.toldParts, told(one))
	}
	return w
}

// clone copies what steps change.
func (p progress) clone() progress {
	p.told = maps.Clone(p.told)
	return p
}

// pass goes on in the next world: the server was restored, and a list has
// shown it. What was told of after the backup is to be taken back; all the rest may
// be told again, but nothing from before what there was at the backup.
func (c *checker) pass() {
	c.number++
	c.world = c.worlds[c.number]
	at := c.whole.restored
	for key, t := range c.told {
		t.lost = t.lost || t.exists && t.version.ResourceVersion > at
		t.floor = min(t.floor, at)
		if there, exists := c.history.at(key, at); exists {
			t.floor = min(t.floor, there.Version.ResourceVersion-1)
		}
		c.told[key] = t
	}
	c.newest = min(c.newest, at)
	c.snapshot = 0
}

// piece is part of a trace, and where its entries are in the whole.
type piece struct {
	trace  []Entry
	places []int
}

// apart is the trace in one piece, or what was told and what was read, each with
// the marks.
func apart(trace []Entry, divide bool) []piece {
	if !divide {
		return []piece{{trace: trace}}
	}
	var told, read piece
	for i, e := range trace {
		if e.Kind == SnapshotRead {
			read.add(e, i)
		} else {
			told.add(e, i)
		}
	}
	return []piece{told, read}
}

func (p *piece) add(e Entry, place int) {
	p.trace = append(p.trace, e)
	p.places = append(p.places, place)
}

// place is where entry i is in the whole.
func (p *piece) place(i int) int {
	if p.places == nil {
		return i
	}
	return p.places[i]
}
