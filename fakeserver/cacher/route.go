package cacher

import (
	"errors"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// listKind says how old the state that a list returns may be.
type listKind uint8

const (
	// consistent: not older than the store is when the request begins.
	consistent listKind = iota
	// anyState: as old as it comes.
	anyState
	// notOlderThan: not older than a resource version.
	notOlderThan
	// exactState: of exactly a resource version.
	exactState
)

// listNeed is what the options of a list ask for.
type listNeed struct {
	kind listKind
	rv   uint64
	// from is the first key; set by a continue token only.
	from string
	// limit is 0 where the request's does not count.
	limit int64
	// single: the list is of one key.
	single bool
	// modest: it asks for little, so that the store may be asked instead of a
	// cache that is not ready.
	modest bool
}

// listView is what the cache has for a need.
type listView struct {
	phase phase
	// ahead: the need's resource version is yet to come.
	ahead bool
	// snapshot: the state at the need's resource version is known.
	snapshot bool
}

// listWait says what a list waits for before it is read.
type listWait uint8

const (
	noWait listWait = iota
	// waitForVersion: until the cache has reached the need's resource version.
	waitForVersion
	// waitForStore: until it has reached the store's revision.
	waitForStore
)

// listSource says what a list is read from.
type listSource uint8

const (
	// noSource: the list is refused, the cache being not ready.
	noSource listSource = iota
	// theCache: its newest state.
	theCache
	// theSnapshot: the state at the need's resource version, or the store if it
	// was forgotten meanwhile.
	theSnapshot
	// theStore: the need's resource version if that is exact, else the newest.
	theStore
)

// listRoute is how a list is served.
type listRoute struct {
	wait   listWait
	source listSource
}

// routeList decides how a list is served.
func routeList(need listNeed, view listView) listRoute {
	switch {
	case need.kind == exactState && need.single:
		return listRoute{source: theStore}
	case view.phase != ready && need.modest:
		return listRoute{source: theStore}
	case need.kind == exactState && !view.ahead && !view.snapshot:
		return listRoute{source: theStore}
	case view.phase != ready:
		return listRoute{source: noSource}
	case need.kind == consistent:
		return listRoute{wait: waitForStore, source: theCache}
	case need.kind == anyState:
		return listRoute{source: theCache}
	case need.kind == notOlderThan:
		return listRoute{wait: waitForVersion, source: theCache}
	case view.ahead:
		return listRoute{wait: waitForVersion, source: theSnapshot}
	default:
		return listRoute{source: theSnapshot}
	}
}

var errContinueWithVersion = errors.New("specifying resource version is not allowed when using continue")

// needOf reads the options of a list. Its errors are the client's (400).
func needOf(opts *ListOptions) (listNeed, error) {
	need := listNeed{
		limit:  max(0, opts.Limit),
		single: opts.Namespace != "" && opts.Name != "",
		modest: opts.Limit > 0 && !opts.selective(),
	}
	if opts.Continue != "" {
		return need.continued(opts)
	}
	if opts.ResourceVersion == "" {
		return need, nil
	}
	var err error
	if need.rv, err = parseResourceVersion(opts.ResourceVersion); err != nil {
		return listNeed{}, badReadVersion(err)
	}
	switch {
	case opts.Match == metav1.ResourceVersionMatchExact:
		need.kind = exactState
	case need.rv == 0:
		need.kind, need.limit = anyState, 0
	case opts.Match == "" && need.limit > 0:
		need.kind = exactState // as it was before there was a match
	default:
		need.kind = notOlderThan
	}
	return need, nil
}

// continued reads a continue token.
func (n listNeed) continued(opts *ListOptions) (listNeed, error) {
	from, rv, err := decodeContinue(opts.Namespace, opts.Continue)
	if err != nil {
		return listNeed{}, badRequest("invalid continue token: " + err.Error())
	}
	switch opts.ResourceVersion {
	case "":
	case "0":
		n.limit = 0
	default:
		return listNeed{}, badRequest(errContinueWithVersion.Error())
	}
	n.from = from
	if rv >= 0 {
		n.kind, n.rv = exactState, uint64(rv)
	}
	return n, nil
}

// getRoute is how a get is served: from the store, or from the cache once it
// has reached rv.
type getRoute struct {
	store bool
	rv    uint64
}

// routeGet decides about a get. Its error is the client's (400).
func routeGet(resourceVersion string, now phase) (getRoute, error) {
	rv, err := parseResourceVersion(resourceVersion)
	if err != nil {
		return getRoute{}, badReadVersion(err)
	}
	if resourceVersion == "" || now != ready {
		return getRoute{store: true}, nil
	}
	return getRoute{rv: rv}, nil
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
	// refused: the cache is not ready.
	refused
)

// watchRoute is how a watch begins.
type watchRoute struct {
	start watchStart
	rv    uint64
	// bookmark: the initial events end with one.
	bookmark bool
	// generation of the cache that the watch was made for.
	generation uint64
}

// routeWatch decides how a watch begins. Its error is the client's (500).
func routeWatch(opts *WatchOptions, now phase) (watchRoute, error) {
	rv, err := parseResourceVersion(opts.ResourceVersion)
	if err != nil {
		return watchRoute{}, badWatchVersion(err)
	}
	asked := opts.SendInitialEvents != nil && *opts.SendInitialEvents
	declined := opts.SendInitialEvents != nil && !*opts.SendInitialEvents
	route := watchRoute{rv: rv, bookmark: asked && opts.AllowBookmarks}
	switch {
	case now != ready:
		route = watchRoute{start: refused}
	case rv > 0 && asked:
		route.start = initialNotOlder
	case rv > 0:
		route.start = since
	case opts.ResourceVersion == "" && declined:
		route.start = liveNow
	case declined:
		route.start = liveCache
	case opts.ResourceVersion == "":
		route.start = initialConsistent
	default:
		route.start = initialAny
	}
	return route, nil
}
