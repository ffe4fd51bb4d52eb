// Package objectjson writes API objects as JSON.
//
// Promises: the bytes are those of encoding/json. An object whose managed fields
// have the form that servers give them takes less time, see BenchmarkAppend:
// encoding/json checks and copies again, byte by byte, what a value wrote itself,
// and managed fields are often a third of an object.
//
// Concurrency: everything may be called from any goroutine; objects are read only.
//
// Goroutines: none.
package objectjson
