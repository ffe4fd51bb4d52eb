package informertest

// Rule names one promise of package informer that a trace can break.
type Rule string

// Rules.
const (
	// Ghost: an object was told that never was in the collection: no such UID
	// and resourceVersion under that key.
	Ghost Rule = "ghost"
	// WrongContent: the state has the resourceVersion of another one.
	WrongContent Rule = "wrong content"
	// Resurrection: a state was told after the deletion that ended it was.
	Resurrection Rule = "resurrection"
	// DuplicateAdd: an object was added that the handler had already.
	DuplicateAdd Rule = "duplicate add"
	// Unknown: an object was updated or deleted that the handler did not have.
	Unknown Rule = "unknown object"
	// WrongOld: the old object of an update is not the object of the call before.
	WrongOld Rule = "wrong old object"
	// MixedLives: an update or delete is about another UID than the add was.
	MixedLives Rule = "two objects in one life"
	// Backwards: an older state was told after a newer one.
	Backwards Rule = "order"
	// Repeated: an update changes nothing.
	Repeated Rule = "update without a change"
	// FalseDelete: a delete was told of an object that was not deleted.
	FalseDelete Rule = "false delete"
	// WrongLast: the last state of a deleted object is not the one promised.
	WrongLast Rule = "wrong last object"
	// EarlySync: the handler was said to be in sync before it had been told all
	// initial adds, or twice.
	EarlySync Rule = "sync too early"
	// WrongInitial: an add before the sync was not marked as initial, or one
	// after it was.
	WrongInitial Rule = "initial mark"
	// Lost: when everything was said to have been told, something was not.
	Lost Rule = "lost"
	// WrongSnapshot: a snapshot is not the collection at its resourceVersion.
	WrongSnapshot Rule = "snapshot"
	// SnapshotBack: a reader was taken back to an older snapshot.
	SnapshotBack Rule = "snapshot went back"
	// SnapshotLate: a handler was told something that the snapshot did not have.
	SnapshotLate Rule = "snapshot behind the handler"
	// OutOfHistory: a resourceVersion before the history begins, or after its
	// end: the server has not said so, or the history was not recorded far enough.
	OutOfHistory Rule = "outside the history"
	// Torn: snapshots of several informers that are said to be of one moment are
	// not, as others show that were taken together.
	Torn Rule = "torn moment"
)
