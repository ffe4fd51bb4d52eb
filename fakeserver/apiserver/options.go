package apiserver

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/version"

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
	// MinWatchTimeout is the least length of a watch that names no timeout; its
	// length is drawn evenly from once to twice this. 0: 30 minutes.
	MinWatchTimeout time.Duration
}

const (
	defaultBodyLimit       = 3 << 20
	defaultMinWatchTimeout = 30 * time.Minute
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
	if o.BodyLimit == 0 {
		o.BodyLimit = defaultBodyLimit
	}
	if o.MinWatchTimeout == 0 {
		o.MinWatchTimeout = defaultMinWatchTimeout
	}
	if o.Version == (version.Info{}) {
		o.Version = defaultVersion()
	}
	return o, nil
}
