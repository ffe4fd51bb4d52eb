// Package deltafifo is the queue between the reflector, which must never wait,
// and the one loop that applies changes to a cache.
//
// # Usage
//
// One producer calls Add, Update, Delete, Replace and Bookmark in the order in
// which the server told them, and Resync when one is due; one consumer calls Pop
// in a loop, handing back the slice of the previous batch so that it is filled
// again:
//
//	var batch []deltafifo.Delta[T]
//	for {
//		batch, err = queue.Pop(ctx, batch)
//		if err != nil { … }
//		apply(batch) // then publish once
//	}
//
// A consumer treats Added and Updated alike as "the key now holds this
// object", ignores the Deleted of a key that it does not hold, and takes
// Replaced as the whole collection: what it holds and the replacement does not
// is gone. A replacement of Vanish says that the collection itself is gone, one of
// Rewind that no version may be taken for the one of that number that it holds. A
// Resync asks it to go once more over what it holds at that place of the batch,
// for instance to tell its handlers again.
//
// # Promises
//
// Prefix: after a batch was applied whole, the consumer's state is the
// collection at the resourceVersion of the batch's last delta. That is not so
// in the middle of a batch, because deltas may have been merged: publish once
// per batch.
//
// Order: deltas keep stream order, so resourceVersions never go back within a
// batch or from one to the next while the server's do not. A merged delta
// stands where its newest part stood. Deletes that were kept in front of a
// replacement stand in the order in which they were first told.
//
// Bound: while fewer than Options.MaxPending deltas wait nothing is merged.
// From there on the deltas of one key are merged whenever the queue has doubled
// since the last time, so that it holds at most
//
//	max(MaxPending, 2 × (3 × keys + 3))
//
// deltas, where keys counts the distinct keys told since the last Pop. One
// replacement, whatever its size, is one delta, and at most one waits.
//
// No call but Pop waits for anything, and a steady state of pushing and popping
// makes no garbage.
//
// # Merge rules
//
// By key, older + newer, until a replacement (nothing is merged across one):
//
//	older            newer    result   object of
//	Added            Added    Added    newer
//	Added            Updated  Added    newer
//	Added            Deleted  Deleted  newer (a)
//	Updated          Added    Updated  newer
//	Updated          Updated  Updated  newer
//	Updated          Deleted  Deleted  newer
//	Deleted          Deleted  Deleted  newer
//	Deleted          Added    both     each its own (b)
//	Deleted          Updated  both     each its own, the newer as Added (b)
//	Deleted, Added   Updated  both     the Added takes the newer
//	Deleted, Added   Deleted  Deleted  older Deleted (c)
//	any              Replaced dropped, but one Deleted is kept per key (d)
//	Bookmark         any      dropped
//	Resync           Resync   the older; deltas of a key merge across it (e)
//	Resync           Replaced both
//
// What stands for others of its key is marked as Merged, also if a replacement had
// those dropped.
//
// (a) Not dropped: a server may say ADDED of a key that the consumer already
// holds, and then dropping both would leave it there for ever.
// (b) Never an update: it is another object that happens to have the same name.
// (c) The consumer never heard of the object in between, it knows the first.
// (d) So a delete that was told stays told, with its exact last state, even if
// the replacement holds the key again (kubernetes#83810). Where a replacement
// that was never popped stood in between, the Deleted may be about an object that
// the consumer never saw: compare UIDs.
// (e) The resync that waits is also the one that is due now. What merges across
// it is not seen by the resync and comes after it.
//
// # Not promised
//
// That every version of an object is seen: a slow consumer gets the newest. That
// a key which was missing only from a replacement that was itself replaced
// before it was popped is seen as deleted. That objects are copied: they are
// shared, and immutable.
//
// # Concurrency
//
// All methods may be called concurrently; with more than one producer or
// consumer the order between them is theirs to settle. No lock is held while
// waiting or signalling. Goroutines: none.
package deltafifo
