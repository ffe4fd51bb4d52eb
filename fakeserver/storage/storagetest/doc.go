// Package storagetest checks that an implementation keeps the promises of
// storage.Store. Run it from a test of the implementation:
//
//	storagetest.RunTests(t, func(t *testing.T) storage.Store { … })
//
// It works in real time and waits for nothing but events, so that it also suits
// stores that are not in memory.
//
// Goroutines: none that outlive a test.
package storagetest
