package fakeserver

import (
	"time"

	"github.com/listwatch/listwatch/fakeserver/apiserver"
	"github.com/listwatch/listwatch/fakeserver/cacher"
)

// Options configure New. The zero value is a server with all built-in
// resources, as a real one has them with default flags, and nothing listening.
type Options struct {
	// Steer serves the steering calls under /-/ over HTTP as well:
	// POST /-/compact and POST /-/drop-watches. Whoever reaches the server can
	// then disturb it, so it is off by default.
	Steer bool
	// AllVersions serves every version of every resource that client-go knows:
	// alpha and beta ones, and those that were removed from Kubernetes. Without it
	// only GA versions are served, as by a real server with default flags, so that
	// a client that asks for another one fails here as it would there.
	AllVersions bool
	// AnyNamespace lets objects be created in namespaces that do not exist, for
	// tests that do not care about namespaces.
	AnyNamespace bool
	// BodyLimit is the size of the largest body accepted, in bytes. 0: 3 MiB.
	BodyLimit int64
	// RequestTimeout bounds the time for a request that is no watch; a request may
	// ask for less with the parameter timeout. 0: 60 seconds.
	RequestTimeout time.Duration
	// MinWatchTimeout is the least length of a watch that names no timeout; its
	// length is drawn evenly from once to twice this. 0: 30 minutes.
	MinWatchTimeout time.Duration
	// MaxInFlight and MaxMutatingInFlight bound the requests that are answered at a
	// time, of those that read and those that write; watches do not count. Further
	// ones get 429 and Retry-After, so that a test can see a client back off. 0: no
	// bound.
	MaxInFlight, MaxMutatingInFlight int
	// Cache tunes the watch cache of each resource: a test can shrink the window
	// to get 410 after a few writes, have bookmarks every second, or let watchers
	// be ended for slowness early. Zero fields are as on a real server. Store,
	// Prefix, Decode, Fields, GroupResource, ClusterScoped, TriggerField and Recorder
	// are ignored.
	Cache cacher.Options
}

// api are the options of the API below.
func (o Options) api() apiserver.Options {
	return apiserver.Options{
		StableOnly:          !o.AllVersions,
		AnyNamespace:        o.AnyNamespace,
		BodyLimit:           o.BodyLimit,
		RequestTimeout:      o.RequestTimeout,
		MinWatchTimeout:     o.MinWatchTimeout,
		MaxInFlight:         o.MaxInFlight,
		MaxMutatingInFlight: o.MaxMutatingInFlight,
		Cache:               o.Cache,
	}
}
