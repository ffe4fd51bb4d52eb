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
	// The rest is not in the log, but what one handler makes of it.
	noticeNothing
	noticeAppear // an update to an object that the handler's filter lets through now
	noticeLeave  // or no longer
	noticeResync
)

// notice is one call to be made to every handler. Immutable once published.
type notice[T Object] struct {
	kind    noticeKind
	initial bool   // an add out of the replacement that brought the run in sync
	exact   bool   // of a delete
	merged  bool   // of an update: there may have been versions between old and obj
	key     string // of a delete
	old     T      // of an update; of a delete the object before, if obj is another
	obj     T      // the added or new object, or the last state of a deleted one
}

// keyName is the key of the object that n is about.
func (n *notice[T]) keyName() string {
	if n.key != "" {
		return n.key
	}
	return keyOf(n.obj)
}

// work is something that a cursor is in the middle of, for others to look at.
type work struct {
	since time.Time // when the cache was written
	keys  keyer
}

// keyer tells the key of the call in progress, "" if it cannot; passed is the
// Registration's.
type keyer interface {
	keyAt(passed int64) string
}

// node is one batch of the notice log, a singly linked list. The newest node,
// the tail, is blank: its fields are set once, before ready is closed, and may
// be read only after ready is closed. A cursor holds the node that it reads
// next, so that what all cursors have passed is garbage, and an idle cursor
// keeps no notice alive.
type node[T Object] struct {
	ready chan struct{}

	work
	notices []notice[T]
	first   int64 // notices before this batch, counted since New
	// repeated: there may be several notices of one key.
	repeated bool
	syncAt   int // the run is in sync before notices[syncAt]; -1: not by this batch
	mark     *mark
	seq      int64 // batches before the end of this one, counted since New
	next     *node[T]
	// snapshot is what the batch leads to, if a resync follows; else nil.
	snapshot *indexer.Snapshot[T]
}

// mark is the state of the collection after a batch. It is apart from the batch
// so that whoever refers to it keeps no notice alive.
type mark struct {
	resourceVersion string
}

func newNode[T Object]() *node[T] {
	return &node[T]{ready: make(chan struct{})}
}

// keyAt implements keyer.
func (n *node[T]) keyAt(passed int64) string {
	if k := passed - n.first; k >= 0 && k < int64(len(n.notices)) {
		return n.notices[k].keyName()
	}
	return ""
}

// published is everything that must change at once: what readers see, and where
// in the notice log a handler that starts from this snapshot continues.
//
// Invariant: the notices before tail lead exactly to snapshot.
type published[T Object] struct {
	snapshot *indexer.Snapshot[T]
	mark     *mark // of snapshot
	tail     *node[T]
	seq      int64 // batches before tail, counted since New
	end      int64 // notices before tail
	synced   bool  // the current run has applied its first complete list
}

// succeed returns the state after one batch, and the function that wakes those
// who wait at the old tail. To be called by the one writer, which stores the
// new state before it wakes anyone: whoever has seen ready closed also finds
// the state that belongs to it.
func (p *published[T]) succeed(snapshot *indexer.Snapshot[T], notices []notice[T], syncAt int) (next *published[T], wake func()) {
	filled := p.tail
	filled.notices = notices
	filled.first = p.end
	filled.seq = p.seq + 1
	filled.syncAt = syncAt
	filled.work = work{since: time.Now(), keys: filled}
	filled.mark = &mark{resourceVersion: snapshot.ResourceVersion()}
	filled.next = newNode[T]()
	next = &published[T]{
		snapshot: snapshot,
		mark:     filled.mark,
		tail:     filled.next,
		seq:      filled.seq,
		end:      p.end + int64(len(notices)),
		synced:   p.synced || syncAt >= 0,
	}
	return next, func() { close(filled.ready) }
}
