package storage

import (
	"errors"
	"fmt"
)

var (
	// ErrNotFound: the key does not exist at the revision asked for.
	ErrNotFound = errors.New("key not found")
	// ErrExists: a Create found the key already there.
	ErrExists = errors.New("key exists")
	// ErrConflict: the key's ModRevision is not the one that the write expects.
	ErrConflict = errors.New("revision conflict")
	// ErrCompacted: the revision asked for was forgotten.
	ErrCompacted = errors.New("revision has been compacted")
	// ErrFutureRevision: the revision asked for does not exist yet.
	ErrFutureRevision = errors.New("revision is in the future")
	// ErrClosed: the store or the watch was closed.
	ErrClosed = errors.New("closed")
)

// keyError wraps err with the key that it is about.
func keyError(key string, err error) error { return fmt.Errorf("storage: %q: %w", key, err) }

// revisionError wraps err with the revision that it is about.
func revisionError(revision int64, err error) error {
	return fmt.Errorf("storage: revision %d: %w", revision, err)
}
