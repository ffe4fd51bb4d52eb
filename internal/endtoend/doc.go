// Package endtoend holds no code, only specs of the whole path: listwatch's
// informers against fakeserver over HTTP, beside client-go's own where both
// should agree. It is the one place where the two halves of the project meet.
//
// The random walks (walk_test.go) print the seed of one that fails in its name:
//
//	WALK_SEED=123 go test -race ./internal/endtoend -run Weather
//
// repeats it, up to the order in which goroutines of one moment run. Each draws what
// it is about: informers of one source, joined ones, with a transform, run by leases,
// a factory with its views, or a server that is restored from backups. What is told
// to handlers and to loops over Events, and all snapshots, must be legal; the test
// fails if one of these things becomes rare.
//
// Promises and non-promises: none. Goroutines: none outside its specs.
package endtoend
