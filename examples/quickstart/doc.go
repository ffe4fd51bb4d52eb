// Quickstart shows informers that keep their caches in step with an API server.
//
//	go run ./examples/quickstart
//
// It starts a fakeserver in the process, loads Kubernetes manifests into it and
// runs an informer for every kind among them, over HTTP. Then it writes, cuts
// all watch connections, writes while the informers cannot connect, makes the
// server forget its history, and goes on; each change that an informer tells of
// is one line. In the end it compares every cache with the server's own list,
// object by object, and exits with 0 only if they are equal.
//
// -f takes other manifests, -kubeconfig watches a real cluster (and writes
// nothing there), -watch goes on until it is interrupted; -h tells more.
//
// Reading order: main.go (what happens), fleet.go (how informers are made and
// run), acts.go (what is done to them), compare.go (the proof).
//
// Goroutines: one that prints, one for each informer's Run, and those of the
// server. All are gone when run returns.
package main
