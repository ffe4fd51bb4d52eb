package cacher

import (
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/watch"
)

// Scope bounds a request to a namespace, a name, or both; "" means all.
type Scope struct {
	Namespace, Name string
}

// Predicate says which objects a request is about. The zero value is all.
type Predicate struct {
	Scope
	// Labels and Fields select objects; nil selects all.
	Labels labels.Selector
	Fields fields.Selector
	// Shard selects a part of the collection by hash; nil selects all.
	Shard *Shard
}

// selective says whether anything but the namespace restricts the request.
func (p *Predicate) selective() bool {
	return p.Name != "" || p.Shard != nil ||
		(p.Labels != nil && !p.Labels.Empty()) ||
		(p.Fields != nil && !p.Fields.Empty())
}

// matches says whether an item is selected; no item never is.
func (p *Predicate) matches(item *Item) bool {
	return p.matchesButLabels(item) && (p.Labels == nil || p.Labels.Matches(item.Labels))
}

// matchesButLabels is matches for a predicate without Labels.
func (p *Predicate) matchesButLabels(item *Item) bool {
	return item != nil &&
		(p.Namespace == "" || p.Namespace == item.Namespace) &&
		(p.Name == "" || p.Name == item.Name) &&
		(p.Fields == nil || p.Fields.Matches((*selectable)(item))) &&
		(p.Shard == nil || p.Shard.matches(item))
}

// transition says how a change from prev to next (either may be nil) looks
// through the predicate: "" if it is not to be seen.
func (p *Predicate) transition(prev, next *Item) watch.EventType {
	return transition(p.matches(prev), p.matches(next))
}

// sees is transition for a change, of which it knows more: labels hardly ever
// differ, so most selectors are asked once. It needs the Cacher's mutex.
func (p *Predicate) sees(c *change) watch.EventType {
	if p.Labels == nil && p.Fields == nil && p.Shard == nil && p.Scope == (Scope{}) {
		return transition(c.prev != nil, c.next != nil) // most watchers see everything
	}
	if p.Labels == nil || c.prev == nil || c.next == nil || !c.sameLabels() {
		return p.transition(c.prev, c.next)
	}
	if !p.Labels.Matches(c.next.Labels) {
		return ""
	}
	return transition(p.matchesButLabels(c.prev), p.matchesButLabels(c.next))
}

// transition is the type of event by whether the object was and is selected.
func transition(was, is bool) watch.EventType {
	switch {
	case is && was:
		return watch.Modified
	case is:
		return watch.Added
	case was:
		return watch.Deleted
	default:
		return ""
	}
}
