package informertest

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/watch"
)

// inHistory checks that the collection is known at a resourceVersion.
func (c *checker) inHistory(what string, resourceVersion uint64) *finding {
	if resourceVersion < c.whole.from || resourceVersion > c.whole.to {
		return violates(OutOfHistory, "", "%s at %d, but the history goes from %d to %d",
			what, resourceVersion, c.whole.from, c.whole.to)
	}
	return nil
}

// settled checks that for every key what was told is not older than the mark:
// it was so then, or at some moment after.
func (c *checker) settled(e *Entry) *finding {
	if found := c.inHistory("settled", e.ResourceVersion); found != nil {
		return found
	}
	keys := c.history.keys()
	for key, was := range c.told {
		if was.lost && len(c.history.byKey[key]) == 0 {
			keys = append(keys, key)
		}
	}
	for _, key := range keys {
		was, known := c.told[key]
		if c.fragment && !known || c.only != "" && key != c.only {
			continue
		}
		if found := c.upToDate(key, was, e.ResourceVersion); found != nil {
			return found
		}
	}
	return nil
}

func (c *checker) upToDate(key string, was told, resourceVersion uint64) *finding {
	after := max(resourceVersion, was.floor)
	current, exists := c.history.at(key, after)
	switch {
	case exists == was.exists && (!exists || current.Version.is(was.version)),
		exists && was.exists && c.untold(key, was, current.Version),
		was.moved && was.floor > resourceVersion: // the other part may not be there yet
		return nil
	}
	if was.exists {
		// It was told what is no longer so: a later state is missing.
		lost := "the update to"
		if !exists {
			lost = "the deletion"
		}
		return violates(Lost, key, "%s %s was not told, only %s", lost, current.Version, was.version)
	}
	// It exists, but has not been told; a deletion to come would excuse that.
	for _, change := range c.history.of(key) {
		if change.Version.ResourceVersion > after && change.Type == watch.Deleted {
			return nil
		}
	}
	return violates(Lost, key, "%s was not told", current.Version)
}

// snapshotRead checks one snapshot.
func (c *checker) snapshotRead(e *Entry) *finding {
	if e.ResourceVersion == 0 && len(c.parts) > 0 && !c.read {
		return c.composed(e) // some of the parts may have listed
	}
	if e.ResourceVersion == 0 {
		if c.read || len(e.Objects) > 0 {
			return violates(WrongSnapshot, "", "a snapshot of %d objects without a resourceVersion, after one at %d", len(e.Objects), c.snapshot)
		}
		return nil
	}
	if e.ResourceVersion < c.snapshot {
		return violates(SnapshotBack, "", "a snapshot at %d after one at %d", e.ResourceVersion, c.snapshot)
	}
	if found := c.inHistory("a snapshot", e.ResourceVersion); found != nil {
		return found
	}
	c.read, c.snapshot = true, e.ResourceVersion
	if len(c.parts) > 0 {
		return c.composed(e)
	}
	if found := c.equal(e); found != nil {
		return found
	}
	for _, key := range slices.Sorted(maps.Keys(c.told)) {
		if floor := c.told[key].floor; floor > e.ResourceVersion {
			return violates(SnapshotLate, key, "what was told of %s is of %d, but the snapshot is at %d", key, floor, e.ResourceVersion)
		}
	}
	return nil
}

// maxDifferences bounds how many objects of a wrong snapshot are shown.
const maxDifferences = 5

// equal compares a snapshot with the collection at its resourceVersion.
func (c *checker) equal(e *Entry) *finding {
	var first string
	var lines []string
	note := func(key, format string, args ...any) {
		if first == "" {
			first = key
		}
		lines = append(lines, key+" "+fmt.Sprintf(format, args...))
	}
	rule := WrongSnapshot
	for _, key := range c.whole.keys() {
		change, exists := c.whole.at(key, e.ResourceVersion)
		got, found := e.Objects[key]
		switch {
		case exists && !found:
			note(key, "is missing: %s", change.Version)
		case !exists && found:
			note(key, "does not exist: %s", got)
		case exists && !change.Version.is(got):
			note(key, "is %s instead of %s", got, change.Version)
		case exists && change.Version.differs(got):
			if first == "" {
				rule = WrongContent
			}
			note(key, "holds %s instead of %s", got, change.Version)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(e.Objects)) {
		if len(c.whole.byKey[key]) == 0 {
			note(key, "never existed: %s", e.Objects[key])
		}
	}
	if first == "" {
		return nil
	}
	if more := len(lines) - maxDifferences; more > 0 {
		lines = append(lines[:maxDifferences], fmt.Sprintf("and %d more", more))
	}
	return violates(rule, first, "the snapshot at %d is not the collection: %s", e.ResourceVersion, strings.Join(lines, "; "))
}
