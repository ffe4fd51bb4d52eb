// Package manifest reads Kubernetes manifests from files and folders and checks
// all of them before anything is done with any of them.
//
// Promises: an error names the file, the document in it, the line where that is
// known, the cause and what to do about it; it is the first fault in reading
// order, and with it no object is returned. Objects come in an order in which a
// server can take them: namespaces, then what belongs to no namespace, then the
// rest, each as written. Types known to client-go are decoded strictly, so that
// an unknown field or a wrong type is an error here and not a surprise later.
//
// Not promised: what only a server can know, such as ranges of values, required
// fields or quotas. Kinds are those that the server's discovery lists; a kind
// that client-go does not know (a custom one) is checked for its name and scope
// only.
//
// Goroutines: none. Functions may be called concurrently.
package manifest
