// Package storage is etcd's model over bytes: one revision counter for all
// keys, history until it is compacted, reads of any revision in the history,
// writes that compare and swap, and watches that start at any revision in the
// history.
//
// Keys look like "/pods/default/a" or "/nodes/n1"; the first segment names a
// resource. A prefix ends in "/".
//
// # Promises
//
// Revisions start at 1 on an empty store and every successful write adds
// exactly 1; a failed write adds nothing. A watch delivers every event under
// its prefix once, in the order of revisions, without holes, or fails. A
// progress event says that everything up to its revision was delivered before
// it. A List is the content of the store at exactly the revision that it names.
//
// All methods of a Store may be called concurrently. A Watch is used by one
// goroutine at a time, except RequestProgress and Close, which anybody may call.
//
// Memory compacts by itself what is older than five minutes, as kube-apiserver
// makes etcd do, or what MemoryOptions say; Compacted tells how far it got. Restored
// makes another one of what it was at a revision, as from a backup.
//
// # Not promised
//
// Leases, transactions over several keys, and a bound on how long one Watch may
// lag: Memory keeps what an open Watch has not read yet, also when it was
// compacted.
//
// # Goroutines
//
// None. Memory's watches read from a shared log in the goroutine that calls
// Next.
package storage
