//go:build race

package informer

// raced says that the tests run under the race detector, some ten times slower.
const raced = true
