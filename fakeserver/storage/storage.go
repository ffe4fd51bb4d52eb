package storage

import "context"

// KeyValue is one version of one key. It is immutable once it was stored,
// Value included: readers share it.
type KeyValue struct {
	Key   string
	Value []byte
	// CreateRevision is the revision at which the key last came into being.
	CreateRevision int64
	// ModRevision is the revision of this version.
	ModRevision int64
}

// EventType says what an Event is about.
type EventType uint8

// Types of events.
const (
	// Put is the creation (Prev is nil) or the update of a key.
	Put EventType = iota + 1
	// Delete is the deletion of a key.
	Delete
	// Progress carries no change, only the newest revision in KV.ModRevision.
	Progress
)

// String names the type.
func (t EventType) String() string {
	switch t {
	case Put:
		return "Put"
	case Delete:
		return "Delete"
	case Progress:
		return "Progress"
	default:
		return "Unknown"
	}
}

// Event is one change, immutable.
type Event struct {
	Type EventType
	// KV is the new version. Of a Delete: the last version, but with ModRevision
	// the revision of the deletion. Of Progress: only ModRevision is set.
	KV KeyValue
	// Prev is the version that was replaced or deleted; nil for a creation.
	Prev *KeyValue
}

// Store keeps keys under revisions. See the package comment for its promises.
type Store interface {
	// CurrentRevision is the newest revision of the whole store.
	CurrentRevision(ctx context.Context) (int64, error)
	// Get returns the version of key at revision, 0 meaning the newest.
	// Errors: ErrNotFound, ErrCompacted, ErrFutureRevision.
	Get(ctx context.Context, key string, revision int64) (KeyValue, error)
	// List returns the keys under prefix in key order.
	// Errors: ErrCompacted, ErrFutureRevision.
	List(ctx context.Context, prefix string, opts ListOptions) (ListResult, error)
	// Create stores a key that must not exist. Errors: ErrExists.
	Create(ctx context.Context, key string, value []byte) (KeyValue, error)
	// Update replaces the version of key whose ModRevision is expected.
	// Errors: ErrNotFound, ErrConflict.
	Update(ctx context.Context, key string, value []byte, expected int64) (KeyValue, error)
	// Delete removes the key if its ModRevision is expected, and returns its last
	// version with ModRevision the deletion's revision. Errors: ErrNotFound,
	// ErrConflict.
	Delete(ctx context.Context, key string, expected int64) (KeyValue, error)
	// Watch delivers the events under prefix whose revision is greater than
	// opts.Revision, which may be in the future. Errors: ErrCompacted.
	Watch(ctx context.Context, prefix string, opts WatchOptions) (Watch, error)
	// Compact forgets the history before revision: reads at and watches from an
	// older one fail from now on. Errors: ErrCompacted, if revision itself was
	// forgotten already, ErrFutureRevision.
	Compact(ctx context.Context, revision int64) error
}

// ListOptions select what List returns. The zero value asks for everything at
// the newest revision.
type ListOptions struct {
	// Revision to read at; 0 is the newest.
	Revision int64
	// Limit bounds the number of keys returned; 0 is no bound.
	Limit int64
	// From is the first key to return, if it is greater than the prefix.
	From string
}

// ListResult is the answer of List.
type ListResult struct {
	KVs []KeyValue
	// Revision at which the store was read.
	Revision int64
	// More says that Limit cut off further keys.
	More bool
	// Count is the number of keys from ListOptions.From on, whatever the limit.
	Count int64
}

// WatchOptions say where a Watch starts.
type WatchOptions struct {
	// Revision is the last revision that the caller already knows: events after
	// it are delivered.
	Revision int64
}

// Watch is an open stream of events.
type Watch interface {
	// Next waits for events and returns at least one. Errors: ctx's error,
	// ErrClosed after Close (of the watch or of the store), ErrCompacted if the
	// store forgot what comes next. After ErrClosed and ErrCompacted it only fails.
	Next(ctx context.Context) ([]Event, error)
	// RequestProgress asks for one Progress event, which Next delivers after
	// all events of this watch that precede it. It does not wait.
	RequestProgress()
	// Close ends the watch. It may be called again.
	Close()
}
