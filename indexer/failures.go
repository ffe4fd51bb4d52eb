package indexer

import (
	"cmp"
	"maps"
	"slices"
	"sync"
)

// failures are the index errors that stand. Those of the batch in progress are
// kept apart until it is published, so that it can be given up.
type failures struct {
	// The writer's alone: what the batch in progress changes, nil for an error that
	// goes; and its errors in the order in which they came.
	pending map[failurePlace]*IndexError
	fresh   []*IndexError

	mu sync.Mutex // held to write byPlace, and to read it for all but the writer
	// Invariant: an error stands here while its object is missing from its index
	// in the newest snapshot.
	byPlace map[failurePlace]*IndexError
}

type failurePlace struct{ index, key string }

func (f *failures) add(e *IndexError) {
	f.fresh = append(f.fresh, e)
	f.change(failurePlace{e.Index, e.Key}, e)
}

func (f *failures) remove(index, key string) {
	if len(f.byPlace) == 0 && len(f.pending) == 0 { // as good as always
		return
	}
	place := failurePlace{index, key}
	if f.byPlace[place] != nil || f.pending[place] != nil {
		f.change(place, nil)
	}
}

func (f *failures) change(place failurePlace, e *IndexError) {
	if f.pending == nil {
		f.pending = make(map[failurePlace]*IndexError)
	}
	f.pending[place] = e
}

// commit makes the changes of the batch in progress stand, and returns its errors.
func (f *failures) commit() (fresh []*IndexError) {
	fresh = f.fresh
	if len(f.pending) > 0 {
		f.mu.Lock()
		defer f.mu.Unlock()
		if f.byPlace == nil {
			f.byPlace = make(map[failurePlace]*IndexError)
		}
		for place, e := range f.pending {
			if e != nil {
				f.byPlace[place] = e
			} else {
				delete(f.byPlace, place)
			}
		}
	}
	f.pending, f.fresh = nil, nil
	return fresh
}

// rollback forgets the batch in progress.
func (f *failures) rollback() { f.pending, f.fresh = nil, nil }

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
