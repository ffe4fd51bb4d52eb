package indexer

import (
	"errors"
	"fmt"
)

var (
	// ErrUnknownIndex is wrapped when an index is asked for that was not added.
	ErrUnknownIndex = errors.New("indexer: unknown index")

	// ErrIndexExists is wrapped by AddIndex for a name that is taken.
	ErrIndexExists = errors.New("indexer: index exists already")

	// ErrInvalidIndex is wrapped for an index without a name or a function.
	ErrInvalidIndex = errors.New("indexer: invalid index")
)

// IndexError says that an index function panicked for one object, which is
// therefore missing from that index until it changes.
type IndexError struct {
	Index string // name of the index
	Key   string // key of the object
	Panic any    // what the function panicked with
}

// Error names the index, the key and the panic.
func (e *IndexError) Error() string {
	return fmt.Sprintf("indexer: function of index %q panicked for %q: %v", e.Index, e.Key, e.Panic)
}

// Unwrap returns the panic's value if it is an error, else nil.
func (e *IndexError) Unwrap() error {
	err, _ := e.Panic.(error)
	return err
}
