// Package cacher serves the reads and watches of one resource out of memory,
// with the semantics of kube-apiserver's watch cache.
//
// One feed follows the store and appends every change to a window, a ring that
// all watchers read from, and to a tree, the state of the collection. A list
// reads a copy of that, which shares its nodes until the feed writes, or one at an
// earlier version, made by undoing changes; a watcher is a cursor into the window.
//
//	feed.go        follows the store; open.go the list and watch it begins with
//	cacher.go      how a change enters; Close, DropWatches, Compacted
//	window.go      the ring of changes; capacity.go its size
//	state.go       the collection at one revision; snapshot.go at any in the window;
//	               triggerindex.go its keys by the trigger field
//	dispatch.go    which watchers see a change, and which are too slow; labelindex.go
//	               how those with a selector are found; budget.go
//	               how long they may be slow
//	watcher.go     the cursor; handful.go what it takes ahead; initial.go and bookmarks.go what else it delivers
//	freshness.go   waiting for a resource version; readiness.go for the cache
//	route.go       what serves a request (pure); list.go, get.go, watch.go do it
//	flight.go      what several readers ask the store, once
//	checker.go     compares cache and store now and then
//	shard.go       parts of a collection by hash
//	metrics.go     what is measured
//
// # Promises
//
// A watcher delivers, after its initial events, the changes visible through its
// predicate, each once, in order, without holes, until it ends; what was
// delivered is always a prefix of that. It never waits for another watcher, and
// the feed waits for none. A bookmark's resource version is never less than one
// delivered before, and all visible changes up to it were delivered before it.
// A consistent list is not older than the store was when the request began.
//
// Nothing polls: an idle Cacher does nothing, and an idle watcher with bookmarks
// wakes once per bookmark.
//
// # Not promised
//
// That a watcher lasts: one that is too slow, or is overtaken by the window, or
// lives when the feed has to start over (its place in the store's history was
// compacted, or that history went back), ends with io.EOF, and its client
// resumes. A feed that only loses its watch resumes by itself.
//
// That a store whose history went back is noticed at once: it is, when a
// consistent read, an event or a progress notification names a lower revision
// than was seen before. One that has reached that again until then is not.
// Bookmarks only come while somebody waits in Next.
//
// # Concurrency
//
// One mutex per Cacher. Nobody holds it while calling the store, decoding,
// encoding, waiting or sending; predicates are evaluated under it. A Watcher's
// Next and Pending are called by one goroutine at a time.
//
// # Goroutines
//
// One per Cacher, the feed; another one with Options.CheckPeriod; while reads wait
// for a resource version one that asks the store how far it is; and short-lived
// ones, one each time that an idle window shrinks, for which Close waits, too, and
// one each time that a bookmark is due, which only wakes its watcher.
// None per watcher or request.
package cacher
