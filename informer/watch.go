package informer

import (
	"fmt"

	"github.com/listwatch/listwatch/indexer"
)

// Define is AddIndex for an index that is known by a Go value: its values can be
// of any type, and its function may fail. Errors wrap indexer.ErrInvalidIndex or
// indexer.ErrIndexExists.
func (i *Informer[T]) Define(index indexer.Definition[T]) error {
	i.writing <- struct{}{}
	defer func() { <-i.writing }()
	// Deferred, for the case that a function of an index ends the goroutine after
	// the index was added.
	defer func() {
		state := *i.state.Load()
		state.snapshot = i.index.Snapshot()
		i.state.Store(&state)
	}()
	if err := i.index.Define(index); err != nil {
		return fmt.Errorf("informer %q: %w", i.name, err)
	}
	return nil
}

// Watch watches the answers to queries, for a consumer that wants to know that
// something it has read is out of date, and not each change as a Handler does. The
// channel of the Watch is closed as soon as one of the answers is no longer what
// it is in since, a Snapshot of this Informer, be it in a run that has not begun
// yet; Snapshot has the change by then. See Watch of package indexer. Errors wrap
// indexer.ErrUnknownIndex, or are ErrInvalidOptions if since is nil.
func (i *Informer[T]) Watch(since *indexer.Snapshot[T], queries ...indexer.Query) (*indexer.Watch, error) {
	if since == nil {
		return nil, fmt.Errorf("informer %q: %w: watch since a nil snapshot", i.name, ErrInvalidOptions)
	}
	w, err := i.index.Watch(since, queries...)
	if err != nil {
		return nil, fmt.Errorf("informer %q: %w", i.name, err)
	}
	return w, nil
}
