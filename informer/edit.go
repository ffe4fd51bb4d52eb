package informer

import "github.com/listwatch/listwatch/indexer"

// Edit writes to the cache what no server said: for tests that need no server, and
// for adapters to interfaces that let their users write. edit is given the newest
// Snapshot and returns what to change and the resourceVersion that the collection
// has then; no other write comes between. It must not call methods of the Informer
// that write; if it panics nothing is written, and neither is with a nil edit.
//
// Handlers are not told, so that those registered before may be told of updates
// and deletes of objects that they do not know; a handler with WithLatestOnly must
// not be among them. Whatever the server says about a key replaces what was
// written, and a complete list everything. The promises of the package hold for an
// Informer that nobody edits.
func (i *Informer[T]) Edit(edit func(*indexer.Snapshot[T]) (changes []indexer.Change[T], resourceVersion string)) {
	if edit == nil {
		return
	}
	i.write(func(p *published[T]) outcome[T] {
		changes, resourceVersion := edit(p.snapshot)
		return outcome[T]{changes: changes, resourceVersion: resourceVersion, replacedAt: -1}
	})
}
