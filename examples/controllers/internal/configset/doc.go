// Package configset is the API of the examples' custom resource, and what any
// controller of it has to decide.
//
// A ConfigSet stands for a number of ConfigMaps with the same data, called
// NAME-0, NAME-1 and so on. The package has its types for Go (ConfigSet,
// AddToScheme), what the server has to know about it (Definition, Install), a client
// (NewClient), and the decisions, which are pure functions: PlanFor says what is to
// be written for a ConfigSet whose ConfigMaps are known, and StatusFor what its
// status is to be. Who reads, writes and waits is the controller: examples/controllers
// has two of them.
//
// # Names of children
//
// A child's name follows from its ConfigSet and its ordinal. A controller that
// forgets, or does not see yet, what it has created can then not create it twice: the
// server answers that it exists. With generated names the controller would have to
// remember what it expects to see, and that memory does not survive its restart.
//
// # Ownership
//
// A child belongs to the ConfigSet whose UID its controller reference has
// (OwnerOf). A name does not make a ConfigMap a child: one that somebody else made is
// never touched, unless it has the label of the ConfigSet and no controller
// (Adopted).
//
// # Not promised
//
// That a controller may write several objects at once: there are no transactions. A
// plan is made for what was seen, and everything in it has to carry the version or
// the UID that was seen, so that the server refuses what comes too late.
//
// Goroutines: none, but one while Install waits.
package configset
