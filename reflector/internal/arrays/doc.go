// Package arrays makes the memory of slices whose element type is known at run
// time only, in one allocation, where reflect.MakeSlice needs two.
//
// # Promises
//
// What Make returns is zero, and is kept alive, with what its elements refer to,
// by any pointer into it.
//
// # Not promised
//
// Anything about lengths: these are the caller's.
//
// # Goroutines
//
// None. A Maker is safe for concurrent use.
package arrays
