package cacher

import (
	"maps"
	"slices"
	"time"
)

// registry holds the open watchers by what they can see. Its methods need the
// Cacher's mutex.
type registry struct {
	scopes map[Scope]*audience
	count  int
	// draining watchers see no more changes, but have not delivered all yet.
	draining map[*Watcher]struct{}
	// over holds the watchers that are over their limit.
	over   map[*Watcher]struct{}
	budget timeBudget
	// woken is whom dispatch found asleep.
	woken []*Watcher
	// terminated counts the watchers that were too slow.
	terminated func(float64)
	shards     shardMetrics
}

// audience is the watchers of one scope.
type audience struct {
	all []*Watcher
	// triggered are those that require a value of the trigger field.
	triggered map[string][]*Watcher
	// labelled are those that are not, and require a label.
	labelled labelIndex
}

func newRegistry(o *Options) registry {
	return registry{
		scopes:     map[Scope]*audience{},
		draining:   map[*Watcher]struct{}{},
		over:       map[*Watcher]struct{}{},
		terminated: func(float64) {},
		budget:     timeBudget{perSecond: o.SlowBudget, most: o.MaxSlowBudget, at: time.Now()},
	}
}

// add registers a watcher.
func (r *registry) add(w *Watcher) {
	at := r.scopes[w.predicate.Scope]
	if at == nil {
		at = &audience{triggered: map[string][]*Watcher{}, labelled: labelIndex{}}
		r.scopes[w.predicate.Scope] = at
	}
	if w.label != nil {
		w.slot = 0
		at.labelled.add(w)
	} else {
		list := at.list(w)
		w.slot = len(list)
		at.setList(w, append(list, w))
	}
	r.count++
	r.shards.count(w, 1)
}

// list returns the list that a watcher without label belongs to.
func (a *audience) list(w *Watcher) []*Watcher {
	if w.triggered {
		return a.triggered[w.trigger]
	}
	return a.all
}

// setList replaces that list.
func (a *audience) setList(w *Watcher, list []*Watcher) {
	switch {
	case !w.triggered:
		a.all = list
	case len(list) == 0:
		delete(a.triggered, w.trigger)
	default:
		a.triggered[w.trigger] = list
	}
}

// remove forgets a watcher; it sees no more changes.
func (r *registry) remove(w *Watcher) {
	if w.slot < 0 {
		return // never registered, or gone
	}
	at := r.scopes[w.predicate.Scope]
	if w.label != nil {
		at.labelled.remove(w)
	} else {
		list := at.list(w)
		last := len(list) - 1
		list[w.slot] = list[last]
		list[w.slot].slot = w.slot
		list[last] = nil
		at.setList(w, list[:last])
	}
	if len(at.all) == 0 && len(at.triggered) == 0 && len(at.labelled) == 0 {
		delete(r.scopes, w.predicate.Scope)
	}
	w.slot = -1
	r.count--
	r.shards.count(w, -1)
}

// end ends a watcher at once, whatever it has not delivered. It reports false if
// it was ended already.
func (r *registry) end(w *Watcher) bool {
	if w.ended.Swap(true) {
		return false
	}
	r.remove(w)
	r.leaveOver(w)
	delete(r.draining, w)
	if w.timer != nil {
		w.timer.Stop()
	}
	return true
}

// endAll ends every watcher and returns them; the caller wakes them.
func (r *registry) endAll() []*Watcher {
	ended := append(r.all(), slices.Collect(maps.Keys(r.draining))...)
	for _, w := range ended {
		r.end(w)
	}
	return ended
}

// all returns the open watchers that are not draining, in no order.
func (r *registry) all() []*Watcher {
	var all []*Watcher
	for _, at := range r.scopes {
		all = append(all, at.all...)
		for _, list := range at.triggered {
			all = append(all, list...)
		}
		all = at.labelled.appendAll(all)
	}
	return all
}

// scopesOf returns the scopes whose watchers may see a change of an object, and
// how many those are.
func scopesOf(namespace, name string) ([4]Scope, int) {
	if namespace == "" {
		return [4]Scope{{}, {Name: name}}, 2
	}
	return [4]Scope{{}, {Namespace: namespace}, {Namespace: namespace, Name: name}, {Name: name}}, 4
}

// takeWoken returns those to wake, in a list that is valid until the next call
// of dispatch.
func (r *registry) takeWoken() []*Watcher {
	woken := r.woken
	r.woken = r.woken[:0]
	return woken
}

// dispatch counts a change, just added to the window, for every watcher that is
// to see it.
func (r *registry) dispatch(added *change) {
	r.spend(added.at)
	item := added.next
	if item == nil {
		item = added.prev
	}
	scopes, n := scopesOf(item.Namespace, item.Name)
	before, after := triggerOf(added.prev), triggerOf(added.next)
	for _, scope := range scopes[:n] {
		at := r.scopes[scope]
		if at == nil {
			continue
		}
		r.showAll(added, at.all)
		if len(at.labelled) > 0 {
			r.showLabelled(added, at.labelled)
		}
		if len(at.triggered) == 0 {
			continue
		}
		if added.next != nil {
			r.showAll(added, at.triggered[after])
		}
		if added.prev != nil && (added.next == nil || before != after) {
			r.showAll(added, at.triggered[before])
		}
	}
	if len(r.over) > 0 {
		r.spend(added.at) // with an empty budget there is no patience at all
	}
}

// triggerOf returns an item's value of the trigger field.
func triggerOf(item *Item) string {
	if item == nil {
		return ""
	}
	return item.fields.trigger
}

// showAll shows a change to each of some watchers.
func (r *registry) showAll(added *change, watchers []*Watcher) {
	for _, w := range watchers {
		r.show(added, w)
	}
}

// show counts a change for a watcher if that is to see it.
func (r *registry) show(added *change, w *Watcher) {
	if added.rv <= w.start || w.predicate.sees(added) == "" {
		r.shards.hidden(w, added)
		return
	}
	if w.pending == 0 && w.cursor >= w.live {
		w.cursor = added.seq // nothing of what went before was for it
	}
	w.pending++
	if w.pending == w.limit+1 {
		r.enterOver(w, added.at)
	}
	if w.asleep {
		w.asleep = false
		r.woken = append(r.woken, w)
	}
}

// enterOver notes that a watcher is over its limit from now on.
func (r *registry) enterOver(w *Watcher, now time.Time) {
	r.budget.advance(now, len(r.over) > 0)
	r.over[w] = struct{}{}
}

// leaveOver notes that a watcher is not over its limit any more.
func (r *registry) leaveOver(w *Watcher) {
	if _, over := r.over[w]; over {
		r.budget.advance(time.Now(), true)
		delete(r.over, w)
	}
}

// spend ends the watchers that are over their limit if the budget is used up.
func (r *registry) spend(now time.Time) {
	if len(r.over) == 0 {
		return
	}
	r.budget.advance(now, true)
	if r.budget.left > 0 {
		return
	}
	for w := range r.over {
		r.endSlow(w)
	}
}

// check is spend for a watcher that takes an event: it must not get away with
// having been over its limit for too long because nothing was dispatched since.
func (r *registry) check(w *Watcher) {
	if _, over := r.over[w]; over {
		r.spend(time.Now())
	}
}

// endSlow ends a watcher that is too slow. One that owes the bookmark after its
// initial events still delivers what it has seen so far, so that its client need
// not get all of them again.
func (r *registry) endSlow(w *Watcher) {
	w.slow.Store(true)
	r.terminated(1)
	if !w.owesBookmark.Load() {
		r.end(w)
		return
	}
	r.drain(w)
}

// drain lets a watcher deliver what it has seen so far and then end.
func (r *registry) drain(w *Watcher) {
	r.remove(w)
	r.leaveOver(w)
	w.draining = true
	r.draining[w] = struct{}{}
}

// wakeAll wakes whoever waits in Next. It must be called without the mutex.
func wakeAll(watchers []*Watcher) {
	for _, w := range watchers {
		w.wakeUp()
	}
}
