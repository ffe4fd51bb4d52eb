package informer

import (
	"sync/atomic"

	"github.com/listwatch/listwatch/deltafifo"
	"github.com/listwatch/listwatch/indexer"
	"github.com/listwatch/listwatch/reflector"
)

// sink takes what one reflector received to a queue: it builds the key of each
// object, once, and transforms the object, once. Its methods are called by the
// reflector's goroutine; failures may be read by anyone.
type sink[S, T Object] struct {
	queue     *deltafifo.Queue[T]
	pushed    func()             // called whenever something was queued
	transform func(S) (T, error) // nil: S is T, and objects stay as they are
	failures  failures
	cached    func() *indexer.Snapshot[T] // the newest

	held    atomic.Pointer[held[T]] // nil outside of replacements, and in one in doubt
	absent  bool                    // of the replacement: the resource is gone
	rewound bool                    // of the replacement: the server's history went back
	doubt   atomic.Pointer[string]  // set if another part was told that it did
	doubted *string                 // doubt when the replacement began
	rewinds func() int64            // replacements that went back, the one that ends included
	counted int64                   // of them, those before
	spread  func(string)            // has the other parts doubt what they were told
	items   []deltafifo.Item[T]     // since BeginReplace
	dropped []int                   // places in items that stand for a dropped object
	failed  map[string]ObjectError
	length  int // of the last list: most are about as long as the one before
}

// attach makes queue the one to write to, for a new run; pushed is to be called
// whenever something was.
func (s *sink[S, T]) attach(queue *deltafifo.Queue[T], pushed func()) {
	s.queue, s.pushed = queue, pushed
}

// trouble tells of the objects that could not be transformed.
func (s *sink[S, T]) trouble() *failures { return &s.failures }

// BeginReplace starts to collect a complete list, and fixes what is known.
func (s *sink[S, T]) BeginReplace(reason string) {
	s.AbortReplace()
	s.absent, s.doubted = reason == string(reflector.RelistAbsent), s.doubt.Load()
	s.rewound = reason == string(reflector.RelistRewound) || s.doubted != nil
	if s.doubted == nil { // else a version may be another one than what is cached
		s.held.Store(&held[T]{snapshot: s.cached(), failed: s.failures.keys()})
	}
	s.items = make([]deltafifo.Item[T], 0, s.length)
	s.failures.drops.beginList()
}

// ReplaceItem adds an object to the list. One that cannot be transformed is
// kept as a key without an object: it is known to exist, so that a cached
// version of it must not be taken for deleted.
func (s *sink[S, T]) ReplaceItem(received S) {
	key := keyOf(received)
	obj, failure := s.apply(key, received)
	switch {
	case failure != nil:
		if s.failed == nil {
			s.failed = map[string]ObjectError{}
		}
		s.failed[key] = *failure
	case s.failed != nil:
		delete(s.failed, key) // the later of two items counts
	}
	if failure == nil && isNil(obj) {
		s.dropped = append(s.dropped, len(s.items))
	}
	s.items = append(s.items, deltafifo.Item[T]{Key: key, Object: obj})
}

// EndReplace hands the list over as one delta.
func (s *sink[S, T]) EndReplace(resourceVersion string) {
	items := withoutDropped(s.items, s.dropped)
	s.failures.replace(s.failed)
	s.AbortReplace()
	s.length = len(items)
	switch {
	case s.absent:
		s.queue.Vanish(resourceVersion)
	case s.rewound:
		s.queue.Rewind(items, resourceVersion)
	default:
		s.queue.Replace(items, resourceVersion)
	}
	s.pushed()
	s.settle(resourceVersion)
}

// suspect says that the server's history went back to resourceVersion, as another part
// was told. The next replacement to begin is one after that.
func (s *sink[S, T]) suspect(resourceVersion string) { s.doubt.Store(&resourceVersion) }

// settle sees to doubts at the end of a replacement. One that was in doubt already casts
// none on the other parts, who were told of it as well, unless history went back again:
// further than they know. So doubts do not go round for ever.
func (s *sink[S, T]) settle(resourceVersion string) {
	doubted := s.doubted
	s.doubt.CompareAndSwap(doubted, nil) // a newer one stays
	rewinds := s.rewinds()
	back := rewinds > s.counted
	s.counted, s.doubted = rewinds, nil
	if back && (doubted == nil || newerVersion(*doubted, resourceVersion)) {
		s.spread(resourceVersion)
	}
}

// AbortReplace forgets what was collected.
func (s *sink[S, T]) AbortReplace() {
	s.held.Store(nil)
	s.items, s.dropped, s.failed = nil, nil, nil
}

// withoutDropped takes the items at the dropped places, in ascending order, out
// of items, and earlier ones with the same key with them.
func withoutDropped[T any](items []deltafifo.Item[T], dropped []int) []deltafifo.Item[T] {
	if len(dropped) == 0 {
		return items
	}
	var last map[string]int // of a key that was dropped, the last such place
	if !ordered(items) {
		last = make(map[string]int, len(dropped))
		for _, k := range dropped {
			last[items[k].Key] = k
		}
	}
	kept := items[:0]
	for k := range items {
		if len(dropped) > 0 && dropped[0] == k {
			dropped = dropped[1:]
			continue
		}
		if end, found := last[items[k].Key]; !found || k > end {
			kept = append(kept, items[k])
		}
	}
	clear(items[len(kept):])
	return kept
}

// Add queues an object that appeared.
func (s *sink[S, T]) Add(received S) { s.upsert(received, s.queue.Add) }

// Update queues a new version of an object.
func (s *sink[S, T]) Update(received S) { s.upsert(received, s.queue.Update) }

func (s *sink[S, T]) upsert(received S, enqueue func(key string, obj T, resourceVersion string)) {
	key, resourceVersion := keyOf(received), received.GetResourceVersion()
	obj, failure := s.apply(key, received)
	if failure != nil {
		// The cache keeps the version it has, but the collection has moved on.
		s.failures.set(key, *failure)
		s.Bookmark(resourceVersion)
		return
	}
	if isNil(obj) { // dropped, so that an earlier version has to leave
		s.failures.fix(key)
		s.queue.Delete(key, obj, resourceVersion)
	} else {
		s.failures.clear(key)
		enqueue(key, obj, resourceVersion)
	}
	s.pushed()
}

// Delete queues a deletion; received is the last state. If it cannot be
// transformed, or is dropped, the key is deleted all the same.
func (s *sink[S, T]) Delete(received S) {
	key, resourceVersion := keyOf(received), received.GetResourceVersion()
	obj, failure := s.apply(key, received)
	s.failures.clear(key)
	if failure != nil {
		s.failures.count()
	}
	s.queue.Delete(key, obj, resourceVersion)
	s.pushed()
}

// Bookmark queues the news that the collection is unchanged up to
// resourceVersion.
func (s *sink[S, T]) Bookmark(resourceVersion string) {
	s.queue.Bookmark(resourceVersion)
	s.pushed()
}

// keyOf is "namespace/name", or "name" for an object without a namespace.
func keyOf[T Object](obj T) string {
	if namespace := obj.GetNamespace(); namespace != "" {
		return namespace + "/" + obj.GetName()
	}
	return obj.GetName()
}
