// Package differential runs client-go's NewSharedIndexInformer and our informer
// on the same scripts and compares what they do: each request with its options
// and the wait before it, each call of each handler, the final cache with its
// version and an index, and what the script asks.
//
//	cd conformance && go test ./differential             # compare
//	cd conformance && go test ./differential -rewrite    # write down what happens
//
// It has tests only. Both informers run in testing/synctest bubbles of their
// own, in virtual time, and ask a server of their own through the same type of
// cache.ListerWatcher (server_test.go). The server is a collection with a
// history from which it answers as a server does, but for what the script has
// it do otherwise: an informer that resumes gets the events since its version,
// one that lists gets the list, and in the end both must hold the same.
//
// The same scripts are run with our informer behind client-go's interface (package
// clientgo), which must have no other differences, and not those that the interface
// hides or the adapter takes back.
//
// # Scripts
//
// A file of testdata is a sentence that says what must hold, an empty line,
// commands, an empty line, the differences that explain what is not the same, an
// empty line, and the trace of both sides, which -rewrite writes. To add a
// script, write the first three parts ("differs: nothing"), run with -rewrite,
// read what became of it, and name the differences that the errors propose, if
// they are deliberate.
//
// Objects are written name, name#uid, name@version or namespace/name; uid counts
// the objects that had the name, and #0 is none at all.
//
// The collection: put, delete and recreate OBJECT... (put with on=VALUE for the
// index, whose values are x and y); others N (changes of other collections);
// forget (the history so far); restore VERSION (as from a backup).
//
// The open streams: bookmark; close; send EVENT, which has not happened: ADDED,
// MODIFIED, DELETED or UNKNOWN with OBJECT..., BOOKMARK or END with a version
// (END ends initial events), ERROR FAILURE [retry-after=DURATION], wrong-type,
// no-metadata, table, nil.
//
// The next answers: answer list, page (of a list, but the first), watch or
// watch-list with a FAILURE, or with words of answers_test.go, and xN or always.
// answer normally takes back all that. A FAILURE is an HTTP status, too-large,
// too-large-1.16, gone, refused, reset or undecodable.
//
// The server: page-size N (it has no cache, and pages that small), timeouts (it
// ends watches at their timeout).
//
// The informer: list-only (the client says it lacks watch-list), unstructured
// or metadata (the type of the objects), index-later (index adds it),
// transform stamp or transform fail OBJECT@VERSION..., payloads (show the types
// of what comes with a delete), resync DURATION, start, stop, and the handlers:
// add NAME [blocked] [latest-only] [resync=DURATION], remove NAME, unblock NAME. The first one is called first, and is
// added at start if the script adds none. ask synced, why, wait VERSION or
// trouble asks both informers.
//
// And wait DURATION. Waits in a backoff are drawn at random: a script waits
// long enough for the longest, and the trace has the interval. The timeouts of
// watches, five to ten minutes, are checked and not shown.
//
// # Differences
//
// differences_test.go has all deliberate ones. A line that only one side has
// must be explained by a difference that the script names; one that is named
// and explains nothing is an error, and so is one that no script names. A
// difference looks at the line, at what is around it on both sides, and at the
// requests: an explanation is as narrow as that, and the trace in the script
// says the rest.
//
// # Goroutines
//
// Those of the two informers, one that runs each; gone at the end of a script.
package differential
