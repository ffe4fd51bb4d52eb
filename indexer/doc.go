// Package indexer is the cache: one writer, immutable snapshots, indexes.
// Goroutines: none.
package indexer
