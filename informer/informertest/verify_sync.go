package informertest

import (
	"fmt"
	"sort"
)

// sync checks that what was told by now is the collection at some moment.
func (c *checker) sync() *finding {
	if c.options.Unmarked {
		return nil
	}
	if c.synced {
		return violates(EarlySync, "", "in sync for the second time")
	}
	c.synced = true
	// What a joined informer tells in one go, objects on the move included, has
	// moments that its parts have not.
	if c.options.LatestOnly || c.options.Predicate != nil || len(c.parts) > 0 || c.fragment {
		return nil
	}
	exist := 0
	at := max(c.newest, c.history.from)
	for _, now := range c.told {
		if now.exists {
			exist++
		}
	}
	// From at on, until one of the objects told changes, the collection differs
	// from what was told by objects that were not told at all.
	for _, moment := range c.moments(at) {
		if c.matches(moment, exist) {
			return nil
		}
	}
	key, why := c.difference(at)
	return violates(EarlySync, key, "what was told before is not the collection at any resourceVersion; at %d %s", at, why)
}

// moments are at, and the resourceVersions of all changes after it.
func (c *checker) moments(at uint64) []uint64 {
	changes := c.history.changes
	n := sort.Search(len(changes), func(i int) bool { return changes[i].Version.ResourceVersion > at })
	moments := []uint64{at}
	for _, change := range changes[n:] {
		moments = append(moments, change.Version.ResourceVersion)
	}
	return moments
}

// matches compares the collection with what was told, which are so many objects.
func (c *checker) matches(resourceVersion uint64, exist int) bool {
	for key := range c.history.byKey {
		change, exists := c.history.at(key, resourceVersion)
		now := c.told[key]
		if exists != now.exists || exists && !change.Version.is(now.version) {
			return false
		}
		if exists {
			exist--
		}
	}
	return exist == 0
}

// difference says in what the collection differs from what was told, for the
// first key.
func (c *checker) difference(resourceVersion uint64) (key, why string) {
	for _, key := range c.history.keys() {
		change, exists := c.history.at(key, resourceVersion)
		now := c.told[key]
		switch {
		case exists && !now.exists:
			return key, fmt.Sprintf("there is %s as %s", key, change.Version)
		case !exists && now.exists:
			return key, fmt.Sprintf("there is no %s", key)
		case exists && !change.Version.is(now.version):
			return key, fmt.Sprintf("%s is %s, not %s", key, change.Version, now.version)
		}
	}
	return "", "all is well"
}
