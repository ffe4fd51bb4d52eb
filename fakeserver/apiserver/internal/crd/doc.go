// Package crd knows what a CustomResourceDefinition says: whether it may stand,
// and what its schemas make of objects. It holds no state and starts no
// goroutines; everything in it may be used concurrently.
//
// Pruning, the rules for structural schemas and those for lists are those of
// k8s.io/apiextensions-apiserver, of which only packages are used that do not
// need k8s.io/apiserver; values are validated by k8s.io/kube-openapi, as on a
// real server. Defaults, the checks of definitions and the wording of problems
// follow what a real server was recorded to say.
//
// Not here: the rules of x-kubernetes-validations (CEL), which are neither
// compiled nor checked, the metadata of embedded resources, and webhook
// conversion.
package crd
