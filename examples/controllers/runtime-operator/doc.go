// Runtime-operator is the controller of examples/controllers/replicas, for the same
// custom resource, written with controller-runtime's manager and builder. The manager's
// informers are listwatch's, by one line:
//
//	ctrl.Options{Cache: cache.Options{NewInformer: clientgo.NewSharedIndexInformer}}
//
//	go run ./examples/controllers/runtime-operator
//
// starts an API server in the process, makes its definition known to it, and creates,
// scales, spoils and deletes a ConfigSet, so that the log shows what the operator does.
// -informers=client-go has client-go's informers instead: nothing else changes. With
// -kubeconfig it works in a cluster, where it writes what ConfigSets ask for and their
// definition, but no ConfigSets unless -demo is given.
//
// The module is one of its own, so that only those who want controller-runtime have
// it: run it from the root of the repository, whose go.work knows it.
//
// It must not run on one server with examples/controllers/replicas: both own all
// ConfigSets, know nothing of each other's lease, and would overwrite each other's work.
//
// # What is where
//
// operator.go has the manager, and the one line; reconciler.go what is done for a
// ConfigSet; inside.go what the line gains: clientgo.Of finds the Informer behind an
// informer, for a page at /informers, its series at /metrics, and a readiness check
// that says what is missing. What is to be done is decided in package configset.
//
// # Promises
//
// The operator has no memory. It writes what differs from what it reads, and reads
// what it has written (controller-runtime's EnableReadYourWritesConsistency), so no
// write is repeated: through cut connections, lists, and its own and the server's end,
// with either kind of informers. What it deletes has the UID and version that it has
// seen. A ConfigMap that belongs to nobody's ConfigSet is not touched.
//
// A server that is stopped and started again while the operator runs is waited for. One
// that is down when the operator starts is not: the program ends with status 1, since
// controller-runtime asks the server what it serves before anything runs. One that comes back without the definition gets it again,
// unless -install-crd=false.
//
// Readiness is that of package ops: the caches are complete, also while the server is
// out of reach, or another process has the lease.
//
// With -leader-elect, an outage longer than ten seconds loses the lease, and that ends
// the program with status 1: so controller-runtime has it, and something must start it
// again. An interrupt ends it with status 0, and gives the lease back.
//
// # Not promised
//
// Read-your-writes with a server whose history went back, as one that has lost
// everything: controller-runtime waits for nothing then until resourceVersions have
// passed where they were. The status may be behind for a moment. And a read waits for
// ever for the end of an object that was deleted here, and given a successor of the
// same name by somebody else, while its informer had to list: that shows an update.
// Only a new start helps.
//
// Goroutines: those of the manager, all gone when run returns.
package main
