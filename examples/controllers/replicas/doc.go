// Command replicas is a controller for a custom resource of its own: a ConfigSet
// stands for N ConfigMaps with the same data.
//
//	go run ./examples/controllers/replicas
//
// starts an API server in the process, installs the resource's definition there, and
// shows what the controller does with ConfigSets that a demonstration creates,
// scales, breaks and deletes, until it is interrupted. With -kubeconfig it works in a
// cluster, where it installs the definition too (-install-crd=false does not) but shows
// nothing unasked (-demo does); -h tells the other flags.
//
// It must not run on one server with examples/controllers/runtime-operator: both own all
// ConfigSets, know nothing of each other's lease, and would overwrite each other's work.
//
// # What it shows
//
// Informers of a custom type, by informer/factory: one that waits for its definition
// and survives its going (factory.WithWaiting), and one that keeps of all ConfigMaps
// only the children of ConfigSets, indexed by owner.
//
// Reading one's own writes: whatever the controller writes is put in an
// informer.Overlay, and each decision is made of what the overlays show. So it never
// does twice what its cache has not seen yet, and a creation of many children costs
// one write of the status. Where a write is refused since somebody else was faster, it
// reads what is there and decides anew at once.
//
// Deletion: a finalizer keeps a ConfigSet until its children are gone. Where the
// finalizer was taken off by force, or the ConfigSet vanished while the controller was
// not connected, its orphans are found by the UID in their owner references. They are
// deleted once the server itself has said that there is no such ConfigSet: a cache
// knows only what was. (In a real cluster the garbage collector may be first.)
//
// A server that comes back without its data, or with a backup's: the reflectors notice
// after a while, and the controller, where it sees a contradiction, has them list
// again at once. The definition is looked for, and installed where it is missing, at
// the beginning of each term of leadership and whenever the server answers that it has
// no ConfigSets: of that the server itself is asked, never a cache.
//
// What is decided is in package configset, in pure functions; here is who reads,
// waits and writes. All writes carry the version that was seen.
//
// # What it does not
//
// It does not update a definition that is there already. It does not watch for a
// ConfigMap in the way of a child to go, but tries again, up to every 30 seconds.
//
// # Goroutines
//
// While it works: two workers, one that keeps the definition, those of a work queue,
// and one for each of two handlers. Always: those of two informers, of a third one while
// ConfigSets are waited for, and what package ops says.
package main
