// Package dropin runs code that others wrote for client-go's informers on ours, and
// on client-go's, against fakeserver, and wants the same of both:
//
//   - a manager of controller-runtime with typed, unstructured and metadata watches, a
//     field index, owned objects, predicates, several namespaces and options by object:
//     the same reconciles, which read the same from the cache, also after a gap in which
//     the server's history was forgotten: ours but for what has not changed;
//   - two managers that elect a leader, with and without warmup: the second one takes over
//     the same, and loses nothing;
//   - one that hands out what it caches without a copy (UnsafeDisableDeepCopy): the same;
//   - one with transforms of all scopes: the same caches, but where a transform fails;
//   - its cache, whose informers come and go while it runs, also cut off, and resync; and
//     its watch error handler: told of the same failures, by ours of more;
//   - its client that reads its own writes: each is found, through cuts and lists;
//   - every lister of client-go's generated factory: the same answers;
//   - generated factories of clients for custom resources, those of
//     apiextensions-apiserver, of its example and of kube-aggregator: the same answers,
//     also after a gap;
//   - two controllers on such factories, one that keeps custom resources as they are
//     wanted and one that writes statuses: the same requests, through cut watches and
//     what happens unseen;
//   - client-go's tools/watch.UntilWithSync, leader election and work queue;
//   - informers by the thousand.
//
// It has tests only, which run in bubbles of virtual time. What a single informer
// promises is compared in package informer/clientgo, and what it asks a server in
// package differential.
//
// # Goroutines
//
// Those of the programs that run; gone at the end of a test.
package dropin
