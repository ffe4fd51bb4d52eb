// Package clientgo shows our informers as client-go's, to code that was written
// for those: controllers, controller-runtime, generated factories and listers.
//
//	pods := clientgo.NewSharedIndexInformer(lw, &corev1.Pod{}, resync, cache.Indexers{}) // a cache.SharedIndexInformer
//
// docs/migrating.md of the repository says how to switch, and back.
//
// NewSharedIndexInformer is what controller-runtime's cache.Options.NewInformer wants.
// Register has a generated factory hand out our informers; factories for the dynamic
// and the metadata client are functions of their own.
//
// # What is kept
//
// The contract of cache.SharedIndexInformer of client-go v0.37, all of it but for
// what is listed below: handlers and registrations, which cache.ShutDownEventHandler
// also takes; metrics under the identifier of the options, made by their provider or
// that of the process; resync periods and their rules; the transform, which may return
// anything that has metadata; watch error handlers; one run, after which handlers
// and indexes are refused and the store can still be read; indexes before and after
// the start; a store that may be written to, and takes transactions. A handler is
// told after the store has changed: of what a list lacks first, by tombstones with
// the last known object, then of the rest in the list's order; of another UID under
// one name by an update.
//
// Reads come from snapshots: they take no lock, and none waits for a write. There
// is no second copy of an object; only where a transform returns something that is
// no API object is it put into a box of three words, which nobody sees.
//
// # What is other
//
// Known defects and costs are not kept:
//
//   - A relist tells nobody of objects that have not changed.
//   - The transform is called once for each object; client-go calls it twice for
//     those of a watch-list, the second time with its own result. If it fails for an
//     object, others are not affected, and the last good version stays.
//   - A broken connection, an unreadable event or a short watch is followed by a
//     watch from the last version, not by a list. See package reflector, also for
//     backoff, deadlines, and a watch-list that does not end.
//   - An index function that fails or panics leaves the object out of that index. It
//     does not end the process.
//   - A handler has the resync period that it asked for, not the next multiple of
//     the informer's, and a relist does not put a resync off.
//   - A deletion of an object that is not in the store is not told.
//   - The map of indexers that the constructor is given is not modified, and that of
//     GetIndexers is a copy.
//
// And these are limits:
//
//   - A transform must keep namespace, name, UID and resourceVersion, or remove the
//     latter two. An object that it renames is not cached.
//   - Objects must have metadata of their own (metav1.Object), as all API types do.
//   - A watch error handler is also told of an error inside a watch, and not of a
//     failed watch-list that a list follows at once.
//   - A handler that was registered before the store was written to by hand, and the
//     informer started after that, is told of the written objects as of known ones;
//     one that was registered after it gets them as initial adds.
//   - A generated factory with a fake client has no metrics for registered types, since
//     such a client does not know their versions. Package informermetrics has the same
//     metrics, and many more, of any Informer (see Of).
//   - The feature gates AtomicFIFO, InOrderInformers and UnlockWhileProcessingFIFO
//     have no meaning. WatchListClient has. KUBE_CACHE_MUTATION_DETECTOR turns on our
//     detector.
//   - LastSyncResourceVersion is that of the store, which trails what was received by
//     microseconds.
//
// Of has the rest: the Informer behind an informer of this package. Its Status names
// the collection, as far as it is known: informers of factories know all of it but
// selectors; one that was made from a ListerWatcher knows group and version by the
// example's apiVersion and kind, or by its type if that is one of client-go's scheme,
// and the resource of the kinds of that scheme. Its name is the ObjectDescription, or
// else made of the collection, as "pods.v1".
//
// # Concurrency
//
// All methods may be called from anywhere, also from handlers; but Run and
// cache.ShutDownEventHandler of a handler not from itself. Goroutines: those of an
// Informer, and none of its own (but one for each informer that a factory by resource
// starts): while it runs one for each handler and one more,
// where client-go has two for each handler and five more.
package clientgo
