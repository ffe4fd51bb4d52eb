package informertest

import (
	"fmt"
	"iter"

	"github.com/listwatch/listwatch/informer"
)

// Kind says what an Entry of a trace is.
type Kind uint8

// Kinds of entries.
const (
	// AddCall, UpdateCall and DeleteCall are calls of a handler.
	AddCall Kind = iota + 1
	UpdateCall
	DeleteCall
	// SyncMark: the handler's Registration said Synced before the next call.
	SyncMark
	// SettledMark: everything up to the resourceVersion had been told.
	SettledMark
	// SnapshotRead: a Snapshot was taken from the informer.
	SnapshotRead
)

// String names the kind.
func (k Kind) String() string {
	names := [...]string{"?", "added", "updated", "deleted", "synced", "settled", "snapshot"}
	if int(k) >= len(names) {
		return names[0]
	}
	return names[k]
}

// Entry is one thing that somebody observed. A trace is a slice of them, in the
// order of the one goroutine that observed them: a handler, which may also read
// snapshots, or a reader. Recorder makes traces of handlers.
type Entry struct {
	Kind Kind
	// Key, of a call.
	Key string
	// Old is the old object of an UpdateCall.
	Old Version
	// Object is the new object, or the last state of a deleted one.
	Object Version
	// Initial, of an AddCall, and Exact, of a DeleteCall.
	Initial, Exact bool
	// ResourceVersion of a SnapshotRead (0: "", nothing was listed yet) or a
	// SettledMark.
	ResourceVersion uint64
	// Objects of a SnapshotRead, by key.
	Objects map[string]Version
}

// String is a line as in a Violation.
func (e Entry) String() string {
	switch e.Kind {
	case AddCall:
		if e.Initial {
			return fmt.Sprintf("added %s %s, initial", e.Key, e.Object)
		}
		return fmt.Sprintf("added %s %s", e.Key, e.Object)
	case UpdateCall:
		return fmt.Sprintf("updated %s %s -> %s", e.Key, e.Old, e.Object)
	case DeleteCall:
		if e.Exact {
			return fmt.Sprintf("deleted %s %s, exact", e.Key, e.Object)
		}
		return fmt.Sprintf("deleted %s %s, not exact", e.Key, e.Object)
	case SettledMark:
		return fmt.Sprintf("settled at %d", e.ResourceVersion)
	case SnapshotRead:
		return fmt.Sprintf("snapshot at %d of %d objects", e.ResourceVersion, len(e.Objects))
	default:
		return e.Kind.String()
	}
}

// isCall says whether the entry is a call of a handler.
func (e *Entry) isCall() bool { return e.Kind >= AddCall && e.Kind <= DeleteCall }

// Snapshot is what can be read at one moment: an *indexer.Snapshot, or a
// factory.ViewSnapshot.
type Snapshot[T informer.Object] interface {
	// ResourceVersion is that of the collection.
	ResourceVersion() string
	// Len is the number of objects.
	Len() int
	// All yields all keys and objects.
	All() iter.Seq2[string, T]
}

// ReadSnapshot makes the trace entry of a snapshot; content may be nil.
func ReadSnapshot[T informer.Object](snapshot Snapshot[T], content ContentFunc) Entry {
	e := Entry{Kind: SnapshotRead, ResourceVersion: number(snapshot.ResourceVersion()), Objects: make(map[string]Version, snapshot.Len())}
	for key, obj := range snapshot.All() {
		e.Objects[key] = VersionOf(obj, content)
	}
	return e
}
