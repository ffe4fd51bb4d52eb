package cacher

import (
	"sort"
	"sync"
	"time"
)

// change is one event of the collection, shared by all watchers. It is
// immutable but for state, which the Cacher's mutex guards.
type change struct {
	// seq numbers the changes of the window without holes.
	seq uint64
	rv  uint64
	at  time.Time
	// prev and next are the versions before and after; one of them may be nil.
	prev, next *Item
	// state is the collection after the change; the zero state once forgotten.
	state state

	deletion sync.Once
	deleted  *Item
}

// gone returns the previous version carrying the change's resource version, for
// DELETED events. It is made at the first use.
func (c *change) gone() *Item {
	c.deletion.Do(func() { c.deleted = c.prev.at(c.rv) })
	return c.deleted
}

// window is a ring of the newest changes, and the states that go with them. Its
// methods need the Cacher's mutex.
type window struct {
	min, max int
	fresh    time.Duration

	// ring holds the changes of the sequence numbers [start, end): that of seq at
	// seq modulo its length, which is the capacity.
	ring       []*change
	start, end uint64
	// floor is the oldest resource version that a watch may start from.
	floor uint64
	// base is the state before the oldest change, from baseRV on.
	base   state
	baseRV uint64
	// compacted: nothing older may be served.
	compacted uint64
}

func newWindow(o *Options) window {
	return window{min: o.MinCapacity, max: o.MaxCapacity, fresh: o.Fresh, ring: make([]*change, o.MinCapacity)}
}

// reset empties the window; the collection is base at rv. Sequence numbers go on.
func (w *window) reset(base state, rv uint64) {
	clear(w.ring)
	w.start = w.end
	w.base, w.baseRV = base, rv
	w.floor = max(rv, w.compacted)
}

// get returns the change with a sequence number in [start, end).
func (w *window) get(seq uint64) *change { return w.ring[seq%uint64(len(w.ring))] }

// add appends a change and numbers it. A full window grows or shrinks first, or
// forgets its oldest change.
func (w *window) add(c *change) {
	first := w.start
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
	if w.start != first { // something was forgotten
		w.floor = max(w.get(w.start).rv-1, w.floor)
	}
}

// evict forgets the oldest change.
func (w *window) evict() {
	slot := w.start % uint64(len(w.ring))
	oldest := w.ring[slot]
	w.ring[slot] = nil
	w.start++
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

// stateAt returns the collection at rv, which the cache must have reached, and
// whether it is still known.
func (w *window) stateAt(rv uint64) (state, bool) {
	if rv < w.compacted {
		return state{}, false
	}
	found, from := w.base, w.baseRV
	if seq := w.after(rv); seq > w.start {
		found, from = w.get(seq-1).state, w.get(seq-1).rv
	}
	return found, found.items != nil && rv >= from
}

// compact forgets what was before rv. Changes stay for the watchers that have
// not read them yet; no new watcher gets at them.
func (w *window) compact(rv uint64) {
	w.compacted = max(w.compacted, rv)
	w.floor = max(w.floor, rv)
	last := w.after(rv)
	if last == w.start {
		return
	}
	w.base = state{}
	for seq := w.start; seq < last-1; seq++ {
		w.get(seq).state = state{}
	}
}
