package indexer

import (
	"maps"
	"slices"
	"sync/atomic"
)

// Options of an Indexer. The zero value is usable.
type Options[T any] struct {
	// Indexes by name; more can be added later with AddIndex. A name must not be
	// empty and a function not nil.
	Indexes map[string]Func[T]
	// Defined are more indexes; others can be added later with Define. Names must
	// differ from each other and from those in Indexes.
	Defined []Definition[T]
	// OnError, if set, is told of index functions that failed or panicked, after
	// the change was published, in the goroutine that made it.
	OnError func(*IndexError)
}

// Change sets or deletes one key.
type Change[T any] struct {
	Key    string
	Object T
	// Delete removes the key, Object is ignored.
	Delete bool
}

// Indexer holds the newest snapshot and makes the next one. Use New; the zero
// value is not usable. All methods may be called concurrently; those that write
// take turns.
type Indexer[T any] struct {
	current atomic.Pointer[Snapshot[T]]
	onError func(*IndexError)

	// writer holds the state while nobody writes. It is a channel and not a
	// mutex because index functions, which are not ours, run while it is empty.
	writer   chan *state[T]
	failures atomic.Pointer[failures] // of the newest state
	watches  registry
}

// New returns an empty Indexer whose resourceVersion is "". Errors:
// ErrInvalidIndex,
// ErrIndexExists.
func New[T any](options Options[T]) (*Indexer[T], error) {
	x := &Indexer[T]{onError: options.OnError, writer: make(chan *state[T], 1)}
	s := newState[T](0, nil)
	for _, name := range slices.Sorted(maps.Keys(options.Indexes)) {
		if err := s.define(NewIndex(name, options.Indexes[name])); err != nil {
			return nil, err
		}
	}
	for _, d := range options.Defined {
		if err := s.define(d); err != nil {
			return nil, err
		}
	}
	t := turn[T]{x: x, state: s}
	t.publish(s, s.publish("", nil))
	t.end()
	return x, nil
}

// Snapshot returns the newest snapshot, never nil. It takes no lock.
func (x *Indexer[T]) Snapshot() *Snapshot[T] { return x.current.Load() }

// Apply applies changes in order and publishes one new snapshot, which it
// returns. resourceVersion is that of the collection after all of them. Deleting
// a key that is not there changes nothing. It does not keep changes.
func (x *Indexer[T]) Apply(changes []Change[T], resourceVersion string) *Snapshot[T] {
	next, fresh := x.apply(changes, resourceVersion)
	x.report(fresh)
	return next
}

func (x *Indexer[T]) apply(changes []Change[T], resourceVersion string) (*Snapshot[T], []*IndexError) {
	t := x.begin()
	defer t.end()
	s := t.state
	t.half = true
	for i := range changes {
		if c := &changes[i]; c.Delete {
			s.delete(c.Key)
		} else {
			s.set(c.Key, c.Object)
		}
	}
	return t.publish(s, s.publish(resourceVersion, x.current.Load()))
}

// Replace makes items the whole collection: it builds everything anew while
// readers use the old snapshot, and swaps once. Of items with the same key the
// last wins; one with Delete set is as if the key were not there. It is quickest
// if items are in key order. It does not keep items.
func (x *Indexer[T]) Replace(items []Change[T], resourceVersion string) *Snapshot[T] {
	next, fresh := x.replace(items, resourceVersion)
	x.report(fresh)
	return next
}

func (x *Indexer[T]) replace(items []Change[T], resourceVersion string) (*Snapshot[T], []*IndexError) {
	t := x.begin()
	defer t.end()
	s := newState(len(items), t.state.indexes) // the old one stays whole, in case of need
	s.fill(items)
	return t.publish(s, s.publish(resourceVersion, nil))
}

// AddIndex adds an index over what is there and what will come, and publishes a
// snapshot that has it, with the same resourceVersion. Errors: ErrInvalidIndex,
// ErrIndexExists.
func (x *Indexer[T]) AddIndex(name string, f Func[T]) error { return x.Define(NewIndex(name, f)) }

// Define adds an index as AddIndex does. Errors: ErrInvalidIndex, ErrIndexExists.
func (x *Indexer[T]) Define(d Definition[T]) error {
	fresh, err := x.define(d)
	x.report(fresh)
	return err
}

func (x *Indexer[T]) define(d Definition[T]) ([]*IndexError, error) {
	t := x.begin()
	defer t.end()
	s, current := t.state, x.current.Load()
	if err := s.define(d); err != nil {
		return nil, err
	}
	t.half = true
	ix := s.indexes[len(s.indexes)-1]
	for key, object := range current.All() {
		id, _ := s.objects.find(key)
		ix.post(s, id, key, object)
	}
	_, fresh := t.publish(s, s.publish(current.resourceVersion, current))
	return fresh, nil
}

// Errors returns the index errors that stand, by index, then key: each means
// that an object is missing from an index. An error goes when its object changes
// without another, is deleted or replaced.
func (x *Indexer[T]) Errors() []*IndexError { return x.failures.Load().all() }

// report tells of new index errors. The writer's turn is over by then.
func (x *Indexer[T]) report(fresh []*IndexError) {
	if x.onError == nil {
		return
	}
	for _, e := range fresh {
		x.onError(e)
	}
}
