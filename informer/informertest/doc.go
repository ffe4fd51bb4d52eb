// Package informertest helps to test programs that use package informer, and
// informers themselves.
//
// # Expecting calls
//
// A Recorder is a handler that remembers its calls:
//
//	var calls informertest.Recorder[*corev1.Pod]
//	_, err := calls.Attach(pods)
//	…
//	calls.Expect(t, informertest.Added("default/web"), informertest.Updated("default/web").At(version))
//	calls.ExpectExactly(t, informertest.Deleted("default/web").Exact(true))
//	calls.ExpectNone(t, server, pods)
//
// Nothing sleeps or polls: Expect wakes up with each call, and ExpectNone waits
// with Quiesce until server, wire, cache and handlers are at one
// resourceVersion, after which nothing can come. Works with package testing
// and with ginkgo (pass GinkgoT()), and inside testing/synctest bubbles.
//
// # Proving a run legal
//
// Verify compares what a handler was told and what a reader read, a trace, with
// what happened on the server, a History, and returns a *Violation with the
// shortest counter-example unless the trace keeps the promises of package
// informer:
//
//   - every object told existed with that UID and resourceVersion under that key
//     (and with that content, if there is a ContentFunc);
//   - per key the calls are add, updates, delete; one UID from add to delete;
//     versions only grow; the old object is the one of the call before; nothing
//     comes back after its deletion, nothing is deleted that was not;
//   - the handler is in sync after it was told a whole collection, not before,
//     and exactly the adds before that are initial;
//   - whatever is marked as settled had been told: nothing was lost;
//   - every snapshot is the collection at its resourceVersion, none is older than
//     the one before, none lacks what the handler was told before.
//
// The History must not come from the informer under test: record a plain watch
// with History.Follow, or the test's own writes with History.Record. For an
// informer with a selector judge against History.Filter, for one with a transform
// against History.Map; VerifyOptions tell of handlers with a filter or a predicate,
// and of the parts of a joined informer. Where the server is restored from a backup
// its history goes on with History.Restore. A loop over informer.Events makes a
// trace with Recorder.Record.
//
// VerifyMoments proves that snapshots of several informers were taken together.
//
//	history := informertest.NewHistory(version, nil)
//	go history.Follow(ctx, watcher)         // a watch of client-go from version on
//	…
//	at, err := informertest.Quiesce(ctx, server, pods)
//	calls.Settled(at)
//	…                                       // until the history has come there as well
//	err = informertest.Verify(history, calls.Trace(), informertest.VerifyOptions{})
//
// # Not promised
//
// Order between keys is not verified, since a list has none. A change that is
// merged with a later one is not missed: informers may skip versions. When an
// informer notices that its server was restored is left open; nor is a handler's
// snapshot compared with its calls then.
//
// # Concurrency
//
// Recorder and History may be used concurrently. Verify reads the history while
// it runs and keeps others from writing to it. Goroutines: none.
package informertest
