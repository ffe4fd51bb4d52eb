package clientgo

import (
	"k8s.io/client-go/tools/cache"

	"github.com/listwatch/listwatch/indexer"
)

// What follows writes to the cache. Tests of controllers do that with an informer
// that does not run. While it runs the server has the last word, as with
// client-go's store: handlers are not told, and the next event of a key or the next
// list replaces what was written.

// Add implements cache.Store.
func (s *store) Add(obj any) error { return s.put(obj) }

// Update implements cache.Store.
func (s *store) Update(obj any) error { return s.put(obj) }

func (s *store) put(value any) error {
	change, err := setting(value)
	if err != nil {
		return err
	}
	s.write([]indexer.Change[Object]{change}, value)
	return nil
}

// Delete implements cache.Store. obj may be a tombstone.
func (s *store) Delete(obj any) error {
	key, err := keyOf(obj)
	if err != nil {
		return err
	}
	s.write([]indexer.Change[Object]{{Key: key, Delete: true}}, obj)
	return nil
}

// Bookmark implements cache.Store.
func (s *store) Bookmark(resourceVersion string) {
	s.informer.Edit(func(*indexer.Snapshot[Object]) ([]indexer.Change[Object], string) { return nil, resourceVersion })
}

// Replace implements cache.Store.
func (s *store) Replace(list []any, resourceVersion string) error {
	changes := make([]indexer.Change[Object], 0, len(list))
	stays := make(map[string]bool, len(list))
	for _, value := range list {
		change, err := setting(value)
		if err != nil {
			return err
		}
		stays[change.Key] = true
		changes = append(changes, change)
	}
	s.informer.Edit(func(snapshot *indexer.Snapshot[Object]) ([]indexer.Change[Object], string) {
		for key := range snapshot.All() {
			if !stays[key] {
				changes = append(changes, indexer.Change[Object]{Key: key, Delete: true})
			}
		}
		return changes, resourceVersion
	})
	return nil
}

// Transaction implements cache.TransactionStore: readers see all that succeeds at
// once. What has no key is left out, and told of.
func (s *store) Transaction(txns ...cache.Transaction) *cache.TransactionError {
	var changes []indexer.Change[Object]
	var done []int
	var failures []error
	var last any
	for k, txn := range txns {
		change, err := setting(txn.Object)
		if txn.Type == cache.TransactionTypeDelete {
			change = indexer.Change[Object]{Delete: true}
			change.Key, err = keyOf(txn.Object)
		}
		if err != nil {
			failures = append(failures, err)
			continue
		}
		changes, done, last = append(changes, change), append(done, k), txn.Object
	}
	if len(changes) > 0 {
		s.write(changes, last)
	}
	if len(failures) > 0 {
		return &cache.TransactionError{SuccessfulIndices: done, TotalTransactions: len(txns), Errors: failures}
	}
	return nil
}

// setting is the change that puts a value where its key says.
func setting(value any) (indexer.Change[Object], error) {
	key, err := keyOf(value)
	if err != nil {
		return indexer.Change[Object]{}, err
	}
	obj, err := wrap(value)
	if err != nil {
		return indexer.Change[Object]{}, cache.KeyError{Obj: value, Err: err}
	}
	return indexer.Change[Object]{Key: key, Object: obj}, nil
}

// write makes changes, of which the last is of value. The collection then is at the
// resourceVersion of that, if it has one.
func (s *store) write(changes []indexer.Change[Object], value any) {
	s.informer.Edit(func(snapshot *indexer.Snapshot[Object]) ([]indexer.Change[Object], string) {
		if obj, err := wrap(value); err == nil && obj.GetResourceVersion() != "" {
			return changes, obj.GetResourceVersion()
		}
		return changes, snapshot.ResourceVersion()
	})
}
