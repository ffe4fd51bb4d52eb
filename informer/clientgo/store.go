package clientgo

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"sync"

	"k8s.io/client-go/tools/cache"

	"github.com/listwatch/listwatch/indexer"
	"github.com/listwatch/listwatch/informer"
)

// store shows an Informer's snapshots as a cache.Indexer. Each call reads from the
// newest.
type store struct {
	informer *informer.Informer[Object]

	mu       sync.RWMutex
	indexers cache.Indexers
}

var (
	_ cache.Indexer          = (*store)(nil)
	_ cache.TransactionStore = (*store)(nil)
)

// keyOf is client-go's key of an object, a tombstone, an ObjectName or an
// ExplicitKey.
func keyOf(obj any) (string, error) {
	key, err := cache.DeletionHandlingMetaNamespaceKeyFunc(obj)
	if err != nil {
		return "", cache.KeyError{Obj: obj, Err: err}
	}
	return key, nil
}

// values lists what objects yields, of which there are n.
func values(n int, objects iter.Seq2[string, Object]) []any {
	list := make([]any, 0, n)
	for _, obj := range objects {
		list = append(list, Value(obj))
	}
	return list
}

// List implements cache.Store: all objects, ordered by key.
func (s *store) List() []any {
	snapshot := s.informer.Snapshot()
	return values(snapshot.Len(), snapshot.All())
}

// ListKeys implements cache.Store: all keys, in order.
func (s *store) ListKeys() []string { return s.informer.Snapshot().Keys() }

// Get implements cache.Store.
func (s *store) Get(obj any) (item any, exists bool, err error) {
	key, err := keyOf(obj)
	if err != nil {
		return nil, false, err
	}
	return s.GetByKey(key)
}

// GetByKey implements cache.Store. It never fails.
func (s *store) GetByKey(key string) (item any, exists bool, err error) {
	obj, found := s.informer.Snapshot().Get(key)
	if !found {
		return nil, false, nil
	}
	return Value(obj), true, nil
}

// LastStoreSyncResourceVersion implements cache.Store: that of the collection.
func (s *store) LastStoreSyncResourceVersion() string {
	return s.informer.Snapshot().ResourceVersion()
}

// Resync implements cache.Store, and does nothing.
func (s *store) Resync() error { return nil }

// indexFunc returns an index function. Errors: ErrUnknownIndex.
func (s *store) indexFunc(name string) (cache.IndexFunc, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if f := s.indexers[name]; f != nil {
		return f, nil
	}
	return nil, fmt.Errorf("Index with name %s: %w", name, ErrUnknownIndex) //nolint:staticcheck // client-go's wording
}

// Index implements cache.Indexer: the objects that have any of the values that obj
// has, which need not be in the store. Errors: ErrUnknownIndex, and what the index
// function says.
func (s *store) Index(indexName string, obj any) ([]any, error) {
	f, err := s.indexFunc(indexName)
	if err != nil {
		return nil, err
	}
	wanted, err := f(obj)
	if err != nil {
		return nil, err
	}
	snapshot := s.informer.Snapshot()
	if len(wanted) == 1 {
		return byIndex(snapshot, indexName, wanted[0])
	}
	list, seen := []any{}, map[string]bool{}
	for _, value := range wanted {
		objects, err := snapshot.ByIndex(indexName, value)
		if err != nil {
			return nil, unknown(err)
		}
		for key, obj := range objects {
			if !seen[key] {
				seen[key] = true
				list = append(list, Value(obj))
			}
		}
	}
	return list, nil
}

// IndexKeys implements cache.Indexer. Errors: ErrUnknownIndex.
func (s *store) IndexKeys(indexName, indexedValue string) ([]string, error) {
	snapshot := s.informer.Snapshot()
	objects, err := snapshot.ByIndex(indexName, indexedValue)
	if err != nil {
		return nil, unknown(err)
	}
	keys := []string{}
	for key := range objects {
		keys = append(keys, key)
	}
	return keys, nil
}

// ByIndex implements cache.Indexer. Errors: ErrUnknownIndex.
func (s *store) ByIndex(indexName, indexedValue string) ([]any, error) {
	return byIndex(s.informer.Snapshot(), indexName, indexedValue)
}

func byIndex(snapshot *indexer.Snapshot[Object], name, value string) ([]any, error) {
	objects, err := snapshot.ByIndex(name, value)
	if err != nil {
		return nil, unknown(err)
	}
	n, err := snapshot.IndexLen(name, value)
	if err != nil {
		return nil, unknown(err)
	}
	return values(n, objects), nil
}

func unknown(err error) error { return fmt.Errorf("%w: %w", ErrUnknownIndex, err) }

// ListIndexFuncValues implements cache.Indexer: none of an unknown index.
func (s *store) ListIndexFuncValues(indexName string) []string {
	found, err := s.informer.Snapshot().IndexValues(indexName)
	if err != nil {
		return []string{}
	}
	return found
}

// GetIndexers implements cache.Indexer: a copy.
func (s *store) GetIndexers() cache.Indexers {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return maps.Clone(s.indexers)
}

// AddIndexers implements cache.Indexer: all of them, or with an error none. An
// object that an index function fails or panics for is missing from that index, and
// from nothing else; Status of the Informer tells. Errors: ErrIndexExists.
func (s *store) AddIndexers(indexers cache.Indexers) error {
	if err := s.claim(indexers); err != nil {
		return err
	}
	for name, f := range indexers {
		index := indexer.NewFallibleIndex(name, func(obj Object) ([]string, error) { return f(Value(obj)) })
		if err := s.informer.Define(index); err != nil {
			return err
		}
	}
	return nil
}

// claim notes names of indexes as taken.
func (s *store) claim(indexers cache.Indexers) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	defined := s.informer.Snapshot().IndexNames() // also those that Of has made possible
	for name, f := range indexers {
		switch {
		case s.indexers[name] != nil || slices.Contains(defined, name):
			return fmt.Errorf("%w: %q", ErrIndexExists, name)
		case name == "" || f == nil:
			return fmt.Errorf("index %q: no name or no function", name)
		}
	}
	maps.Copy(s.indexers, indexers)
	return nil
}
