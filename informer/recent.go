package informer

import (
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// maxRecent bounds how many deletions and drops are remembered for Explain.
const maxRecent = 256

// Deletion is an object that left the cache.
type Deletion struct {
	Key string
	UID types.UID
	// ResourceVersion is, with Exact, that of the deletion, else that of the last
	// state in the cache.
	ResourceVersion string
	Time            time.Time
	// Exact is that of Deleted: the deletion itself was seen.
	Exact bool
}

// Drop is a version of an object that the transform dropped.
type Drop struct {
	Key             string
	ResourceVersion string
	Time            time.Time // the last, if the version was received again
}

// recent remembers the last maxRecent of something. Safe for concurrent use; the
// zero value is usable.
type recent[E any] struct {
	mu    sync.Mutex // guards the rest
	ring  []E
	total int64 // ever
}

// add remembers entries, the oldest first.
func (r *recent[E]) add(entries ...E) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range entries {
		r.put(e)
	}
}

// put is add with mu held.
func (r *recent[E]) put(e E) {
	if len(r.ring) < maxRecent {
		r.ring = append(r.ring, e)
	} else {
		r.ring[r.total%maxRecent] = e
	}
	r.total++
}

// count returns how many there were ever.
func (r *recent[E]) count() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.total
}

// find returns those that match, newest first.
func (r *recent[E]) find(match func(E) bool) (found []E) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for k := range r.ring {
		e := r.ring[(r.total-1-int64(k))%maxRecent]
		if match(e) {
			found = append(found, e)
		}
	}
	return found
}

// drops are the recent ones, each version once: what is dropped is received again
// with each list. The time is the last.
type drops struct {
	recent[Drop]
	at map[dropped]int64 // where in the ring; guarded by mu
}

// dropped is a version of an object.
type dropped struct{ key, resourceVersion string }

// note remembers that a version was dropped now.
func (d *drops) note(key, resourceVersion string) {
	now, what := time.Now(), dropped{key, resourceVersion}
	d.mu.Lock()
	defer d.mu.Unlock()
	if k, known := d.at[what]; known {
		d.ring[k].Time = now
		return
	}
	k := d.total % maxRecent
	if d.total >= maxRecent {
		delete(d.at, dropped{d.ring[k].Key, d.ring[k].ResourceVersion})
	}
	if d.at == nil {
		d.at = map[dropped]int64{}
	}
	d.put(Drop{Key: key, ResourceVersion: resourceVersion, Time: now})
	d.at[what] = k
}

// noteDeletions remembers the deletions among notices. A large relist may bring
// many: only the last ones are looked at closely.
func noteDeletions[T Object](r *recent[Deletion], notices []notice[T]) {
	var deletions []Deletion
	for k := len(notices) - 1; k >= 0 && len(deletions) < maxRecent; k-- {
		if n := &notices[k]; n.kind == noticeDelete {
			deletions = append(deletions, Deletion{
				Key: n.key, UID: n.obj.GetUID(), ResourceVersion: n.obj.GetResourceVersion(), Exact: n.exact,
			})
		}
	}
	if len(deletions) == 0 {
		return
	}
	now := time.Now()
	for k := range deletions {
		deletions[k].Time = now
	}
	slices.Reverse(deletions)
	r.add(deletions...)
}
