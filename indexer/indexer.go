package indexer

import (
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/tidwall/btree"
)

// Func returns the values under which obj is found in an index. It must depend
// on obj only.
type Func[T any] func(obj T) []string

// Options of an Indexer. The zero value is usable.
type Options[T any] struct {
	// Indexes by name; more can be added later with AddIndex.
	Indexes map[string]Func[T]
	// OnError, if set, is told of index functions that panicked, after the
	// change was published, in the goroutine that made it.
	OnError func(*IndexError)
}

// Change sets or deletes one key.
type Change[T any] struct {
	Key    string
	Object T
	Delete bool // Object is ignored
}

type index[T any] struct {
	name   string
	f      Func[T]
	values *btree.Map[string, *btree.Map[string, T]]
}

// Indexer holds the newest snapshot and makes the next one.
type Indexer[T any] struct {
	current atomic.Pointer[Snapshot[T]]
	onError func(*IndexError)
	writer  sync.Mutex
}

// New returns an empty Indexer.
func New[T any](options Options[T]) (*Indexer[T], error) {
	x := &Indexer[T]{onError: options.OnError}
	x.current.Store(&Snapshot[T]{objects: btree.NewMap[string, T](32), indexes: map[string]*index[T]{}})
	for name, f := range options.Indexes {
		if err := x.AddIndex(name, f); err != nil {
			return nil, err
		}
	}
	return x, nil
}

// Snapshot returns the newest snapshot, never nil, without a lock.
func (x *Indexer[T]) Snapshot() *Snapshot[T] { return x.current.Load() }

// Apply applies changes in order and publishes one new snapshot.
func (x *Indexer[T]) Apply(changes []Change[T], resourceVersion string) *Snapshot[T] {
	x.writer.Lock()
	defer x.writer.Unlock()
	next := x.Snapshot().copy(resourceVersion)
	for _, c := range changes {
		next.apply(c)
	}
	x.current.Store(next)
	return next
}

// Replace makes items the whole collection and publishes it at once.
func (x *Indexer[T]) Replace(items []Change[T], resourceVersion string) *Snapshot[T] {
	x.writer.Lock()
	defer x.writer.Unlock()
	next := &Snapshot[T]{objects: btree.NewMap[string, T](32), indexes: map[string]*index[T]{}, resourceVersion: resourceVersion}
	for name, old := range x.Snapshot().indexes {
		next.indexes[name] = &index[T]{name: name, f: old.f, values: btree.NewMap[string, *btree.Map[string, T]](32)}
	}
	for _, c := range items {
		next.apply(c)
	}
	x.current.Store(next)
	return next
}

// AddIndex adds an index over what is there and what will come.
func (x *Indexer[T]) AddIndex(name string, f Func[T]) error {
	x.writer.Lock()
	defer x.writer.Unlock()
	if name == "" || f == nil {
		return fmt.Errorf("%w: %q", ErrInvalidIndex, name)
	}
	next := x.Snapshot().copy(x.Snapshot().resourceVersion)
	if next.indexes[name] != nil {
		return fmt.Errorf("%w: %q", ErrIndexExists, name)
	}
	ix := &index[T]{name: name, f: f, values: btree.NewMap[string, *btree.Map[string, T]](32)}
	next.indexes[name] = ix
	next.objects.Scan(func(key string, obj T) bool { ix.add(key, obj); return true })
	x.current.Store(next)
	return nil
}

// Errors returns the index errors that stand, by index and key.
func (x *Indexer[T]) Errors() []*IndexError { return nil }

func (s *Snapshot[T]) apply(c Change[T]) {
	old, had := s.objects.Get(c.Key)
	for _, ix := range s.indexes {
		if had {
			ix.remove(c.Key, old)
		}
		if !c.Delete {
			ix.add(c.Key, c.Object)
		}
	}
	if c.Delete {
		s.objects.Delete(c.Key)
	} else {
		s.objects.Set(c.Key, c.Object)
	}
}

func (ix *index[T]) add(key string, obj T) {
	for _, v := range ix.f(obj) {
		keys, ok := ix.values.Get(v)
		if ok {
			keys = keys.Copy()
		} else {
			keys = btree.NewMap[string, T](16)
		}
		keys.Set(key, obj)
		ix.values.Set(v, keys)
	}
}

func (ix *index[T]) remove(key string, obj T) {
	for _, v := range ix.f(obj) {
		keys, ok := ix.values.Get(v)
		if !ok {
			continue
		}
		keys = keys.Copy()
		keys.Delete(key)
		if keys.Len() == 0 {
			ix.values.Delete(v)
		} else {
			ix.values.Set(v, keys)
		}
	}
}
