package cacher

import (
	"sync"

	"k8s.io/apimachinery/pkg/watch"
)

// handSize is how many changes a watcher takes out of the window at a time, at
// most: the mutex costs more than the change.
const handSize = 8

// seen is a change as a watcher sees it; kind "" is none.
type seen struct {
	change *change
	kind   watch.EventType
}

// handful is what a watcher took at once, without the first, which it delivers
// at once. It exists while there is something in it.
type handful struct {
	seen    [handSize - 1]seen
	at, end int
}

var handfuls = sync.Pool{New: func() any { return new(handful) }}

// fromHand takes the next change out of the hand.
func (w *Watcher) fromHand() (seen, bool) {
	hand := w.hand
	if hand == nil {
		return seen{}, false
	}
	next := hand.seen[hand.at]
	if hand.at++; hand.at == hand.end {
		w.hand = nil
		clear(hand.seen[:hand.end])
		hand.at, hand.end = 0, 0
		handfuls.Put(hand)
	}
	return next, true
}

// fillHand takes what is visible of the next few changes. What is in the hand
// does not count as being behind, so that it holds only a small part of the
// limit. It needs the Cacher's mutex.
func (w *Watcher) fillHand() {
	for range min(handSize-1, w.limit/100) {
		if w.idle() {
			return
		}
		next := w.cacher.window.get(w.cursor)
		kind := w.predicate.sees(next)
		if kind == "" {
			w.cursor++
			continue
		}
		w.took()
		if w.hand == nil {
			w.hand = handfuls.Get().(*handful)
		}
		w.hand.seen[w.hand.end] = seen{next, kind}
		w.hand.end++
	}
}
