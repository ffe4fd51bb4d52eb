package informer

import (
	"fmt"
	"reflect"
	"slices"
	"sync/atomic"

	"github.com/listwatch/listwatch/indexer"
)

// Moment is one snapshot of each of several Informers, all taken at one moment:
// there was an instant at which all of them were the newest. It never changes and
// may be used concurrently. Snapshots are at versions of their own: one collection
// may be further behind the server than another, but what a reader has seen in one
// of them at that instant, it could have seen together with all the others.
type Moment struct {
	snapshots map[any]any // *Informer[T] to *indexer.Snapshot[T]
}

// Member is an Informer of any type, as Together takes it.
type Member interface {
	// Name is the informer's.
	Name() string
	serialNumber() int64
	newest() any
	writer() chan struct{}
}

// serials numbers Informers, so that those who need the tokens of several take
// them in one order.
var serials atomic.Int64

func (i *Informer[T]) serialNumber() int64   { return i.serial }
func (i *Informer[T]) newest() any           { return i.index.Snapshot() }
func (i *Informer[T]) writer() chan struct{} { return i.writing }

// optimistic is how often Together looks before it makes writers wait. It fails
// only if one of them publishes in the fraction of a microsecond that a look takes.
const optimistic = 16

// Together takes a snapshot of each informer, all at one moment. It costs some ten
// nanoseconds for each, takes no lock, and delays nobody. Should the Informers be
// written to so fast that it does not succeed in this way a dozen times, they wait
// for it once. It must not be called by an index function. A nil Informer among
// them panics, with a text that says which it is.
func Together(informers ...Member) *Moment {
	members := slices.Clone(informers)
	for k, m := range members {
		if isNilPointer(m) {
			panic(fmt.Sprintf("informer: Together: informer %d of %d is nil", k+1, len(members)))
		}
	}
	slices.SortFunc(members, func(a, b Member) int { return int(a.serialNumber() - b.serialNumber()) })
	members = slices.Compact(members)
	first, second := make([]any, len(members)), make([]any, len(members))
	for range optimistic {
		look(members, first)
		// If nothing has changed in between, then all of the first look were
		// there when the second one began. A snapshot never comes back.
		if look(members, second); slices.Equal(first, second) {
			return momentOf(members, first)
		}
	}
	return momentOf(members, holdStill(members))
}

// isNilPointer reports whether x is nil, or a pointer that is.
func isNilPointer(x any) bool {
	v := reflect.ValueOf(x)
	return x == nil || v.Kind() == reflect.Pointer && v.IsNil()
}

func look(members []Member, into []any) {
	for k, m := range members {
		into[k] = m.newest()
	}
}

// holdStill looks while nobody writes.
func holdStill(members []Member) []any {
	for _, m := range members { // in the order of their numbers, or two would wait for each other
		m.writer() <- struct{}{}
		defer func() { <-m.writer() }()
	}
	snapshots := make([]any, len(members))
	look(members, snapshots)
	return snapshots
}

func momentOf(members []Member, snapshots []any) *Moment {
	m := &Moment{snapshots: make(map[any]any, len(members))}
	for k, member := range members {
		m.snapshots[member] = snapshots[k]
	}
	return m
}

// SnapshotIn is the Informer's snapshot in a Moment; nil if it was not one of the
// informers that the Moment was made of, and of a nil Moment.
func (i *Informer[T]) SnapshotIn(m *Moment) *indexer.Snapshot[T] {
	if m == nil {
		return nil
	}
	snapshot, _ := m.snapshots[i].(*indexer.Snapshot[T])
	return snapshot
}
