package deltafifo

import "strconv"

// DeltaType says what happened to a key, or to the whole collection.
type DeltaType uint8

const (
	// Added: the key was not in the collection and now holds Object.
	Added DeltaType = iota + 1
	// Updated: the key now holds Object, and held something before.
	Updated
	// Deleted: the key is no longer in the collection; Object is the last state
	// that the server sent.
	Deleted
	// Replaced: the collection now is exactly Replacement. Key and Object are
	// not set.
	Replaced
	// Bookmark: nothing changed up to ResourceVersion. Key and Object are not set.
	Bookmark
	// Resync: the consumer is to go once more over all that it holds at this place
	// of the stream. It changes nothing. Key and Object are not set.
	Resync
)

var typeNames = [...]string{
	Added: "Added", Updated: "Updated", Deleted: "Deleted",
	Replaced: "Replaced", Bookmark: "Bookmark", Resync: "Resync",
}

// String returns the type's name, or its number if it has none.
func (t DeltaType) String() string {
	if t == 0 || int(t) >= len(typeNames) {
		return "DeltaType(" + strconv.Itoa(int(t)) + ")"
	}
	return typeNames[t]
}

// Delta is one change. It is a plain value; what Object and Replacement refer to
// is shared and must not be changed.
type Delta[T any] struct {
	Type DeltaType
	// Merged says that an Added, Updated or Deleted stands for other deltas of the
	// key as well, whose objects the consumer will not see.
	Merged bool
	Key    string
	// Object is the state after the change; for Deleted the last state the
	// server sent.
	Object T
	// ResourceVersion is that of the collection after this delta. A Resync has
	// that of the delta told before it, "" if none was.
	ResourceVersion string
	// Replacement is set for Replaced only.
	Replacement *Replacement[T]
}

// Item is one member of a replacement.
type Item[T any] struct {
	Key    string
	Object T
}

// Replacement is a whole collection at one resourceVersion. Of items with the
// same key the last wins.
type Replacement[T any] struct {
	Items           []Item[T]
	ResourceVersion string
	// Vanished says that there is no such collection any more: Items is empty, but
	// not because the server said so of a collection that it has.
	Vanished bool
	// Rewound says that the server's history went back since what was told before:
	// versions may have been given again, so that an item may be another one than
	// what the consumer holds in the same version.
	Rewound bool
}
