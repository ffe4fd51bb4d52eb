package informer

import (
	"time"

	"github.com/listwatch/listwatch/indexer"
)

// noticeKind says which method of a Handler a notice calls.
type noticeKind uint8

const (
	noticeAdd noticeKind = iota
	noticeUpdate
	noticeDelete
)

// notice is one call to be made to every handler. Immutable once published.
type notice[T Object] struct {
	kind    noticeKind
	initial bool   // an add out of the replacement that brought the run in sync
	exact   bool   // of a delete
	key     string // of a delete
	old     T      // of an update
	obj     T      // the added or new object, or the last state of a deleted one
}

// node is one batch of the notice log, a singly linked list. The newest node,
// the tail, is blank: its fields are set once, before ready is closed, and may
// be read only after ready is closed. A cursor holds the node that it reads
// next, so that what all cursors have passed is garbage, and an idle cursor
// keeps no notice alive.
type node[T Object] struct {
	ready chan struct{}

	notices []notice[T]
	syncAt  int // the run is in sync before notices[syncAt]; -1: not by this batch
	written time.Time
	next    *node[T]
}

func newNode[T Object]() *node[T] {
	return &node[T]{ready: make(chan struct{})}
}

// published is everything that must change at once: what readers see, and where
// in the notice log a handler that starts from this snapshot continues.
//
// Invariant: the notices before tail lead exactly to snapshot.
type published[T Object] struct {
	snapshot *indexer.Snapshot[T]
	tail     *node[T]
	end      int64 // notices before tail, counted since New
	synced   bool  // the current run has applied its first complete list
}

// succeed returns the state after one batch, and the function that wakes those
// who wait at the old tail. To be called by the one writer, which stores the
// new state before it wakes anyone: whoever has seen ready closed also finds
// the state that belongs to it.
func (p *published[T]) succeed(snapshot *indexer.Snapshot[T], notices []notice[T], syncAt int) (next *published[T], wake func()) {
	filled := p.tail
	filled.notices = notices
	filled.syncAt = syncAt
	filled.written = time.Now()
	filled.next = newNode[T]()
	next = &published[T]{
		snapshot: snapshot,
		tail:     filled.next,
		end:      p.end + int64(len(notices)),
		synced:   p.synced || syncAt >= 0,
	}
	return next, func() { close(filled.ready) }
}
