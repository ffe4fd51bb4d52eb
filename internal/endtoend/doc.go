// Package endtoend holds no code, only specs of the whole path: listwatch's
// informers against fakeserver over HTTP, beside client-go's own where both
// should agree. It is the one place where the two halves of the project meet.
//
// Promises and non-promises: none. Goroutines: none outside its specs.
package endtoend
