// Package parts remembers what pieces of messages were decoded to, by their bytes,
// so that equal pieces of many objects are decoded once and share memory.
//
// # Promises
//
//   - A Part is found for the very bytes and kind that it was added for, whatever
//     their hashes.
//   - What a Table keeps alive has the sizes that it was told, in sum not above its
//     limit: what several Parts refer to counts for each. What the allocator rounds
//     up, an eighth at most, comes on top. Its own arrays begin small and take up to
//     a twenty-fifth of the limit besides.
//   - What is found again and again stays longer than what is not.
//
// # Not promised
//
// That anything is found again: tables forget, and what two goroutines add at the
// same time may be remembered once, twice or not at all.
//
// # Goroutines
//
// None. A Table is safe for concurrent use, without locks.
package parts
