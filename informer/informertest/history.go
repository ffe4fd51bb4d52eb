package informertest

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sort"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
)

// Change is one entry of a History.
type Change struct {
	// Type is watch.Added, watch.Modified or watch.Deleted.
	Type watch.EventType
	// Key of the object, as KeyOf makes it.
	Key string
	// Version is the state from then on; of a deletion the last one, with the
	// resourceVersion of the deletion.
	Version Version
	// Object is what was recorded, for Filter; nil if the history was made
	// without objects.
	Object metav1.Object
}

// String is a line as in a Violation.
func (c Change) String() string {
	return fmt.Sprintf("%6d %-8s %s %s", c.Version.ResourceVersion, c.Type, c.Key, c.Version)
}

// ends says whether the change is the end of the object.
func (c Change) ends(uid types.UID) bool { return c.Type == watch.Deleted && c.Version.UID == uid }

// History is what happened in one collection, from one resourceVersion to
// another, without a gap. It must not come from the informer that is judged by
// it: record a plain watch (Follow), or what the test itself wrote (Record).
//
// The resourceVersions of one History only grow: a server that is restored from
// a backup begins another one (Restore). All methods may be called concurrently.
type History struct {
	content ContentFunc
	// before, if set, is the history until the server was restored to what it was
	// at the resourceVersion restored.
	before   *History
	restored uint64
	drops    bool // made by Map: what is dropped leaves with the state before

	mu      sync.Mutex
	from    uint64 // the collection is known at and after it
	to      uint64 // and up to here
	changes []Change
	byKey   map[string][]int // indexes into changes; the first is never a deletion
	moved   chan struct{}    // closed when to grows; nil if nobody waits
}

// NewHistory begins a history at resourceVersion from, at which the collection
// holds nothing yet: see Begin for one that holds something. content may be nil.
func NewHistory(from uint64, content ContentFunc) *History {
	return &History{content: content, from: from, to: from, byKey: map[string][]int{}}
}

// Begin sets what the collection holds at the beginning, for instance the items
// of a LIST whose resourceVersion was given to NewHistory. It must be called
// before anything else. Error: ErrHistory if an object is newer than that.
func (h *History) Begin(objects ...metav1.Object) error {
	objects = slices.Clone(objects)
	slices.SortFunc(objects, func(a, b metav1.Object) int {
		return int(int64(VersionOf(a, nil).ResourceVersion) - int64(VersionOf(b, nil).ResourceVersion))
	})
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, obj := range objects {
		c := Change{Type: watch.Added, Key: KeyOf(obj), Version: VersionOf(obj, h.content), Object: obj}
		if c.Version.ResourceVersion > h.from || len(h.byKey[c.Key]) > 0 {
			return fmt.Errorf("%w: %v in a collection at %d", ErrHistory, c, h.from)
		}
		h.append(c)
	}
	return nil
}

// Record adds the event that a watch brought. A BOOKMARK extends the history
// without a change. Error: ErrHistory.
func (h *History) Record(event watch.EventType, obj metav1.Object) error {
	c := Change{Type: event, Key: KeyOf(obj), Version: VersionOf(obj, h.content), Object: obj}
	if event == watch.Bookmark {
		return h.Extend(c.Version.ResourceVersion)
	}
	return h.Add(c)
}

// Add adds a change that was made otherwise. Error: ErrHistory.
func (h *History) Add(c Change) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	was, exists := h.latest(c.Key)
	switch {
	case c.Version.ResourceVersion <= h.to:
		return fmt.Errorf("%w: %v comes after %d", ErrHistory, c, h.to)
	case exists != (c.Type != watch.Added):
		return fmt.Errorf("%w: %v, and the object exists: %v", ErrHistory, c, exists)
	case exists && was.Version.UID != c.Version.UID:
		return fmt.Errorf("%w: %v of the object %v", ErrHistory, c, was)
	}
	h.append(c)
	h.reach(c.Version.ResourceVersion)
	return nil
}

// append notes a change. Called with mu held.
func (h *History) append(c Change) {
	h.byKey[c.Key] = append(h.byKey[c.Key], len(h.changes))
	h.changes = append(h.changes, c)
}

// Extend says that nothing else happened up to resourceVersion to. Error:
// ErrHistory if that goes back.
func (h *History) Extend(to uint64) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if to < h.to {
		return fmt.Errorf("%w: nothing happened up to %d, after %d", ErrHistory, to, h.to)
	}
	h.reach(to)
	return nil
}

// reach moves the end and wakes who waits for it. Called with mu held.
func (h *History) reach(to uint64) {
	h.to = to
	if h.moved != nil {
		close(h.moved)
		h.moved = nil
	}
}

// Bounds are the resourceVersions between which the collection is known.
func (h *History) Bounds() (from, to uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.from, h.to
}

// WaitFor waits until the history reaches resourceVersion. Error: ctx's.
func (h *History) WaitFor(ctx context.Context, resourceVersion uint64) error {
	for {
		h.mu.Lock()
		to := h.to
		if to < resourceVersion && h.moved == nil {
			h.moved = make(chan struct{})
		}
		moved := h.moved
		h.mu.Unlock()
		if to >= resourceVersion {
			return nil
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return fmt.Errorf("the history is at %d, waiting for %d: %w", to, resourceVersion, context.Cause(ctx))
		}
	}
}

// Changes are all so far, oldest first.
func (h *History) Changes() []Change {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.changes)
}

// At is the collection at a resourceVersion: what a snapshot at it must hold.
func (h *History) At(resourceVersion uint64) map[string]Version {
	h.mu.Lock()
	defer h.mu.Unlock()
	objects := map[string]Version{}
	for key := range h.byKey {
		if c, exists := h.at(key, resourceVersion); exists {
			objects[key] = c.Version
		}
	}
	return objects
}

// latest is the newest change of a key and whether its object exists now. Called
// with mu held.
func (h *History) latest(key string) (c Change, exists bool) { return h.at(key, ^uint64(0)) }

// at is the last change of a key up to a resourceVersion and whether its object
// exists then. Called with mu held.
func (h *History) at(key string, resourceVersion uint64) (c Change, exists bool) {
	places := h.byKey[key]
	n := sort.Search(len(places), func(i int) bool {
		return h.changes[places[i]].Version.ResourceVersion > resourceVersion
	})
	if n == 0 {
		return Change{}, false
	}
	c = h.changes[places[n-1]]
	return c, c.Type != watch.Deleted
}

// of are the changes of a key, oldest first. Called with mu held.
func (h *History) of(key string) []Change {
	changes := make([]Change, 0, len(h.byKey[key]))
	for _, place := range h.byKey[key] {
		changes = append(changes, h.changes[place])
	}
	return changes
}

// keys are those that ever held an object, sorted. Called with mu held.
func (h *History) keys() []string { return slices.Sorted(maps.Keys(h.byKey)) }
