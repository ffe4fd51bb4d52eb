// Package informer keeps a cache of one collection of API objects and tells
// handlers what changes in it.
//
//	source ─▶ reflector ─▶ deltafifo ─▶ apply loop ─▶ indexer ─▶ Snapshot
//	          lists and     in order,    the only      └▶ notice log ─▶ cursor ─▶ handler
//	          watches       never full   writer                      ─▶ cursor ─▶ handler
//
// # Usage
//
//	pods, err := informer.New(source, informer.Options[*corev1.Pod]{Name: "pods"})
//	pods.AddHandler(informer.HandlerFuncs[*corev1.Pod]{AddFunc: func(pod *corev1.Pod, initial bool) { … }})
//	go pods.Run(ctx)                        // returns when everything has ended
//	if err := pods.WaitForSync(ctx); err != nil { … } // says what keeps it
//	pod, found := pods.Snapshot().Get("default/web")
//
// Read through Snapshot: it is immutable, needs no lock and never waits, and all
// reads from one Snapshot belong to one moment. After a write, WaitFor with the
// resourceVersion that the server returned makes the write visible. Watch gives a
// channel that is closed when the answer to a query is no longer what it was.
//
// Start with these: New, NewMapped to cache something smaller, NewJoined for several
// namespaces, NewJoinedMapped for both; AddHandler or Events; WaitForSync with
// FailFast; an Overlay to read one's own writes; Explain and StatusHandler when
// something is not as expected.
//
// # What is promised
//
// Prefix: every Snapshot equals the server's collection (after selector and
// transform) at the snapshot's resourceVersion, as far as the server said so.
//
// Order: a handler is called one call at a time, in the order of the stream, and
// for each key with a legal history: add, updates that continue each other,
// delete; one UID from add to delete. There is no order between handlers.
//
// Snapshot first: what a handler is told is in the Snapshot already.
//
// Once: the transform runs exactly once for each object received, whether it
// changes the object, makes one of another type of it (NewMapped), or drops it
// (ErrDrop). An object that it fails for is reported in Status, keeps its last
// good version in the cache, and takes nothing else with it.
//
// Late handlers: a handler may be added at any time, also from a handler. It
// gets the snapshot of that moment as initial adds, then everything after it.
//
// # Handlers
//
// A handler is told every change, or what its options ask for. WithFilter shows it
// a part of the collection, with adds and deletes of what enters and leaves it;
// WithPredicates spares it updates of no interest. WithResync has it go over all
// that it knows now and then, in order with the changes. WithLatestOnly tells it
// what became of each object instead of every version, so that a slow handler is
// told of now and keeps no more than a version or two of each object alive.
// Events is for code that would rather loop than be called.
//
// A Registration says how far its handler is: Depth in calls, ResourceVersion in
// versions of the collection, WaitFor to wait for one. Remove ends it, also from
// inside a call, Close waits for the end. A call that does not return for 30
// seconds (WithSlowAfter), or a handler that stays more than 1,024 calls behind,
// is logged with the place where the handler was registered.
//
// # What is not promised
//
// That handlers see every version: a slow connection or a busy cache may skip
// some (see package deltafifo), never the last one of an object, nor its end.
// That a slow handler is waited for: what it has not been told is kept, once for
// all handlers, and its Depth tells how much that is; without WithLatestOnly it has
// no bound. That objects are copies: they are shared, and must not be modified.
//
// That a server whose history went back (etcd restored from a backup) is noticed at
// once: a list shows it, and a watch that is silent after a lost connection has the
// server asked (reflector.Options.ProbeAfter), ten to twenty seconds later, or at once
// if nobody was there to answer for a while. Until then, and
// for good if the server has passed the old version again before something is heard of
// it, the cache stays as it is.
//
// # How changes are recognised
//
// A complete list (the first, and any relist) is compared with the cache. Same
// UID and resourceVersion: the cached object stays and nobody is told, unless the
// list is older than the cache, or the server was found to have gone back: then the
// version may have been given again. Same key and another UID: delete of the old
// object (Exact false), then add of the new; with Options.NewUIDUpdates that is an
// update, as any other. Missing: delete (Exact false). Events are not compared, but
// an ADDED for a known key is an update, and another UID is delete, then add, as
// above. A DELETED event is a delete with the object that the server sent (Exact
// true); so is an event of an object that the transform drops, with the cached
// object, and Exact unless versions between the two were merged.
// Objects without a UID count as the same, objects without a resourceVersion as
// changed: that is the price of a transform that removes either. One that makes
// it another, or changes the name, fails for that object.
//
// # Other than client-go's informer
//
// conformance/differential compares the two. Besides what package reflector
// says, deliberately,
//
//   - a relist tells nobody of unchanged objects, unless the server's history
//     went back, which is noticed: then all of them count as changed;
//   - the transform runs once for an object of a watch-list too, and an object
//     that it fails for does not keep the others out;
//   - an index function that fails or panics costs its object its place in that
//     index, and nothing else;
//   - another UID under one key is a delete and an add, and a DELETED event with
//     another UID than the cached object's is a delete of that one, not exact;
//   - what comes with a delete is the last state, with its type, and whether its
//     end was seen (Deleted), not either that or a tombstone;
//   - a deletion of an object that a handler was not told of is not told either;
//   - a slow handler costs one log that all handlers share instead of a buffer of
//     its own, or with WithLatestOnly memory that has a bound;
//   - a handler has the resync period that it asks for, whatever the others have,
//     a period below a second is refused, and a relist does not put a resync off;
//   - WaitForSync returns an error that says what is wrong, not false;
//   - the snapshot's version goes back only with a list;
//   - Run may be called again.
//
// # Reading one's own writes
//
// WaitFor waits until a write can be read from the cache. An Overlay does not wait:
// given what the server answered, it shows the newest of that and the snapshot, and
// forgets it when the snapshot has caught up.
//
// # Several parts
//
// NewJoined makes one Informer of several namespaces or selectors. Each part
// resumes from its own resourceVersion, and what happens to it moves no other's.
// The prefix promise then holds for each part: a Snapshot has of every part what
// that had at some resourceVersion not before the snapshot's, which is the oldest
// of the parts', and of an object that several have the newest version. A key
// that left does not come back in an older version because a part lags behind.
// If one part is told that the server's history went back, the others are listed
// again: a quiet one may never see that by itself.
//
// # Start, stop, start again
//
// Run ends when its context does: what was received is applied, calls in progress
// are waited for, and nothing is left running. The cache stays readable, though
// no longer in sync, and each handler keeps its place. Another Run lists anew
// and tells handlers the differences, after what they had not been told before;
// nothing is told twice. A handler's Synced is not taken back.
//
// Edit writes to the cache without a server, for tests and adapters.
//
// Code that shares an Informer with others it does not know holds a Lease instead:
// the first Acquire starts a run, the last Release ends it.
//
// # A resource that comes and goes
//
// With reflector.Options.Absence an Informer waits for a resource that does not
// exist. If it goes, the objects leave with deletes (Exact false), the Informer is
// no longer in sync, Status says reflector.Absent, and WaitForSync waits, or says
// so; when it is back its objects are adds. Package factory knows when the
// CustomResourceDefinition of a resource comes.
//
// # Several Informers
//
// The function WaitForSync waits for all of them, and Together takes a Snapshot of
// each, all at one moment. Package factory makes, shares and runs Informers of many
// kinds.
//
// # When it does not work
//
// WaitForSync says in its error what keeps an Informer: the phase, the number of
// tries, the last answer of the server, and the permission or resource that is
// missing. With a context of FailFast it does so at once where only a person can
// help (401, 403, 404), instead of hoping until the context ends.
//
// Status has all that is known of an Informer: its connection with the last
// interruptions, the cache, what waits for it, each handler. Explain says why one
// object is in the cache or not. StatusHandler serves both over HTTP, as JSON or as
// a page, and package informermetrics has metrics for Prometheus. All of it looks
// when it is asked; changes do not pay for it.
//
// Options.DetectMutations finds code that modifies objects of the cache, at the
// cost of a copy of all objects: for tests.
//
// # Panics
//
// A panic in a handler is logged and raised again, which ends the process, as
// with client-go: a controller that lost a change silently is worse than one that
// restarts. A program that sets utilruntime.ReallyCrash to false takes the
// blame: the call counts as made, and the next follows. WithPanicPolicy lets a
// handler choose that, or its own removal. A handler that ends its goroutine with
// runtime.Goexit, as FailNow of package testing does, goes on in another one: that is
// logged and counted as a panic, and Status.Trouble tells. A panic of the transform
// is an error about one object, and so is one of an index function. A transform, an
// index function or a source that ends its goroutine ends the run: Run returns
// ErrExited, which names it, and another Run lists anew and loses nothing.
//
// # Concurrency
//
// All methods of Informer and Registration may be called from anywhere, handlers
// included, but for those that wait for handlers (see Handler). No lock is held while
// something foreign is called; an index function must not call AddIndex.
//
// Goroutines: 2 + handlers while Run runs (the reflector, the apply loop, and one for
// each handler), besides the caller of Run, which waits (one more if a Lease started
// it), and what the source needs; of a joined Informer one for the reflector of each
// part. None before and after. Events needs none. One timer,
// while a handler is called or wants a resync; what it starts is over when Run
// returns.
package informer
