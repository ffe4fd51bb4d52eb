// Package jsonfast decodes JSON into the Go types of Kubernetes' API by tables
// made of their struct tags, or into maps, in one pass and with few allocations:
// short strings share blocks of memory.
//
// # Promises
//
//   - What Decode accepts it decodes as encoding/json does into a new object, but
//     with names in their exact case (as client-go's decoder has it; tested for
//     every built-in kind and by fuzzing against that). What it refuses, such as
//     repeated members, may still be fine for others.
//   - A Sharer's objects are as equal to those, and share what is equal in the bytes:
//     a part is decoded in memory of its own when its bytes come for the second
//     time, and found from the third time on.
//   - Types that decode themselves are asked to, and rare ones are left to the
//     function given to For.
//   - data is not kept.
//
// # Not promised
//
//   - That a string of an object can be kept alive alone: up to four kilobytes of its
//     neighbours stays with it, with a Sharer the JSON of a part that it is in.
//     Nothing in objects of a Sharer may be written to.
//
// # Goroutines
//
// None. A Decoder is safe for concurrent use.
package jsonfast
