package indexer

import (
	"errors"
	"fmt"
)

var (
	// ErrUnknownIndex is wrapped when an index is asked for that was not added.
	ErrUnknownIndex = errors.New("indexer: unknown index")

	// ErrIndexExists is wrapped by New, AddIndex and Define for a name that is
	// taken.
	ErrIndexExists = errors.New("indexer: index exists already")

	// ErrInvalidIndex is wrapped for an index without a name or a function.
	ErrInvalidIndex = errors.New("indexer: invalid index")
)

// IndexError says that an index function failed or panicked for one object, which
// is therefore missing from that index until it changes.
type IndexError struct {
	Index string // name of the index
	Key   string // key of the object
	Err   error  // what the function returned; nil if it panicked
	Panic any    // what the function panicked with; nil if it did not
}

// Error names the index, the key, and what happened.
func (e *IndexError) Error() string {
	if e.Err != nil {
		return fmt.Sprintf("indexer: function of index %q failed for %q: %v", e.Index, e.Key, e.Err)
	}
	return fmt.Sprintf("indexer: function of index %q panicked for %q: %v", e.Index, e.Key, e.Panic)
}

// Unwrap returns the function's error, or the panic's value if that is an error,
// else nil.
func (e *IndexError) Unwrap() error {
	if e.Err != nil {
		return e.Err
	}
	err, _ := e.Panic.(error)
	return err
}
