package cacher

import (
	"maps"
	"sort"
	"sync"
	"time"
)

// change is one event of the collection, shared by all watchers. It is
// immutable but for state and labels, which the Cacher's mutex guards.
type change struct {
	// seq numbers the changes of the window without holes.
	seq uint64
	rv  uint64
	at  time.Time
	// lag is what the cache was later than the store's word of it.
	lag time.Duration
	// prev and next are the versions before and after; one of them may be nil.
	prev, next *Item
	// state is the collection after the change, where somebody took the trouble to
	// make it; the zero state elsewhere.
	state state
	// labels says whether those of prev and next are the same, once somebody asked.
	labels comparedLabels

	deletion sync.Once
	deleted  *Item
}

type comparedLabels uint8

const (
	notCompared comparedLabels = iota
	equalLabels
	otherLabels
)

// sameLabels says whether the labels of both versions, which there must be, are
// equal. It needs the Cacher's mutex.
func (c *change) sameLabels() bool {
	if c.labels == notCompared {
		c.labels = otherLabels
		if maps.Equal(c.prev.Labels, c.next.Labels) {
			c.labels = equalLabels
		}
	}
	return c.labels == equalLabels
}

// gone returns the previous version carrying the change's resource version, for
// DELETED events. It is made at the first use.
func (c *change) gone() *Item {
	c.deletion.Do(func() { c.deleted = c.prev.at(c.rv) })
	return c.deleted
}

// window is a ring of the newest changes. With the newest state they give every
// state in between: changes are undone, newest first. So that this never takes
// long, the state after a change is kept now and then. Its methods need the
// Cacher's mutex.
type window struct {
	min, max int
	fresh    time.Duration

	// ring holds the changes of the sequence numbers [start, end): that of seq at
	// seq modulo its length, which is the capacity.
	ring       []*change
	start, end uint64
	// floor is the oldest resource version that a watch may start from.
	floor uint64
	// evicted: the floor does not account for what was forgotten yet.
	evicted bool
	// baseRV is the resource version from which on states are known; base is the
	// state before the oldest change, if it was made.
	base   state
	baseRV uint64
	// spacing is the least number of changes between two states that are kept;
	// since counts those after the last one.
	spacing, since int
	// compacted: nothing older may be served.
	compacted uint64
}

// defaultSpacing bounds what a state costs that was not kept: some hundred
// changes undone, which is a fraction of a millisecond.
const defaultSpacing = 256

func newWindow(o *Options) window {
	return window{
		min: o.MinCapacity, max: o.MaxCapacity, fresh: o.Fresh,
		ring: make([]*change, o.MinCapacity), spacing: defaultSpacing,
	}
}

// reset empties the window; the collection is base at rv. Sequence numbers go on.
func (w *window) reset(base state, rv uint64) {
	clear(w.ring)
	w.start = w.end
	w.base, w.baseRV = base, rv
	w.floor = max(rv, w.compacted)
	w.since = 0
}

// get returns the change with a sequence number in [start, end).
func (w *window) get(seq uint64) *change { return w.ring[seq%uint64(len(w.ring))] }

// add appends a change and numbers it. A full window grows or shrinks first, or
// forgets its oldest change.
func (w *window) add(c *change) {
	if int(w.end-w.start) == len(w.ring) {
		oldest := w.get(w.start)
		quarter := w.get(w.end - uint64(max(1, len(w.ring)/4)))
		w.resize(nextCapacity(capacities{len(w.ring), w.min, w.max}, c.at.Sub(oldest.at), c.at.Sub(quarter.at), w.fresh))
	}
	for int(w.end-w.start) >= len(w.ring) {
		w.evict()
	}
	c.seq = w.end
	w.ring[w.end%uint64(len(w.ring))] = c
	w.end++
	w.settle()
}

// settle moves the floor behind changes that were forgotten.
func (w *window) settle() {
	if w.evicted {
		w.evicted = false
		w.floor = max(w.get(w.start).rv-1, w.floor)
	}
}

// due says whether the state after the next change is to be kept: the more keys
// there are, the more memory each such state takes for itself.
func (w *window) due(size int) bool {
	w.since++
	if w.since < max(w.spacing, size/8) {
		return false
	}
	w.since = 0
	return true
}

// idle halves a window that got no change for the fresh duration, and returns
// when to look again; 0 if it is as small as can be.
func (w *window) idle(now time.Time) time.Duration {
	if len(w.ring) == w.min {
		return 0
	}
	if w.end > w.start {
		if quiet := now.Sub(w.get(w.end - 1).at); quiet < w.fresh {
			return w.fresh - quiet
		}
	}
	w.resize(max(len(w.ring)/2, w.min))
	w.settle()
	if len(w.ring) == w.min {
		return 0
	}
	return w.fresh
}

// evict forgets the oldest change.
func (w *window) evict() {
	slot := w.start % uint64(len(w.ring))
	oldest := w.ring[slot]
	w.ring[slot] = nil
	w.start++
	w.evicted = true
	w.base, w.baseRV = oldest.state, oldest.rv
}

// resize changes the capacity, forgetting the oldest changes that do not fit.
func (w *window) resize(capacity int) {
	if capacity == len(w.ring) {
		return
	}
	for int(w.end-w.start) > capacity {
		w.evict()
	}
	ring := make([]*change, capacity)
	for seq := w.start; seq < w.end; seq++ {
		ring[seq%uint64(capacity)] = w.get(seq)
	}
	w.ring = ring
}

// after returns the sequence number of the first change newer than rv; end if
// there is none.
func (w *window) after(rv uint64) uint64 {
	n := sort.Search(int(w.end-w.start), func(i int) bool { return w.get(w.start+uint64(i)).rv > rv })
	return w.start + uint64(n)
}

// knows says whether the collection at rv, which the cache must have reached,
// can be told.
func (w *window) knows(rv uint64) bool { return rv >= w.baseRV && rv >= w.compacted }

// nearest returns a state that was kept, and the number of the change that
// follows it: the closest one from the state before the change numbered seq on.
// Without any it returns the zero state and the end.
func (w *window) nearest(seq uint64) (state, uint64) {
	if seq == w.start && w.base.items != nil {
		return w.base, seq
	}
	for at := max(seq, w.start+1); at <= w.end; at++ {
		if kept := w.get(at - 1).state; kept.items != nil {
			return kept, at
		}
	}
	return state{}, w.end
}

// keep remembers the state before the change numbered seq, if that still is in
// the window.
func (w *window) keep(seq uint64, made state) {
	switch {
	case seq == w.start:
		w.base = made
	case seq > w.start && seq <= w.end:
		w.get(seq - 1).state = made
	}
}

// compact forgets what was before rv. Changes stay for the watchers that have
// not read them yet; no new watcher gets at them.
func (w *window) compact(rv uint64) {
	w.floor = max(w.floor, rv)
	w.forget(rv)
}

// forget drops the states before rv.
func (w *window) forget(rv uint64) {
	if rv <= w.compacted {
		return
	}
	w.compacted = rv
	last := w.after(rv)
	if last == w.start {
		return
	}
	w.base = state{}
	for seq := w.start; seq < last-1; seq++ {
		w.get(seq).state = state{}
	}
}
