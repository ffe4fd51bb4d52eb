package informer

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/listwatch/listwatch/deltafifo"
)

// sink takes what the reflector received to the queue: it builds the key of
// each object, once, and transforms the object, once. Its methods are called by
// the reflector's goroutine; failures may be read by anyone.
type sink[T Object] struct {
	queue     *deltafifo.Queue[T]
	transform func(T) (T, error)
	failures  *failures

	items  []deltafifo.Item[T] // since BeginReplace
	failed map[string]ObjectError
}

// BeginReplace starts to collect a complete list.
func (s *sink[T]) BeginReplace(string) {
	s.items, s.failed = nil, nil
}

// ReplaceItem adds an object to the list. One that cannot be transformed is
// kept as a key without an object: it is known to exist, so that a cached
// version of it must not be taken for deleted.
func (s *sink[T]) ReplaceItem(obj T) {
	key := keyOf(obj)
	obj, failure := s.apply(key, obj)
	if failure != nil {
		if s.failed == nil {
			s.failed = map[string]ObjectError{}
		}
		s.failed[key] = *failure
	} else if s.failed != nil {
		delete(s.failed, key) // the later of two items counts
	}
	s.items = append(s.items, deltafifo.Item[T]{Key: key, Object: obj})
}

// EndReplace hands the list over as one delta.
func (s *sink[T]) EndReplace(resourceVersion string) {
	items := s.items
	s.failures.replace(s.failed)
	s.AbortReplace()
	s.queue.Replace(items, resourceVersion)
}

// AbortReplace forgets what was collected.
func (s *sink[T]) AbortReplace() {
	s.items, s.failed = nil, nil
}

// Add queues an object that appeared.
func (s *sink[T]) Add(obj T) { s.upsert(obj, s.queue.Add) }

// Update queues a new version of an object.
func (s *sink[T]) Update(obj T) { s.upsert(obj, s.queue.Update) }

func (s *sink[T]) upsert(obj T, enqueue func(key string, obj T, resourceVersion string)) {
	key, resourceVersion := keyOf(obj), obj.GetResourceVersion()
	obj, failure := s.apply(key, obj)
	if failure != nil {
		// The cache keeps the version it has, but the collection has moved on.
		s.failures.set(key, *failure)
		s.queue.Bookmark(resourceVersion)
		return
	}
	s.failures.clear(key)
	enqueue(key, obj, resourceVersion)
}

// Delete queues a deletion; obj is the last state. If it cannot be transformed,
// the key is deleted all the same.
func (s *sink[T]) Delete(obj T) {
	key, resourceVersion := keyOf(obj), obj.GetResourceVersion()
	obj, failure := s.apply(key, obj)
	s.failures.clear(key)
	if failure != nil {
		s.failures.count()
	}
	s.queue.Delete(key, obj, resourceVersion)
}

// Bookmark queues the news that the collection is unchanged up to
// resourceVersion.
func (s *sink[T]) Bookmark(resourceVersion string) { s.queue.Bookmark(resourceVersion) }

// apply transforms obj; with a failure the returned object is the zero value.
func (s *sink[T]) apply(key string, obj T) (T, *ObjectError) {
	if s.transform == nil {
		return obj, nil
	}
	resourceVersion := obj.GetResourceVersion()
	out, err := callTransform(s.transform, obj)
	if err == nil {
		return out, nil
	}
	var zero T
	return zero, &ObjectError{
		Key:             key,
		ResourceVersion: resourceVersion,
		Err:             fmt.Errorf("%w: %w", ErrTransform, err),
		At:              time.Now(),
	}
}

// callTransform turns a panic, and a result that is no object, into errors: one
// odd object must not take the others away from the cache.
func callTransform[T Object](transform func(T) (T, error), obj T) (out T, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v", r)
		}
	}()
	out, err = transform(obj)
	if err == nil && isNil(out) {
		err = fmt.Errorf("returned no object")
	}
	return out, err
}

// keyOf is "namespace/name", or "name" for an object without a namespace.
func keyOf[T Object](obj T) string {
	if namespace := obj.GetNamespace(); namespace != "" {
		return namespace + "/" + obj.GetName()
	}
	return obj.GetName()
}

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

func (f *failures) clear(key string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.byKey, key)
}

// replace forgets all failures for those of a complete list.
func (f *failures) replace(byKey map[string]ObjectError) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.total += len(byKey)
	f.byKey = byKey
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
