package informer

import (
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/listwatch/listwatch/deltafifo"
	"github.com/listwatch/listwatch/indexer"
)

// held is what the cache has when a replacement begins. It does not change, so
// that what is known stays true until the end of the replacement.
type held[T Object] struct {
	snapshot *indexer.Snapshot[T]
	failed   map[string]bool // keys with a newer version that could not be transformed
}

// Known implements reflector.KnownSink: UID and resourceVersion of the cached
// object. An object that cannot be told apart from its other versions is not
// known, nor one whose transform failed last: that is to be tried again.
func (s *sink[S, T]) Known(key string) (uid types.UID, resourceVersion string, ok bool) {
	h := s.held.Load()
	if h == nil || h.failed[key] {
		return "", "", false
	}
	obj, found := h.snapshot.Get(key)
	if !found {
		return "", "", false
	}
	uid, resourceVersion = obj.GetUID(), obj.GetResourceVersion()
	return uid, resourceVersion, uid != "" && resourceVersion != ""
}

// ReplaceKnown implements reflector.KnownSink: it adds the cached object to the
// list, with the cached key.
func (s *sink[S, T]) ReplaceKnown(key string) {
	var item deltafifo.Item[T]
	if h := s.held.Load(); h != nil {
		item.Key, item.Object, _ = h.snapshot.Entry(key)
	}
	if isNil(item.Object) { // never known: it exists, nobody can say more
		item.Key = strings.Clone(key)
	}
	if s.failed != nil {
		delete(s.failed, item.Key) // the later of two items counts
	}
	s.items = append(s.items, item)
}
