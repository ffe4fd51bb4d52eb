// Package bench measures the server half against the watch cache of
// kube-apiserver (k8s.io/apiserver/pkg/storage/cacher), both in the same process
// and over the same kind of store, and the client half against client-go's
// (k8s.io/client-go/tools/cache), as a whole over HTTP and in its parts. It is a module of its own, so that nobody who
// uses listwatch downloads kube-apiserver's dependencies. All of it is in tests;
// README.md says how to run what, and what came out.
//
// # Promises
//
// Every benchmark lets the two sides take turns, at least five times each after
// a warm-up, and reports the median of the ratios of neighbouring rounds with
// the least and the greatest. A ratio above one means that ours is better. A
// test holds the two sides against each other: they deliver the same events.
//
// # Not promised
//
// Absolute figures: they are those of the machine and the hour.
//
// # Goroutines
//
// None outside of tests.
package bench
