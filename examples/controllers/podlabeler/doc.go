// Podlabeler is a controller that gives each pod the team of its namespace, as a
// label: plain client-go, with a work queue, listers, patches and events, on
// informers of listwatch.
//
//	go run ./examples/controllers/podlabeler
//
// A namespace says its team with the label example.com/team. Its pods have the same
// label, or none if the namespace has none; whatever else somebody writes there is
// corrected. Each change is told by an event about the pod.
//
// Without flags it starts an API server in the process, and a demonstration that
// creates and changes namespaces and pods there; see the log, or point kubectl at
// the address that is printed. -kubeconfig PATH works in a cluster instead; -h tells
// the other flags. It needs the permissions to get, list and watch pods and
// namespaces, to patch pods and to create and patch events; with -leader-elect to get,
// create and update leases.
//
// # Reading order
//
// controller.go makes and runs the controller, reconcile.go does the work for one
// pod, plan.go is what is to be written. main.go puts it into a process; demo.go is
// no part of it.
//
// # What is ours
//
// One line of controller.go: the generated factory is told to hand out informers of
// listwatch. Another asks for the informer behind the pods', for an overlay through
// which the controller sees its own patches at once. Without it, a pod that is looked
// at again before the cache has heard of the patch would be patched again.
//
// # Writes
//
// A pod is patched only if its label is not as it should be, so a start with
// everything in order, a reconnect or a relist writes nothing. The patch names the
// pod's UID, so that it cannot meet another pod that took the name meanwhile. It does
// not name a resourceVersion: the label is the controller's alone, and what else
// changes in the pod is no reason to try again.
//
// # Goroutines
//
// Two workers; those of two informers, with a handler each; two of the work queue,
// and those of package ops; one for the demonstration. All are gone when run returns.
package main
