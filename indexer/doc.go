// Package indexer is the cache: one writer applies batches of changes and
// publishes an immutable Snapshot for each; readers take the newest one without a
// lock and keep it for as long as they like.
//
// # Reading
//
// A Snapshot answers by key (Get), in key order (All, Namespace, Prefix, Range,
// and Keys and List, which copy), and by the values of its indexes (ByIndex,
// IndexLen, IndexValues; ByIndexes for several at once). Differences tells what
// became of another snapshot.
//
// # Indexes
//
// An index is a function that says under which values an object is to be found.
// It is either known by a name, with strings for values (Options.Indexes,
// AddIndex), or an Index, a Go value with values of any comparable type, which
// needs neither names nor conversions:
//
//	var byOwner = indexer.NewIndex("owner", func(p *corev1.Pod) []types.UID { … })
//	…
//	for key, pod := range byOwner.Objects(snapshot, uid) { … }
//
// Indexes can be added while there are objects and readers. Those whose values are
// strings can be asked by name, too, however they were made.
//
// # Watching
//
// Indexer.Watch gives a channel that is closed when the answer to a query (Key,
// Prefix, Namespace, a Term made by Is) is no longer what it was in a snapshot:
//
//	for {
//		s := x.Snapshot()
//		// … use s.ByIndex("node", "n1") …
//		w, err := x.Watch(s, indexer.Is("node", "n1"))
//		// … wait for w.Changed() or give up, then w.Stop()
//	}
//
// # Promises
//
// A Snapshot never changes: not its answers, not their order. Reading from one
// takes no lock and delays nobody. A reader that takes snapshots one after the
// other sees them in the order in which they were published, and never half of a
// batch.
//
// All, Namespace, Prefix, Range, ByIndex and ByIndexes yield in key order and copy
// nothing.
//
// An index has exactly the objects of its snapshot under exactly the values that
// its function returned for them. What an object was posted under is remembered,
// so nothing stale stays after an update, a delete or a Replace, even if the
// function's answer changes.
//
// An index function that panics or returns an error costs its object its place in
// this index, and nothing else. Options.OnError and Errors tell.
//
// An index function that ends its goroutine (runtime.Goexit, as t.FailNow does)
// costs the write that called it, and nothing else: that changes and publishes
// nothing, and the next one begins with the newest snapshot. If it happens on
// behalf of watches, which is after publication, all of them are closed.
//
// Replace builds the new collection beside the old one and swaps once.
//
// No change is missed between looking at a snapshot and watching it. A watch is
// closed for a change of its answer and, but for what was just said, for nothing
// else, after the snapshot with the change was published.
//
// # Not promised
//
// That objects are copied: they are shared by all snapshots and readers, and must
// not be changed. That resourceVersions rise: they are what the writer says. That
// a key has the form "namespace/name": only Namespace cares. That a watcher sees
// every change: it sees that there was one.
//
// # How it works
//
//	state (the writer's)               Snapshot (a few words)
//	  objects  key → id → object   ─┐
//	  order    ids by key           ├─▶ the same nodes
//	  indexes  value → ids by key  ─┘
//
// Every key has a small number, its id, while it is there. Orders and indexes
// hold ids, four bytes each and no pointers, so an update that moves nothing
// between index values, by far the most frequent change, touches the object's
// slot only, however many indexes there are. All structures are trees whose nodes
// are shared between snapshots; the writer copies a node before it changes it,
// once per batch (array.go, idtree.go; table.go puts a hash map on top). What no
// snapshot looks at, the places of ids that were never used, it writes at once.
// So the newest snapshot is all that is needed to go back to it, when a batch is
// given up half-way (turn.go): that takes as long as looking at everything.
// cursor.go walks along the objects in order. differences.go finds what two
// snapshots do not share; watches are found by what it says.
//
// # Costs
//
// With a node index on 10,000 to 100,000 objects, beside client-go's store in the
// same run (module bench), in CPU time: a Get takes less, Replace, Namespace, ByIndex
// and List a third to a fifth, All a fifteenth. Writers delay no reader, nor the
// other way round. That is paid for by single changes: an update takes twice as
// long (600 B in five nodes), a move to another index value four times (1.8 KB), an
// add or a delete six to eight times (2.9 KB, in some twenty nodes); half of that
// is collecting garbage. Batches share the nodes: from some tens of changes on they
// take as long as client-go.
//
// Beside the objects and their keys an object takes some 50 B, and in each index
// with one value 13. An old snapshot costs as much memory as it differs from the
// newest.
//
// # Concurrency
//
// All methods may be called concurrently; writers take turns. Index functions run
// in the writer's goroutine, while other writers wait and readers do not.
// Goroutines: none.
package indexer
