// Package apiserver is the HTTP face of the fake server: discovery, get, list,
// watch, create, update, patch, apply, delete, /status and /scale of every
// resource that client-go's generated clientset knows, and of custom resources,
// over one storage.Store and one cacher.Cacher per resource.
//
// Promises: status codes, headers, bodies and error texts are those that a real
// kube-apiserver 1.37 was recorded to send, as far as this package goes; reads
// and watches come from the cacher with all its guarantees; a write is one
// compare-and-swap in the store, retried when it raced, so that concurrent
// writers lose nothing; an object is encoded once per version and media type,
// however many readers it has; a handler that panics answers 500 and harms
// nobody else; Close waits a second for readers that do not read, and for nobody
// longer. All versions of a resource are views of one stored object.
//
// Reads are answered as JSON, YAML and protobuf, whole, reduced to metadata, or as
// Tables, whose columns are those that kubectl shows for the common kinds. Long
// answers are compressed for those who take it, and so are watches that serve as
// lists. Watches also work by the old paths below /watch/ and over websockets.
// Events are read as from a server that does not cache them, see uncached.
// /metrics is in the format of Prometheus, with the names, labels and buckets of
// kube-apiserver; the store stands for etcd there.
//
// Writes track who manages which fields, with the schemas of client-go's apply
// configurations. These take some 140 ms to parse, which the first write of a
// process waits for; New does not. Patches of all four types, and server-side
// apply, are one more way to the same update. The most used kinds get the
// defaults of a real server, and contents that it would refuse are refused; but
// what is only missing, such as the containers of a pod, is not asked for. Pods
// can be bound and evicted.
//
// A CustomResourceDefinition is followed up before its write is answered: its
// names are accepted or not, its condition Established is set, and discovery has
// its resources, which can be used at once. A real server gets there a moment
// later, in several writes of the status. Custom objects are pruned, defaulted and
// validated by the schema of the version in which they are sent, read through that
// of the version for storage, tracked and applied by the types of lists that it
// names, printed by its columns, selected by its selectable fields, and can be had
// as JSON and YAML only. What was invalid before a write and is the same after it
// is let pass, a little more often than by a real server. When the schema changes,
// watches end in an orderly way and later ones begin with a new history. Deleting a
// definition deletes its objects, then ends their watches; it waits for their
// finalizers.
//
// Not there for custom resources: rules in CEL (x-kubernetes-validations), which
// are ignored, conversion by webhooks, whose definitions are refused, and the
// metadata of embedded objects, which is not looked at. A definition that another
// server writes to the same store is served only by that one, until a restart.
//
// Not promised, and not there yet: OpenAPI, reviews,
// defaulting and validation of most of what is in specs, addresses for services,
// admission beyond the life of namespaces, authentication. There are no kubelets:
// nobody has a log. No controllers run: a namespace that was deleted waits for PUT
// of /finalize, and the finalizers of foreground and orphaning deletion for
// someone to remove them.
//
// Conversion between versions rewrites apiVersion and keeps what both versions
// name alike; a field that the stored version does not have is lost. That
// matters for versions long removed and for autoscaling/v1, whose target CPU
// utilisation is not translated into a metric of v2. Copies of a resource in
// the group extensions are resources of their own.
//
// The first request for a resource makes its cacher and waits until that has
// read what there is, or says that it cannot; a write that comes first is thereby
// part of the history that watches can go back to.
//
// Limits: bodies up to 3 MiB (413 beyond), one Accept header as a whole, a minute
// for a request that is no watch. Encodings are kept with each version of an
// object for as long as the cache keeps that: at most one for each form that was
// asked for, of which there are two for each version of the resource and five that
// the versions share.
//
// Goroutines: one for each open websocket, which reads. Otherwise ServeHTTP runs
// in the caller's; each cacher that was needed has those that its package counts.
// Close ends them and waits.
package apiserver
