// Package factory makes informers of many kinds, each once, and runs them.
//
// # Usage
//
//	f, err := factory.New(config, factory.Options{})
//	pods, err := factory.For[*corev1.Pod](f)                     // an *informer.Informer[*corev1.Pod]
//	web, err := factory.For[*appsv1.Deployment](f, factory.WithNamespaces("web", "shop"))
//	nodes, err := factory.List[*corev1.Node](f)                  // a corelisters.NodeLister
//	metas, err := factory.Metadata(f, podsResource)              // shows the cache of pods
//	slim, err := factory.For[*Slim](f, factory.WithMapping(slimOf)) // made of pods, smaller
//	f.Start(ctx)                                                 // or go f.Run(ctx)
//	if err := f.WaitForSync(ctx); err != nil { … }               // says what keeps which of them
//	moment := f.Snapshot()                                       // of all of them, at one moment
//	pods.SnapshotIn(moment).Get("default/web")
//
// # Promises
//
// One informer for each resource, set of namespaces, selectors and type, whoever
// asks and in whatever order of options. What all its users see must be agreed on:
// who asks for another transform or mapping than the first, or for it to be read in
// another way (WithREST, WithReflector, WithInformer), gets ErrConflict, with both places and each
// difference. Indexes are added as they are asked for.
//
// A metadata-only or untyped View of what a typed informer caches reads that cache:
// no second list, watch or copy.
//
// Informers made while the Factory runs are running when they are returned. Run and
// Start may be called again, and several times at once; an informer runs while one
// of them, or a Lease of anybody's, wants it, and keeps its cache and its handlers'
// places in between.
//
// With WithWaiting an informer waits for a resource whose CustomResourceDefinition
// does not exist yet, and for the next when it has gone.
//
// Nothing is kept for ever: once the Factory has stopped, an informer that has no
// handlers and that nobody refers to is left to the garbage collector. Forget stops
// one at once.
//
// Listers answer as client-go's do, in key order, from snapshots, without a lock.
//
// # Not promised
//
// That a resource is right: it is made from the type's name by the rule that all
// built-in kinds follow, and nothing is asked of the server. WithResource says what
// to ask for. That a View is quick: see Metadata and Unstructured. That the typed
// informer serves the View of whoever asked before it was made.
//
// # Concurrency
//
// Everything may be called from anywhere, but Shutdown, Forget and the end of Run wait
// for handlers, so not from one of those. No lock is held while an informer is called.
//
// Goroutines: those of the informers (see package informer; each has a Lease), and one
// for each Start until it has ended. While an informer waits for its resource, those
// of one more informer.
package factory
