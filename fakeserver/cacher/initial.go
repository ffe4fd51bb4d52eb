package cacher

import "k8s.io/apimachinery/pkg/watch"

// initialChunk is the number of items looked at when more are needed.
const initialChunk = 100

// initialEvents delivers a state as ADDED events in key order and, if asked to,
// the bookmark after them. It needs no mutex: the state does not change.
type initialEvents struct {
	state     state
	predicate *Predicate
	rv        uint64
	bookmark  bool

	chunk []*Item
	used  int
	from  string
	done  bool // nothing is left in state
	sent  int
}

// next returns the next event, false at the end.
func (i *initialEvents) next() (Event, bool) {
	if i.fill(); i.used < len(i.chunk) {
		item := i.chunk[i.used]
		i.chunk[i.used] = nil
		i.used++
		i.sent++
		return Event{Type: watch.Added, Item: item, ResourceVersion: item.ResourceVersion}, true
	}
	if i.bookmark {
		i.bookmark = false
		return Event{Type: watch.Bookmark, ResourceVersion: i.rv, InitialEventsEnd: true}, true
	}
	return Event{}, false
}

// pending says whether next would return an event.
func (i *initialEvents) pending() bool {
	if i == nil {
		return false
	}
	i.fill()
	return i.used < len(i.chunk) || i.bookmark
}

// fill makes sure that the chunk holds something, if anything is left.
func (i *initialEvents) fill() {
	for i.used == len(i.chunk) && !i.done {
		i.used = 0
		i.chunk, i.from = i.state.chunk(i.predicate, i.from, initialChunk, i.chunk[:0])
		if i.from == "" {
			i.done = true
			i.state = state{}
		}
	}
}
