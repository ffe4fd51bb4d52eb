// Package mutationtest turns on the mutation detector of informers in our own
// tests. Call On in TestMain; suites of package bubble have it on already.
//
// There are no goroutines.
package mutationtest
