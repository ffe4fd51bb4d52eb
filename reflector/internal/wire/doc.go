// Package wire takes apart what a Kubernetes API server sends for a list or a
// watch, in JSON or protobuf, without knowing the types of objects: it finds
// the frames of a stream and the items of a list, reads from the bytes of an
// object what identifies it, and leaves out fields that nobody wants.
//
// # Promises
//
//   - Pure: no I/O, no goroutines, no clock. Splitters hold a position and
//     nothing else; everything they return is a part of what they were given.
//   - A frame or item is returned only when it is complete, exactly once, in
//     order. Input that was cut is told from input that ended.
//   - No input makes a function panic.
//
// # Not promised
//
//   - Validation: a splitter looks for the end of an object, not at what is in
//     it. That is the decoder's business.
//   - Repeated members of a JSON object or of metadata: Peek sees the first.
//
// # Goroutines
//
// None. A splitter belongs to one goroutine at a time; functions are safe for
// concurrent use.
package wire
