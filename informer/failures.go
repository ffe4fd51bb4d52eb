package informer

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// ObjectError is the failure to process one object.
type ObjectError struct {
	Key             string
	ResourceVersion string // of the object as received
	Err             error  // wraps ErrTransform
	At              time.Time
}

// failures remembers the objects whose newest version could not be
// transformed. Safe for concurrent use.
type failures struct {
	drops     drops
	dropped   atomic.Int64 // results, a version as often as it was received
	anonymous atomic.Int64 // results without the UID or resourceVersion that was received

	mu    sync.Mutex // guards the rest
	total int
	byKey map[string]ObjectError
}

func (f *failures) set(key string, failure ObjectError) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.total++
	if f.byKey == nil {
		f.byKey = map[string]ObjectError{}
	}
	f.byKey[key] = failure
}

// count notes a failure that leaves nothing behind.
func (f *failures) count() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.total++
}

// clear notes that another version of key was received, or its end.
func (f *failures) clear(key string) {
	if f.dropped.Load() > 0 {
		f.drops.clear(key)
	}
	f.fix(key)
}

// fix forgets the failure of key.
func (f *failures) fix(key string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.byKey, key)
}

// replace forgets all failures for those of a complete list.
func (f *failures) replace(byKey map[string]ObjectError) {
	f.drops.endList()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.total += len(byKey)
	f.byKey = byKey
}

// keys returns those of the standing failures, nil if there are none.
func (f *failures) keys() map[string]bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.byKey) == 0 {
		return nil
	}
	keys := make(map[string]bool, len(f.byKey))
	for key := range f.byKey {
		keys[key] = true
	}
	return keys
}

// about returns the standing failure of key, nil if there is none, and the drops
// that are remembered, newest first.
func (f *failures) about(key string) (*ObjectError, []Drop) {
	drops := f.drops.find(func(d Drop) bool { return d.Key == key })
	f.mu.Lock()
	defer f.mu.Unlock()
	if failure, found := f.byKey[key]; found {
		return &failure, drops
	}
	return nil, drops
}

// list returns the number of failures ever, and up to limit standing ones,
// sorted by key.
func (f *failures) list(limit int) (total, standing int, sample []ObjectError) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, failure := range f.byKey {
		sample = append(sample, failure)
	}
	slices.SortFunc(sample, func(a, b ObjectError) int {
		if a.Key < b.Key {
			return -1
		}
		return 1
	})
	return f.total, len(f.byKey), sample[:min(limit, len(sample))]
}
