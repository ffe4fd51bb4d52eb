// Package fakeserver is a Kubernetes API server in one Go package, for tests
// and for trying things out. Unchanged clients (client-go, controller-runtime,
// kubectl) talk to it over HTTP.
//
// New starts a server; Config gives a *rest.Config that reaches it over
// in-memory pipes, so that no socket is opened and the server also runs inside
// a testing/synctest bubble; Listen adds TCP. Close ends everything.
//
//	server, err := fakeserver.New(fakeserver.Options{})
//	if err != nil { … }
//	defer server.Close()
//	client := kubernetes.NewForConfigOrDie(server.Config())
//
// A request goes through the layers in this order:
//
//	HTTP ─▶ apiserver (discovery, media types, reads, writes)
//	           │ reads                    │ writes
//	           ▼                          ▼
//	        cacher (watch cache) ◀── storage (revisions, history)
//
// By default it serves what a real server with default flags does, GA versions
// only; Options.AllVersions adds the others. Options also tunes the watch cache
// and limits, so that a test need not write a hundred objects to see a 410.
//
// Steering: DropWatches cuts the connections of all watches, Compact makes the
// server forget its history, so that older resourceVersions get 410. Restore takes
// it back to an earlier state, as a backup of etcd does. SendBookmarks tells every
// watch how far the server is, for tests that want to know when nothing more is on
// its way. For an outage that lasts, fail the requests of one client meanwhile, in a
// RoundTripper before the Transport of its Config: see the example of DropWatches.
//
// Promises: resourceVersions are one counter for all resources, as etcd's are. A
// write is answered once the watch cache has taken it in, so that reads at any
// resourceVersion find it; a real server's cache trails by a moment.
// After Close no goroutine and no listener of the server is left. Nothing is
// reachable from outside the process until Listen is called, and then only on
// loopback unless the address names another one.
//
// Not promised: authentication, authorisation, admission and controllers.
// Nothing reacts to what is written: Deployments make no Pods, and owner
// references are kept but no garbage collector acts on them. Everything is in
// memory and gone at Close. Requests are served without TLS, and so as HTTP/1.1
// only: client-go speaks HTTP/2 over TLS and not otherwise. Each open watch of a
// client has a connection of its own here.
//
// Concurrency: all methods may be called from any goroutine. Inside a synctest
// bubble, New must be called in the bubble.
//
// Goroutines: one for the in-memory listener, two for each call of Listen, and
// net/http's own for each open connection; one for each open websocket; one feed
// for each resource in use (package cacher).
package fakeserver
