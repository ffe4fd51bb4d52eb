package cacher

import (
	"strings"

	"github.com/tidwall/btree"
)

// triggerIndex holds the keys of a collection by their trigger field, in order,
// for lists that require one value of it. It holds no items, so that it changes
// only when that field does, which is hardly ever. Like a tree, a published one
// is never written again. A nil one holds nothing, and is not to be read.
type triggerIndex struct {
	field   string
	entries *btree.Map[string, struct{}] // see entry
}

// newTriggerIndex is nil without a trigger field.
func newTriggerIndex(field string) *triggerIndex {
	if field == "" {
		return nil
	}
	return &triggerIndex{field: field, entries: btree.NewMap[string, struct{}](treeDegree)}
}

// copy must not run beside update.
func (x *triggerIndex) copy() *triggerIndex {
	if x == nil {
		return nil
	}
	return &triggerIndex{field: x.field, entries: x.entries.Copy()}
}

// entry sorts by value, then by key.
func entry(value, key string) string { return value + "\x00" + key }

// update follows a change from prev to next, either of which may be nil.
func (x *triggerIndex) update(prev, next *Item) {
	if x == nil || (prev != nil && next != nil && prev.fields.trigger == next.fields.trigger) {
		return
	}
	if prev != nil {
		x.entries.Delete(entry(prev.fields.trigger, prev.Key))
	}
	if next != nil {
		x.entries.Set(entry(next.fields.trigger, next.Key), struct{}{})
	}
}

// serves returns the value that a predicate requires of the field, if the index
// can be used for it.
func (x *triggerIndex) serves(predicate *Predicate) (value string, ok bool) {
	if x == nil || predicate.Fields == nil {
		return "", false
	}
	return predicate.Fields.RequiresExactMatch(x.field)
}

// ascend visits the keys with a value from key from on.
func (x *triggerIndex) ascend(value, from string, visit func(key string) bool) {
	prefix := entry(value, "")
	x.entries.Ascend(prefix+from, func(at string, _ struct{}) bool {
		key, ok := strings.CutPrefix(at, prefix)
		return ok && visit(key)
	})
}
