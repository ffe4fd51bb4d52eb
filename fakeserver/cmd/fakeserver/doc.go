// Command fakeserver serves the fake Kubernetes API on loopback until it is
// interrupted. Its first line of output is "serving on http://…".
//
//	go run ./fakeserver/cmd/fakeserver -listen 127.0.0.1:8001 -kubeconfig fakeserver.kubeconfig
//	kubectl --kubeconfig fakeserver.kubeconfig get pods --all-namespaces --watch
//
// Flags: -listen ADDRESS (default 127.0.0.1:0), -kubeconfig PATH (writes one),
// -steer (also serves POST /-/compact and POST /-/drop-watches), -all-versions
// (also serves alpha, beta and removed versions). Exit status: 0 after an
// interrupt, 1 when it could not start, 2 for wrong flags.
//
// Goroutines: none besides the server's (package fakeserver).
package main
