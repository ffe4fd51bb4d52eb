// Package protofast decodes protobuf into the Go types of Kubernetes' API by
// tables that it makes of their struct tags, with the result of their generated
// code and half of its allocations: the strings and byte slices of an object share
// few blocks of memory, and slices are made in their final size.
//
// # Promises
//
//   - What Decode accepts it decodes as the generated Unmarshal does into a new
//     object (tested for every built-in kind). What it refuses may still be fine
//     for that.
//   - A message whose type is not described by its tags is left to the type's own
//     Unmarshal method.
//   - A Sharer's objects are as equal to those, and share what is equal in the bytes:
//     a part is decoded in memory of its own when its bytes come for the second
//     time, and found from the third time on.
//   - data is not kept.
//
// # Not promised
//
//   - That a part of an object can be kept alive alone: up to four kilobytes of
//     its neighbours stay with a string, with a Sharer the bytes of a part that it
//     is in. Byte slices must not be written to, and nothing in objects of a Sharer.
//
// # Goroutines
//
// None. A Decoder is safe for concurrent use.
package protofast
