package indexer

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// Watch tells when the answer to a query changes. All methods may be called
// concurrently.
type Watch struct {
	changed  chan struct{}
	queries  []Query
	after    uint64 // sequence of the snapshot whose successors matter
	registry *registry
}

// Changed returns a channel that is closed when an answer has changed.
func (w *Watch) Changed() <-chan struct{} { return w.changed }

// Stop ends the watch; if the channel is not closed yet, it never will be. A watch
// whose channel is never closed and that is not stopped is kept by its Indexer.
func (w *Watch) Stop() { w.registry.remove(w) }

// Watch watches the answers to queries. The channel of the Watch is closed when one
// of them is no longer what it is in since, a snapshot of this Indexer; if that is
// so already, it is closed from the start. So nothing is missed between looking
// at a snapshot and watching it. When the channel is closed Snapshot returns a
// snapshot that has the change.
//
// An answer is a set of keys and objects: it changes when a key comes or goes and
// when the object of a key becomes another one; not if only the resourceVersion
// changes, nor with objects that the query does not find. Objects of types that
// Go cannot compare are taken for changed too often.
//
// Nothing waits for watchers. While there are any, a change costs the writer about
// a microsecond, and one more call of index functions whose values are watched.
// Errors: ErrUnknownIndex, also for a nil query.
func (x *Indexer[T]) Watch(since *Snapshot[T], queries ...Query) (*Watch, error) {
	for k, q := range queries {
		if q == nil {
			return nil, fmt.Errorf("%w: query %d of %d is nil", ErrUnknownIndex, k+1, len(queries))
		}
		if err := q.check(since.indexes); err != nil {
			return nil, err
		}
	}
	w := &Watch{changed: make(chan struct{}), queries: slices.Clone(queries), after: since.sequence, registry: &x.watches}
	// First the one, then the other: a writer publishes first and then looks for
	// watches, so that one of the two sees what the other did.
	x.watches.add(w)
	if now := x.Snapshot(); now != since && answersDiffer(queries, since, now) && x.watches.remove(w) {
		close(w.changed)
	}
	return w, nil
}

// answersDiffer reports whether one of the queries has different answers.
func answersDiffer[T any](queries []Query, older, newer *Snapshot[T]) bool {
	for d := range newer.Differences(older, same[T]) {
		for _, q := range queries {
			term, ok := q.(Term)
			if !ok && q.place().covers(d.Key) {
				return true
			}
			if ok && (older.satisfies(term, d.Key) || newer.satisfies(term, d.Key)) {
				return true
			}
		}
	}
	return false
}

// satisfies reports whether the object of key is there and satisfies term.
func (s *Snapshot[T]) satisfies(term Term, key string) bool {
	ids, err := term.tree(s.indexes)
	return err == nil && holds(ids, &s.objects, key)
}

// same reports whether a and b are known to be the same.
func same[T any](a, b T) bool {
	if reflect.TypeFor[T]().Kind() != reflect.Pointer {
		va, vb := reflect.ValueOf(&a).Elem(), reflect.ValueOf(&b).Elem()
		if !va.Comparable() || !vb.Comparable() {
			return false
		}
	}
	return any(a) == any(b)
}

// notify closes the watches whose answers differ in two snapshots that follow each
// other. The writer calls it after it has published next.
func (x *Indexer[T]) notify(previous, next *Snapshot[T], indexes []postings[T]) {
	if x.watches.count.Load() == 0 {
		return
	}
	watched := x.watches.watchedIndexes()
	var places []place
	for d := range next.Differences(previous, same[T]) {
		places = places[:0]
		for _, ix := range indexes {
			if !watched[ix.of().Name()] {
				continue
			}
			if d.Was {
				places = ix.places(d.Key, d.Old, places)
			}
			if d.Is {
				places = ix.places(d.Key, d.New, places)
			}
		}
		x.watches.hit(d.Key, places, next.sequence)
	}
}

// place is where watches are found that a change may concern.
type place struct {
	kind  placeKind
	text  string // key, prefix, or name of the index
	value any    // in the index
}

type placeKind uint8

const (
	keyPlace     placeKind = iota
	prefixPlace            // keys that begin with text
	clusterPlace           // keys without a slash
	valuePlace             // objects that have value in the index text
)

// covers reports whether the place has what is under key; false for values.
func (p place) covers(key string) bool {
	switch p.kind {
	case keyPlace:
		return p.text == key
	case prefixPlace:
		return strings.HasPrefix(key, p.text)
	case clusterPlace:
		return !strings.Contains(key, "/")
	}
	return false
}

// registry holds the watches of an Indexer.
type registry struct {
	count atomic.Int64 // watches, to make their absence cheap

	mu      sync.Mutex // guards the rest
	watches map[place]map[*Watch]struct{}
	// How many places there are with a prefix of a length, and with an index.
	lengths map[int]int
	indexes map[string]int
}

func (r *registry) add(w *Watch) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.watches == nil {
		r.watches = make(map[place]map[*Watch]struct{})
		r.lengths, r.indexes = make(map[int]int), make(map[string]int)
	}
	added := false
	for _, q := range w.queries {
		p := q.place()
		if p != p {
			continue // a value that nothing can have, such as a NaN
		}
		if r.watches[p] == nil {
			r.watches[p] = make(map[*Watch]struct{})
			r.note(p, 1)
		}
		r.watches[p][w] = struct{}{}
		added = true
	}
	if added {
		r.count.Add(1)
	}
}

// remove forgets w and reports whether it was there.
func (r *registry) remove(w *Watch) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.forget(w)
}

// forget is remove with mu held.
func (r *registry) forget(w *Watch) bool {
	found := false
	for _, q := range w.queries {
		p := q.place()
		if _, ok := r.watches[p][w]; !ok {
			continue // also if a query comes twice
		}
		found = true
		delete(r.watches[p], w)
		if len(r.watches[p]) == 0 {
			delete(r.watches, p)
			r.note(p, -1)
		}
	}
	if found {
		r.count.Add(-1)
	}
	return found
}

// note counts a place that has come (1) or gone (-1), with mu held.
func (r *registry) note(p place, n int) {
	switch p.kind {
	case prefixPlace:
		if r.lengths[len(p.text)] += n; r.lengths[len(p.text)] == 0 {
			delete(r.lengths, len(p.text))
		}
	case valuePlace:
		if r.indexes[p.text] += n; r.indexes[p.text] == 0 {
			delete(r.indexes, p.text)
		}
	}
}

// watchedIndexes returns the names of indexes of which values are watched.
func (r *registry) watchedIndexes() map[string]bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	names := make(map[string]bool, len(r.indexes))
	for name := range r.indexes {
		names[name] = true
	}
	return names
}

// hit closes the watches that a change of key concerns, which is published in the
// snapshot of the given sequence; values are the places of the object's values,
// old and new.
func (r *registry) hit(key string, values []place, sequence uint64) {
	var concerned []*Watch
	r.mu.Lock()
	at := func(p place) {
		for w := range r.watches[p] {
			if w.after < sequence && r.forget(w) {
				concerned = append(concerned, w)
			}
		}
	}
	at(place{kind: keyPlace, text: key})
	for n := range r.lengths {
		if n <= len(key) {
			at(place{kind: prefixPlace, text: key[:n]})
		}
	}
	if !strings.Contains(key, "/") {
		at(place{kind: clusterPlace})
	}
	for _, p := range values {
		at(p)
	}
	r.mu.Unlock()
	for _, w := range concerned {
		close(w.changed)
	}
}

// hitAll closes every watch that waits for the snapshot of the given sequence.
func (r *registry) hitAll(sequence uint64) {
	concerned := make(map[*Watch]struct{})
	r.mu.Lock()
	for _, watches := range r.watches {
		for w := range watches {
			if w.after < sequence {
				concerned[w] = struct{}{}
			}
		}
	}
	for w := range concerned {
		r.forget(w)
	}
	r.mu.Unlock()
	for w := range concerned {
		close(w.changed)
	}
}
