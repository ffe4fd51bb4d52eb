package informer

import (
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/listwatch/listwatch/indexer"
)

// Overlay lets one who writes through the server read its own writes at once,
// without waiting for the Informer to hear of them: it is given what the server
// answered, and shows that until the snapshot has caught up. It never shows
// anything older than the snapshot, nor a version older than one it has shown.
//
// Every reader of an Overlay sees it; a controller has one of its own. There is no
// goroutine: what is no longer needed leaves when something is put or read. All
// methods may be called concurrently.
//
// If the snapshot's resourceVersion goes back, because the server's history did,
// everything that was put is forgotten.
type Overlay[T Object] struct {
	snapshot func() *indexer.Snapshot[T]
	limit    int
	count    atomic.Int64 // of entries, so that readers need no lock while there are none

	mu      sync.Mutex // guards the rest
	entries map[string]overlaid[T]
	tidyAt  int    // number of entries at which to look for those that may leave
	seen    string // newest resourceVersion of a snapshot that was looked at
	lost    int
}

// overlaid is a write that the snapshot has not caught up with.
type overlaid[T Object] struct {
	obj     T
	deleted bool // it is obj that was deleted
}

// defaultOverlay is the number of entries of an Overlay without a limit.
const defaultOverlay = 1000

// NewOverlay makes an Overlay over i that keeps up to limit writes; 0 means 1000.
// If there are more that the snapshot has not caught up with, the one with the
// oldest resourceVersion is given up: it will be the first to be seen anyway, but
// until then the overlay may show what was before it. Lost counts those.
func NewOverlay[T Object](i *Informer[T], limit int) *Overlay[T] {
	return newOverlay(i.Snapshot, limit)
}

func newOverlay[T Object](snapshot func() *indexer.Snapshot[T], limit int) *Overlay[T] {
	if limit <= 0 {
		limit = defaultOverlay
	}
	return &Overlay[T]{snapshot: snapshot, limit: limit, entries: map[string]overlaid[T]{}}
}

// Put notes what the server answered to a create, update or patch. The object is
// shown as it is: where the Informer has a transform, apply it first. It must not
// be modified afterwards. An object without a resourceVersion that can be compared
// is ignored, as are nil and an older one than the overlay shows.
func (o *Overlay[T]) Put(obj T) { o.note(overlaid[T]{obj: obj}) }

// Deleted notes that the server has removed obj: the object with its UID is not
// shown any more. obj is its last known state, or that of the answer. It is not
// for an object that is only marked for deletion and waits for finalizers: that is
// one to Put. A nil object is ignored.
func (o *Overlay[T]) Deleted(obj T) { o.note(overlaid[T]{obj: obj, deleted: true}) }

// Get returns the newest version of the object under key that the snapshot has or
// that was put, and whether there is one.
func (o *Overlay[T]) Get(key string) (T, bool) {
	if o.count.Load() == 0 { // before the snapshot is loaded
		return o.snapshot().Get(key)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	snapshot := o.look()
	e, found := o.entries[key]
	if found && e.seenIn(snapshot, key) {
		o.forget(key)
		found = false
	}
	switch {
	case !found:
		return snapshot.Get(key)
	case e.deleted:
		var none T
		return none, false
	}
	return e.obj, true
}

// All yields every key and object in key order, as of the moment when All was
// called: what Get would return for each.
func (o *Overlay[T]) All() iter.Seq2[string, T] {
	snapshot, entries := o.pending("")
	return overlay(entries, snapshot.All())
}

// Namespace is All for the objects of one namespace, which is not "".
func (o *Overlay[T]) Namespace(namespace string) iter.Seq2[string, T] {
	snapshot, entries := o.pending(namespace + "/")
	return overlay(entries, snapshot.Namespace(namespace))
}

// ByIndex is All for the objects that an index of the Informer has under value: of
// what was put, those that it would have there. Errors: indexer.ErrUnknownIndex.
func (o *Overlay[T]) ByIndex(name, value string) (iter.Seq2[string, T], error) {
	snapshot, entries := o.pending("")
	found, err := snapshot.ByIndex(name, value)
	if err != nil {
		return nil, err
	}
	for key, e := range entries {
		if matches, _ := snapshot.Matches(name, value, e.obj); !matches { // the index is known
			e.deleted = true // it takes the place of a version that may match
			entries[key] = e
		}
	}
	return overlay(entries, found), nil
}

// List returns the objects of All, in a slice of the caller's.
func (o *Overlay[T]) List() []T {
	var list []T
	for _, obj := range o.All() {
		list = append(list, obj)
	}
	return list
}

// Len is the number of writes that the snapshot has not caught up with.
func (o *Overlay[T]) Len() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.tidy(o.look())
	return len(o.entries)
}

// Lost is the number of writes that were given up because there were too many.
func (o *Overlay[T]) Lost() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.lost
}

func (o *Overlay[T]) note(e overlaid[T]) {
	if isNil(e.obj) {
		return
	}
	if _, err := resourceversion.CompareResourceVersion(e.obj.GetResourceVersion(), "1"); err != nil {
		return
	}
	key := keyOf(e.obj)
	o.mu.Lock()
	defer o.mu.Unlock()
	snapshot := o.look()
	if was, found := o.entries[key]; found {
		var follows bool
		if e, follows = e.after(was); !follows {
			return
		}
	}
	if e.seenIn(snapshot, key) {
		o.forget(key)
		return
	}
	o.entries[key] = e
	if len(o.entries) > min(o.limit, o.tidyAt) {
		o.tidy(snapshot)
		o.tidyAt = 2 * len(o.entries)
	}
	if len(o.entries) > o.limit {
		o.giveUp()
	}
	o.count.Store(int64(len(o.entries)))
}

// after returns e, which was noted after another write to the same key, and
// whether it is to be kept instead of that.
func (e overlaid[T]) after(was overlaid[T]) (overlaid[T], bool) {
	same := e.obj.GetUID() == was.obj.GetUID()
	switch {
	case same && e.obj.GetUID() != "" && was.deleted != e.deleted: // a UID is deleted once, and for good
		if e.deleted && newer(was.obj, e.obj) {
			e.obj = was.obj
		}
		return e, e.deleted
	case same && e.deleted && !was.deleted:
		return e, !newer(was.obj, e.obj)
	}
	return e, newer(e.obj, was.obj)
}

// seenIn reports whether snapshot has caught up with e: the collection, or just
// the object.
func (e overlaid[T]) seenIn(snapshot *indexer.Snapshot[T], key string) bool {
	obj, found := snapshot.Get(key)
	if e.deleted && found && !otherUID(obj, e.obj) {
		return false
	}
	order, err := resourceversion.CompareResourceVersion(snapshot.ResourceVersion(), e.obj.GetResourceVersion())
	return err == nil && order >= 0 || found && !newer(e.obj, obj)
}

// look loads the snapshot, and forgets everything if history went back. Called with
// mu held: only so it is sure not to be older than the one that made somebody else
// forget an entry.
func (o *Overlay[T]) look() *indexer.Snapshot[T] {
	snapshot := o.snapshot()
	if newerVersion(o.seen, snapshot.ResourceVersion()) {
		clear(o.entries)
		o.count.Store(0)
	}
	o.seen = snapshot.ResourceVersion()
	return snapshot
}

// tidy forgets what snapshot has caught up with. Called with mu held.
func (o *Overlay[T]) tidy(snapshot *indexer.Snapshot[T]) {
	for key, e := range o.entries {
		if e.seenIn(snapshot, key) {
			o.forget(key)
		}
	}
}

// forget is called with mu held.
func (o *Overlay[T]) forget(key string) {
	delete(o.entries, key)
	o.count.Store(int64(len(o.entries)))
}

// giveUp forgets the oldest write. Called with mu held.
func (o *Overlay[T]) giveUp() {
	oldest := ""
	for key, e := range o.entries {
		if oldest == "" || newer(o.entries[oldest].obj, e.obj) {
			oldest = key
		}
	}
	o.forget(oldest)
	o.lost++
}

// pending returns the snapshot and, in a map of the caller's, the writes to keys
// with the prefix that it has not caught up with.
func (o *Overlay[T]) pending(prefix string) (*indexer.Snapshot[T], map[string]overlaid[T]) {
	if o.count.Load() == 0 { // before the snapshot is loaded
		return o.snapshot(), nil
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	snapshot := o.look()
	o.tidy(snapshot)
	entries := make(map[string]overlaid[T], len(o.entries))
	for key, e := range o.entries {
		if strings.HasPrefix(key, prefix) {
			entries[key] = e
		}
	}
	return snapshot, entries
}

// overlay yields what base does, with entries.
func overlay[T Object](entries map[string]overlaid[T], base iter.Seq2[string, T]) iter.Seq2[string, T] {
	if len(entries) == 0 {
		return base
	}
	keys := slices.Sorted(maps.Keys(entries))
	return func(yield func(string, T) bool) { mergeOverlay(keys, entries, base, yield) }
}

// mergeOverlay yields entries, whose sorted keys are keys, among what base yields,
// and instead of what has the same key.
func mergeOverlay[T Object](keys []string, entries map[string]overlaid[T], base iter.Seq2[string, T], yield func(string, T) bool) {
	put := func(key string) bool { return entries[key].deleted || yield(key, entries[key].obj) }
	for key, obj := range base {
		for len(keys) > 0 && keys[0] < key {
			if !put(keys[0]) {
				return
			}
			keys = keys[1:]
		}
		if _, covered := entries[key]; covered {
			continue // it is keys[0], and comes before the next
		}
		if !yield(key, obj) {
			return
		}
	}
	for _, key := range keys {
		if !put(key) {
			return
		}
	}
}
