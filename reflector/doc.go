// Package reflector turns one collection of a Kubernetes API server into one
// ordered stream of changes.
//
//	Source (pages, watch streams) ─▶ Reflector (state machine) ─▶ Sink
//
// A Source lists and watches and never retries: FromListerWatcher adapts any
// client of client-go; FromREST asks through a rest.Interface and reads the
// answers itself, which is several times faster. The Reflector
// decides what to ask next. The decisions are a pure function (machine.go:
// state and input to state and effects); Run is the loop that performs the
// effects.
//
// # Promises
//
//   - The Sink sees a replacement as a bracket, and between brackets the
//     server's events in their order. What it was given is the collection at
//     Status.ResourceVersion, as far as the server said so.
//   - The resourceVersion does not go back except by a replacement.
//   - A watch resumes from the last resourceVersion after any failure that
//     leaves it good: lost and silent connections, frames that cannot be read,
//     refused requests, server errors. The collection is fetched again only
//     after a 410, a resourceVersion that the server finds too large, a 404 (what
//     is served again may be another collection), news that its history went
//     back, or several watches in a row that got nowhere.
//   - A server whose history went back (restored from a backup, or replaced by an
//     empty one at the same address) is noticed. A list or a watch-list tells. A
//     watch does not: it is accepted at a version which the server has not
//     reached, and silent until it has. So a server that is silent after an outage,
//     after it ended a watch early, or through two watches in a row, is asked for one
//     item of its newest state, beside the watch, which goes on
//     (Options.ProbeAfter), and one that was not there for a while is asked at once.
//     A version below the last one leads to a replacement for
//     RelistRewound at once.
//   - A server that asks to be left alone for a while (Retry-After) is, for up
//     to five minutes. Only one that does so because of a version that it finds
//     too large is asked at once for its newest state, which it has.
//   - No spinning: a request is repeated without delay only where the last one
//     made progress, lasted, or is replaced by another kind of request, which
//     happens at most four times in a row.
//   - Run, once its context ends, stops waiting at once, closes the stream,
//     ends the bracket, and returns.
//   - A replacement never holds two copies of the collection: what a Source
//     gives is let go of item by item, an object that a KnownSink holds in the
//     server's version is named instead of handed over, and a StreamingSource
//     gives the items as they arrive, without decoding such objects at all.
//   - An object that is no T is left out and reported in Status, and disturbs
//     nothing else. A collection of nothing but such objects is an error.
//   - Watch-list is used where the source has it. A source that turns out not
//     to end the initial events is listed instead, and remembered for a while.
//
// # Other than client-go's reflector
//
// conformance/differential compares the two, request by request. Deliberately,
//
//   - what ends a watch and says nothing against its version leads to another
//     watch, not to a list: client-go goes on so only after a refused connection,
//     a 429 and an orderly end;
//   - a watch that ended in an orderly way within ten seconds and moved nothing is
//     opened again after a backoff, not at once;
//   - a watch-list that fails for a passing cause is asked for again, after a
//     backoff, and listed after three tries, not at once;
//   - a watch-list that is not understood, or does not end its initial events, is
//     given up in time and not tried again for a while; one that is denied is not
//     tried again before a list worked;
//   - a watch-list of the newest state that has expired is asked for again after a
//     backoff, not at once;
//   - a deletion among the initial events is reported after the replacement, which
//     is the state before it;
//   - a list without a version is watched at "0", not at "";
//   - a limit at a known version comes with "not older than", and the newest
//     state, asked for after the last version was refused, comes in pages, which
//     say nothing of the lists that follow;
//   - a list that is not answered, and a watch that outlives its timeout, are
//     given up (Options.ListTimeout, WatchTimeout);
//   - a list of nothing but objects of another type is an error, and an event of
//     an unknown type, or without an object, ends the watch;
//   - an event of an older version does not take the version back;
//   - a server that is silent after an outage, an early end, or through two watches,
//     is asked for one item of the newest state, in case its history went back;
//   - the backoff begins anew only after two healthy minutes; but what a server
//     refuses when an outage is over (410, 403, 404) is followed by a wait of at most
//     7 s at first, however long that was. It waits as long as the server asks for,
//     and ends with Run.
//
// # Not promised
//
//   - Deduplication: an ADDED may come for a known object, an unchanged object
//     may come again in a replacement. The consumer diffs.
//   - Backpressure: the Sink is called in the goroutine that reads the stream.
//     One that blocks makes the server drop the watch.
//   - Order of resourceVersions within a replacement.
//   - Noticing that a version was given again where a watch is refused as too large,
//     as by a replica that lags, and the server has caught up by the next list.
//   - Noticing that a server's history went back where it has passed the last
//     resourceVersion again by the time that something is heard of it, or where the
//     versions are no numbers: what happened before then is missed, until the next
//     relist. Reflector.Relist is the remedy.
//   - Help against a Source that ignores its context: Run waits for it.
//
// # Goroutines
//
// None of its own, but for one while a silent server is asked whether its history
// went back: Run works in its caller's goroutine, timeouts are timers. A
// stream or LIST of FromREST has one that reads and cuts, one more while it asks
// for a page ahead of need, and up to GOMAXPROCS-1 that decode while the reader
// lags; all are gone when its Close returns. A stream from client-go has one or
// two, which are gone when its Close returns (a watch.Interface that breaks its
// contract and does not close its channel after Stop is given a second, then left
// alone).
package reflector
