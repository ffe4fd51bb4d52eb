package informertest

import (
	"slices"

	"k8s.io/apimachinery/pkg/watch"
)

// end finds the resourceVersion of the end that e tells of: exactly that of its
// object, or the first one after it.
func (c *checker) end(e *Entry, was told) (uint64, *finding) {
	if (!e.Exact || c.leaves()) && c.undone(e.Key, was, e.Object) {
		return was.floor, nil // a list after the restore did not have it
	}
	if e.Exact {
		return c.exactEnd(e)
	}
	if found := c.existed(e.Key, e.Object); found != nil {
		return 0, found
	}
	for _, history := range slices.Concat(c.toldParts, []*History{c.history}) {
		for _, change := range history.of(e.Key) {
			switch {
			case !change.ends(e.Object.UID) || change.Version.ResourceVersion <= e.Object.ResourceVersion:
			case len(c.parts) > 0: // another part may know newer versions, and not the end
				return e.Object.ResourceVersion, nil
			default:
				return change.Version.ResourceVersion, nil
			}
		}
	}
	return 0, violates(FalseDelete, e.Key, "%s was not deleted after %d", e.Object.UID, e.Object.ResourceVersion)
}

// exactEnd finds the deletion that e tells of, in the collection or in any part of
// it.
func (c *checker) exactEnd(e *Entry) (uint64, *finding) {
	if at, found := c.left(e); found {
		return at, nil
	}
	var change Change
	for _, history := range slices.Concat(c.parts, []*History{c.whole}) {
		last, exists := history.at(e.Key, e.Object.ResourceVersion)
		if exists || !last.ends(e.Object.UID) || !last.Version.is(e.Object) {
			continue
		}
		if change = last; !change.Version.differs(e.Object) {
			return e.Object.ResourceVersion, nil
		}
	}
	if change.Key != "" {
		return 0, violates(WrongContent, e.Key, "the last state %s is not what the server had: %s", e.Object, change.Version)
	}
	return 0, violates(FalseDelete, e.Key, "no deletion of %s at %d", e.Object.UID, e.Object.ResourceVersion)
}

// leaves says whether an object may leave, exactly, with a state before its end:
// one that a filter or a transform no longer lets through.
func (c *checker) leaves() bool { return c.options.Filter != nil || c.history.drops }

// left is when the object of an exact delete left by filter or transform: by a
// filter with the change directly after its last state, by a transform, which does
// not say what was merged with that, with the next that it dropped.
func (c *checker) left(e *Entry) (at uint64, found bool) {
	if !c.leaves() || !e.Exact {
		return 0, false
	}
	for _, history := range slices.Concat(c.toldParts, []*History{c.history}) {
		changes := history.of(e.Key)
		for i := range len(changes) - 1 {
			next := i + 1
			for history.drops && next < len(changes)-1 && changes[next].Type == watch.Modified {
				next++
			}
			if changes[i].Version.same(e.Object) && !changes[i].ends(e.Object.UID) && changes[next].ends(e.Object.UID) {
				return changes[next].Version.ResourceVersion, true
			}
		}
	}
	return 0, false
}
