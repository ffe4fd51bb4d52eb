package apiserver

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/version"

	"github.com/listwatch/listwatch/fakeserver/cacher"
	"github.com/listwatch/listwatch/fakeserver/storage"
)

// Options configure a Server. Everything but Store may be left zero.
type Options struct {
	// Store keeps the objects. It stays the caller's, who closes it after the
	// Server. It may hold objects already. Required.
	Store storage.Store
	// Version is what /version answers. Zero: a plausible release of the
	// emulated minor version.
	Version version.Info
	// StableOnly serves only what a real server serves with default flags: GA
	// versions that were not removed. Otherwise every version that the clientset
	// knows is served.
	StableOnly bool
	// AnyNamespace lets objects be created in namespaces that do not exist.
	AnyNamespace bool
	// BodyLimit is the size of the largest body accepted, in bytes. 0: 3 MiB.
	BodyLimit int64
	// RequestTimeout bounds the time for a request that is no watch; a request may
	// ask for less with the parameter timeout. 0: 60 seconds.
	RequestTimeout time.Duration
	// MaxInFlight and MaxMutatingInFlight bound the requests that are answered at a
	// time, of those that read and those that write; watches do not count. Further
	// ones get 429 and Retry-After. 0: no bound. (kube-apiserver has 400 and 200,
	// but queues requests before it refuses them.)
	MaxInFlight, MaxMutatingInFlight int
	// Cache tunes the cacher of each resource, so that a test can, for example,
	// shrink the window or get bookmarks every second. What says what is cached,
	// and where metrics go, is the server's and ignored here: Store, Prefix, Decode,
	// Fields, GroupResource, ClusterScoped, TriggerField and Recorder.
	Cache cacher.Options
	// MinWatchTimeout is the least length of a watch that names no timeout; its
	// length is drawn evenly from once to twice this. 0: 30 minutes.
	MinWatchTimeout time.Duration
}

const (
	defaultBodyLimit       = 3 << 20
	defaultMinWatchTimeout = 30 * time.Minute
	defaultRequestTimeout  = time.Minute
)

// complete checks o and fills in what was left zero.
func (o Options) complete() (Options, error) {
	if o.Store == nil {
		return o, fmt.Errorf("%w: no Store", ErrOptions)
	}
	if o.BodyLimit < 0 {
		return o, fmt.Errorf("%w: BodyLimit %d is negative", ErrOptions, o.BodyLimit)
	}
	if o.MinWatchTimeout < 0 {
		return o, fmt.Errorf("%w: MinWatchTimeout %v is negative", ErrOptions, o.MinWatchTimeout)
	}
	if o.RequestTimeout < 0 {
		return o, fmt.Errorf("%w: RequestTimeout %v is negative", ErrOptions, o.RequestTimeout)
	}
	if o.MaxInFlight < 0 || o.MaxMutatingInFlight < 0 {
		return o, fmt.Errorf("%w: MaxInFlight %d or MaxMutatingInFlight %d is negative", ErrOptions, o.MaxInFlight, o.MaxMutatingInFlight)
	}
	if err := o.Cache.CheckTuning(); err != nil {
		return o, fmt.Errorf("%w: Cache: %w", ErrOptions, err)
	}
	return o.withDefaults(), nil
}

func (o Options) withDefaults() Options {
	if o.BodyLimit == 0 {
		o.BodyLimit = defaultBodyLimit
	}
	if o.MinWatchTimeout == 0 {
		o.MinWatchTimeout = defaultMinWatchTimeout
	}
	if o.Version == (version.Info{}) {
		o.Version = defaultVersion()
	}
	if o.RequestTimeout == 0 {
		o.RequestTimeout = defaultRequestTimeout
	}
	return o
}
