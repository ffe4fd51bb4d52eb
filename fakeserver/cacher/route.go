package cacher

import (
	"errors"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// listSource says what a list is read from.
type listSource uint8

const (
	// consistentRead: the cache, once it has reached the store's revision.
	consistentRead listSource = iota
	// anyState: the cache as it is.
	anyState
	// notOlderThan: the cache, once it has reached a resource version.
	notOlderThan
	// exactState: the state at a resource version, from a snapshot or the store.
	exactState
)

// listRoute is how a list is served.
type listRoute struct {
	source listSource
	rv     uint64
	// from is the first key; set by a continue token only.
	from string
	// limit is 0 where the request's does not count.
	limit int64
}

var errContinueWithVersion = errors.New("specifying resource version is not allowed when using continue")

// routeList decides how a list is served. Its errors are the client's (400).
func routeList(opts *ListOptions) (listRoute, error) {
	limit := max(0, opts.Limit)
	if opts.Continue != "" {
		return routeContinue(opts, limit)
	}
	if opts.ResourceVersion == "" {
		return listRoute{source: consistentRead, limit: limit}, nil
	}
	rv, err := parseResourceVersion(opts.ResourceVersion)
	if err != nil {
		return listRoute{}, badReadVersion(err)
	}
	switch {
	case opts.Match == metav1.ResourceVersionMatchExact:
		return listRoute{source: exactState, rv: rv, limit: limit}, nil
	case rv == 0:
		return listRoute{source: anyState}, nil
	case opts.Match == "" && limit > 0:
		return listRoute{source: exactState, rv: rv, limit: limit}, nil
	default:
		return listRoute{source: notOlderThan, rv: rv, limit: limit}, nil
	}
}

// routeContinue decides about lists with a continue token.
func routeContinue(opts *ListOptions, limit int64) (listRoute, error) {
	from, rv, err := decodeContinue(opts.Namespace, opts.Continue)
	if err != nil {
		return listRoute{}, badRequest("invalid continue token: " + err.Error())
	}
	switch opts.ResourceVersion {
	case "":
	case "0":
		limit = 0
	default:
		return listRoute{}, badRequest(errContinueWithVersion.Error())
	}
	if rv < 0 {
		return listRoute{source: consistentRead, from: from, limit: limit}, nil
	}
	return listRoute{source: exactState, rv: uint64(rv), from: from, limit: limit}, nil
}

// listWithoutCache says whether the store answers a list while the cache is not
// ready: only one that asks for little.
func listWithoutCache(opts *ListOptions) bool {
	return opts.Limit > 0 && !opts.selective()
}

// watchStart says what a watch begins with.
type watchStart uint8

const (
	// liveNow: nothing, then what comes after the store's current revision.
	liveNow watchStart = iota
	// liveCache: nothing, then what comes after the cache's state.
	liveCache
	// since: the changes after a resource version.
	since
	// initialConsistent: the state, once it has reached the store's revision.
	initialConsistent
	// initialAny: the state as it is.
	initialAny
	// initialNotOlder: the state, once it has reached a resource version.
	initialNotOlder
)

// watchRoute is how a watch begins.
type watchRoute struct {
	start watchStart
	rv    uint64
	// bookmark: the initial events end with one.
	bookmark bool
}

// routeWatch decides how a watch begins. Its error is the client's (500).
func routeWatch(opts *WatchOptions) (watchRoute, error) {
	rv, err := parseResourceVersion(opts.ResourceVersion)
	if err != nil {
		return watchRoute{}, badWatchVersion(err)
	}
	asked := opts.SendInitialEvents != nil && *opts.SendInitialEvents
	refused := opts.SendInitialEvents != nil && !*opts.SendInitialEvents
	route := watchRoute{rv: rv, bookmark: asked && opts.AllowBookmarks}
	switch {
	case rv > 0 && asked:
		route.start = initialNotOlder
	case rv > 0:
		route.start = since
	case opts.ResourceVersion == "" && refused:
		route.start = liveNow
	case refused:
		route.start = liveCache
	case opts.ResourceVersion == "":
		route.start = initialConsistent
	default:
		route.start = initialAny
	}
	return route, nil
}
