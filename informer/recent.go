package informer

import (
	"maps"
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
	// newest are the keys of which the newest version received is one of these.
	newest map[string]newestDrop // guarded by mu
	lists  int64                 // that began; guarded by mu
}

// newestDrop is where in the ring a drop is, and how many lists had begun when it was
// noted last.
type newestDrop struct{ at, lists int64 }

// dropped is a version of an object.
type dropped struct{ key, resourceVersion string }

// note remembers that a version was dropped now.
func (d *drops) note(key, resourceVersion string) {
	now, what := time.Now(), dropped{key, resourceVersion}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.at == nil {
		d.at, d.newest = map[dropped]int64{}, map[string]newestDrop{}
	}
	if k, known := d.at[what]; known {
		d.newest[key] = newestDrop{k, d.lists}
		d.ring[k].Time = now
		return
	}
	k := d.total % maxRecent
	if d.total >= maxRecent {
		old := d.ring[k]
		delete(d.at, dropped{old.Key, old.ResourceVersion})
		if d.newest[old.Key].at == k {
			delete(d.newest, old.Key)
		}
	}
	d.put(Drop{Key: key, ResourceVersion: resourceVersion, Time: now})
	d.at[what], d.newest[key] = k, newestDrop{k, d.lists}
}

// clear notes that another version of key was received, or its end.
func (d *drops) clear(key string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.newest, key)
}

// beginList is to be called before the drops of a complete list are noted, and endList
// after them: keys that are not among these have other versions now, or none.
func (d *drops) beginList() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lists++
}

func (d *drops) endList() {
	d.mu.Lock()
	defer d.mu.Unlock()
	maps.DeleteFunc(d.newest, func(_ string, drop newestDrop) bool { return drop.lists < d.lists })
}

// stands reports whether the newest version received of key was dropped, as far as it
// is remembered.
func (d *drops) stands(key string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	_, found := d.newest[key]
	return found
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
