package indexer

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
)

// failures are the index errors that stand. The writer changes them, anybody
// reads them.
type failures struct {
	fresh []*IndexError // the writer's: not reported yet

	count atomic.Int64 // len(byPlace), to make the usual case cheap
	mu    sync.Mutex   // guards byPlace
	// Invariant: an error stands here while its object is missing from its index.
	byPlace map[failurePlace]*IndexError
}

type failurePlace struct{ index, key string }

func (f *failures) add(e *IndexError) {
	f.fresh = append(f.fresh, e)
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.byPlace == nil {
		f.byPlace = make(map[failurePlace]*IndexError)
	}
	f.byPlace[failurePlace{e.Index, e.Key}] = e
	f.count.Store(int64(len(f.byPlace)))
}

func (f *failures) remove(index, key string) {
	if f.count.Load() == 0 {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.byPlace, failurePlace{index, key})
	f.count.Store(int64(len(f.byPlace)))
}

// takeFresh returns the errors since the last call.
func (f *failures) takeFresh() []*IndexError {
	fresh := f.fresh
	f.fresh = nil
	return fresh
}

// all returns the errors that stand, by index, then key.
func (f *failures) all() []*IndexError {
	f.mu.Lock()
	errs := slices.Collect(maps.Values(f.byPlace))
	f.mu.Unlock()
	slices.SortFunc(errs, func(a, b *IndexError) int {
		return cmp.Or(cmp.Compare(a.Index, b.Index), cmp.Compare(a.Key, b.Key))
	})
	return errs
}
