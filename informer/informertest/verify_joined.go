package informertest

import (
	"maps"
	"slices"
)

// composed checks that the snapshot of a joined informer has of each part what that
// had at some moment, the earliest of which is the snapshot's resourceVersion.
func (c *checker) composed(e *Entry) *finding {
	if key, composed := compose(c.parts, e.Objects, e.ResourceVersion); !composed {
		return violates(WrongSnapshot, key, "the snapshot at %d is not made of what the parts had at any moments from then on: it has %s",
			e.ResourceVersion, shown(e.Objects, key))
	}
	return nil
}

func shown(objects map[string]Version, key string) string {
	v, found := objects[key]
	switch {
	case key == "":
		return "objects that do not go together"
	case !found:
		return "no " + key
	}
	return key + " " + v.String()
}

// compose reports whether there is a moment for each part, the earliest of which is
// least, at which they together show just these objects. If not, key is one that no
// moments explain, "" if it takes several.
func compose(parts []*History, objects map[string]Version, least uint64) (key string, composed bool) {
	c := composer{parts: parts, objects: objects, at: make([]uint64, len(parts)), due: make([][]string, len(parts))}
	for _, part := range parts {
		moments := []uint64{least}
		for _, change := range part.changes {
			if change.Version.ResourceVersion > least {
				moments = append(moments, change.Version.ResourceVersion)
			}
		}
		c.moments = append(c.moments, moments)
	}
	all := maps.Clone(objects)
	for _, part := range parts {
		for key := range part.byKey {
			all[key] = Version{}
		}
	}
	keys := slices.Sorted(maps.Keys(all))
	for _, key := range keys {
		// It is decided when the last part that ever has it is.
		last := 0
		for p, part := range parts {
			if len(part.byKey[key]) > 0 {
				last = p
			}
		}
		c.due[last] = append(c.due[last], key)
	}
	if c.place(0) {
		return "", true
	}
	for _, key := range keys {
		for p := range c.due {
			c.due[p] = nil
		}
		if c.due[len(parts)-1] = []string{key}; !c.place(0) {
			return key, false
		}
	}
	return "", false
}

// composer looks for moments.
type composer struct {
	parts   []*History
	objects map[string]Version
	moments [][]uint64 // of each part, the first is the least
	due     [][]string // keys that are decided with each part
	at      []uint64   // the moments tried
}

// place finds moments for part p and those after it.
func (c *composer) place(p int) bool {
	if p == len(c.parts) {
		return c.least()
	}
	for _, moment := range c.moments[p] {
		c.at[p] = moment
		if !slices.ContainsFunc(c.due[p], func(key string) bool { return !c.explains(key) }) && c.place(p+1) {
			return true
		}
	}
	return false
}

// least reports whether one part is at its first moment.
func (c *composer) least() bool {
	for p := range c.parts {
		if c.at[p] == c.moments[p][0] {
			return true
		}
	}
	return false
}

// explains reports whether the parts at their moments may show what is shown of key.
// That is the newest version that one of them has. But if one that was ahead has
// lost the object, and others have yet to hear of that, it is what was shown
// before, or nothing.
func (c *composer) explains(key string) bool {
	shown, there := c.objects[key]
	var held, left uint64 // newest version that a part has, and newest end
	known := !there       // to a part, by its moment
	for p, part := range c.parts {
		last, exists := part.at(key, c.at[p])
		switch version := last.Version.ResourceVersion; {
		case exists:
			held = max(held, version)
		case last.Key != "":
			left = max(left, version)
		}
		if there && shown.ResourceVersion <= c.at[p] {
			was, existed := part.at(key, shown.ResourceVersion)
			known = known || existed && was.Version.same(shown)
		}
	}
	if !there {
		return held == 0 || held < left
	}
	return held > 0 && known && shown.ResourceVersion >= held
}
