package cacher

import "time"

// registry holds the open watchers by scope. Its methods need the Cacher's
// mutex.
type registry struct {
	scopes map[Scope][]*Watcher
	count  int
}

func newRegistry() registry { return registry{scopes: map[Scope][]*Watcher{}} }

// add registers a watcher.
func (r *registry) add(w *Watcher) {
	list := r.scopes[w.predicate.Scope]
	w.slot = len(list)
	r.scopes[w.predicate.Scope] = append(list, w)
	r.count++
}

// end marks a watcher as ended and forgets it. It reports false if it was ended
// already.
func (r *registry) end(w *Watcher) bool {
	if w.ended.Swap(true) {
		return false
	}
	if w.slot < 0 {
		return true // never registered
	}
	list := r.scopes[w.predicate.Scope]
	last := len(list) - 1
	list[w.slot] = list[last]
	list[w.slot].slot = w.slot
	list[last] = nil
	if last == 0 {
		delete(r.scopes, w.predicate.Scope)
	} else {
		r.scopes[w.predicate.Scope] = list[:last]
	}
	w.slot = -1
	r.count--
	return true
}

// endAll ends every watcher and returns them; the caller wakes them.
func (r *registry) endAll() []*Watcher {
	ended := make([]*Watcher, 0, r.count)
	for _, list := range r.scopes {
		ended = append(ended, list...)
	}
	for _, w := range ended {
		r.end(w)
	}
	return ended
}

// scopesOf returns the scopes whose watchers may see a change of an object.
func scopesOf(namespace, name string) []Scope {
	if namespace == "" {
		return []Scope{{}, {Name: name}}
	}
	return []Scope{{}, {Namespace: namespace}, {Namespace: namespace, Name: name}, {Name: name}}
}

// lagLimits say when a watcher is too slow: it is more than so many events
// behind, and took none for the grace.
type lagLimits struct {
	events int
	grace  time.Duration
}

// tooSlow decides about a watcher that is behind by so many events, more than
// the limit since over, and took its last one at took.
func (l lagLimits) tooSlow(behind int, now, over, took time.Time) bool {
	if took.After(over) {
		over = took
	}
	return behind > l.events && now.Sub(over) > l.grace
}

// dispatch counts a change, just added to the window, for every watcher that
// is to see it. It returns those to wake.
func (r *registry) dispatch(added *change, limits lagLimits) []*Watcher {
	item := added.next
	if item == nil {
		item = added.prev
	}
	var woken, slow []*Watcher
	for _, scope := range scopesOf(item.Namespace, item.Name) {
		for _, w := range r.scopes[scope] {
			if added.rv <= w.start || w.predicate.transition(added.prev, added.next) == "" {
				continue
			}
			if w.behind(added, limits) {
				slow = append(slow, w)
			}
			woken = append(woken, w)
		}
	}
	for _, w := range slow {
		r.end(w)
	}
	return woken
}

// behind counts one more change that the watcher has yet to take, and reports
// whether it is too slow.
func (w *Watcher) behind(added *change, limits lagLimits) bool {
	if w.pending == 0 && w.cursor >= w.live {
		w.cursor = added.seq // nothing of what went before was for it
	}
	w.pending++
	if w.pending <= limits.events {
		return false
	}
	if w.pending == limits.events+1 {
		w.over = added.at
	}
	return limits.tooSlow(w.pending, added.at, w.over, time.Unix(0, w.took.Load()))
}

// wakeAll wakes whoever waits in Next. It must be called without the mutex.
func wakeAll(watchers []*Watcher) {
	for _, w := range watchers {
		select {
		case w.wake <- struct{}{}:
		default: // a wake-up is on its way already
		}
	}
}
