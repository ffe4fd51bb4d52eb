package reflector

import (
	"fmt"
	"math"
	"time"

	"k8s.io/apimachinery/pkg/util/resourceversion"
)

// Defaults of Options.
const (
	defaultPageSize         = 500
	defaultWatchTimeout     = 5 * time.Minute
	defaultWatchListTimeout = 30 * time.Second
	defaultWatchListAvoided = 10 * time.Minute
	defaultListTimeout      = 5 * time.Minute
	defaultProbeAfter       = 10 * time.Second
	defaultBackoffBase      = 800 * time.Millisecond
	defaultBackoffCap       = 30 * time.Second
	defaultBackoffFactor    = 2
	defaultBackoffJitter    = 1
	defaultHealthyAfter     = 2 * time.Minute
)

// Options of a Reflector. The zero value is useful; New validates.
type Options struct {
	// Name appears in logs and in Status.
	Name string

	// PageSize is the limit of every LIST. Zero leaves it to the rule of
	// client-go: 500 where the server would otherwise build the answer from
	// storage (resourceVersion "" or "0", or a server that paged a LIST at
	// "0"), else no limit, so that the server's watch cache answers in one
	// go. With a limit, a LIST at a known resourceVersion asks for
	// "not older than", as without the match a limit would mean exactly that
	// version.
	PageSize int64

	// NotOlderThan, a resourceVersion, is what a first LIST asks for instead of any
	// state ("0"), which on a server with several replicas may be older than what an
	// earlier process has seen (kubernetes#59848): one that remembers the version
	// gives it here. It is no more than a wish: a server that does not know the
	// version is asked for its newest state. A watch-list needs none, as the first
	// one asks for the newest state anyway.
	NotOlderThan string

	// ListTimeout bounds one LIST request, to notice a peer that vanished. Zero
	// is 5 minutes.
	ListTimeout time.Duration

	// WatchTimeout t: each watch asks the server to end it after a duration
	// drawn uniformly from [t,2t), so that load spreads and a dead connection
	// is noticed. At least one second; zero is 5 minutes.
	WatchTimeout time.Duration

	// IdleTimeout reconnects a synced watch on which nothing arrived for this
	// long, bookmarks included. A server sends a bookmark about every minute,
	// but only if anything was written to it since the watch began: a busy
	// cluster's healthy watches are never silent for 90 s, those of a server
	// that rests are, and reconnect without harm, and with every second time a
	// probe (ProbeAfter). At least one second; zero turns it off.
	IdleTimeout time.Duration

	// ProbeAfter t: a watch that nothing came on for a time drawn uniformly from
	// [t,2t), though there is reason to doubt that the server is the one that it
	// was, makes the Reflector ask for one item of the newest state; at once, if
	// nobody was there to answer a request since the last sign of the server. If
	// that is older than the last resourceVersion, the server's history went back,
	// and the collection is fetched again (RelistRewound). There is reason for
	// doubt, once, after a connection was lost or refused, after two watches in a
	// row that lasted and brought neither event nor bookmark, and, but no sooner
	// than WatchTimeout after the last such question, after a watch that was ended
	// before WatchTimeout: that is how clients of client-go show a lost connection.
	// Zero is 10 seconds, negative turns it off; more than a third of IdleTimeout or
	// WatchTimeout is taken for that. The time is drawn so that a fleet does not ask
	// at once, and a question that fails is repeated after a backoff.
	ProbeAfter time.Duration

	// DisableWatchList syncs by LIST only.
	DisableWatchList bool
	// WatchListTimeout is how long a watch-list may go without an initial event
	// before it is given up for LIST; ten times as long in total. Zero is 30
	// seconds.
	WatchListTimeout time.Duration
	// WatchListAvoided is how long a source whose watch-list was refused, or
	// did not end its initial events, is synced by LIST. Zero is 10 minutes.
	WatchListAvoided time.Duration

	// Absence, if set, decides what a 404 to a LIST or a watch means. If the
	// resource is gone, the Sink gets a replacement without items, for the reason
	// RelistAbsent, and the Reflector waits for the resource instead of backing off.
	Absence Absence

	// Backoff between failures.
	Backoff Backoff

	// Observer, if set, is called after every change of phase and every
	// failure, from the goroutine that is in Run and with no lock held. It must
	// not block.
	Observer func(Status)
}

// Backoff says how long to wait after failures in a row. One backoff serves all
// requests of a Reflector. An outage counts as two failures once the server is back.
type Backoff struct {
	// Base is the first delay. Zero is 800 ms.
	Base time.Duration
	// Cap bounds the delay before jitter. Zero is 30 s.
	Cap time.Duration
	// Factor by which the delay grows. Zero is 2; at least 1.
	Factor float64
	// Jitter: up to Jitter times the delay is added at random. Zero is 1,
	// negative is none.
	Jitter float64
	// HealthyAfter is how long watching must have gone well for the delay to
	// start again at Base. Zero is 2 minutes.
	HealthyAfter time.Duration
}

// orDefault returns fallback for the zero value.
func orDefault[V comparable](value, fallback V) V {
	var zero V
	if value == zero {
		return fallback
	}
	return value
}

// complete validates o and fills in the defaults. PageSize stays zero: that is
// a rule, not a size.
func (o Options) complete() (Options, error) {
	for name, negative := range map[string]bool{
		"PageSize":             o.PageSize < 0,
		"ListTimeout":          o.ListTimeout < 0,
		"WatchListTimeout":     o.WatchListTimeout < 0,
		"WatchListAvoided":     o.WatchListAvoided < 0,
		"Backoff.Base":         o.Backoff.Base < 0,
		"Backoff.Cap":          o.Backoff.Cap < 0,
		"Backoff.HealthyAfter": o.Backoff.HealthyAfter < 0,
	} {
		if negative {
			return o, fmt.Errorf("%w: %s is negative", ErrInvalidOptions, name)
		}
	}
	if _, err := resourceversion.CompareResourceVersion(o.NotOlderThan, o.NotOlderThan); o.NotOlderThan != "" && err != nil {
		return o, fmt.Errorf("%w: NotOlderThan: %w", ErrInvalidOptions, err)
	}
	for name, timeout := range map[string]time.Duration{"WatchTimeout": o.WatchTimeout, "IdleTimeout": o.IdleTimeout} {
		if timeout != 0 && timeout < time.Second {
			return o, fmt.Errorf("%w: %s %v is below one second", ErrInvalidOptions, name, timeout)
		}
	}
	o.ListTimeout = orDefault(o.ListTimeout, defaultListTimeout)
	o.ProbeAfter = max(0, orDefault(o.ProbeAfter, defaultProbeAfter))
	o.WatchTimeout = orDefault(o.WatchTimeout, defaultWatchTimeout)
	o.ProbeAfter = min(o.ProbeAfter, o.WatchTimeout/3)
	if o.IdleTimeout != 0 {
		o.ProbeAfter = min(o.ProbeAfter, o.IdleTimeout/3) // a silent watch is given up then
	}
	o.WatchListTimeout = orDefault(o.WatchListTimeout, defaultWatchListTimeout)
	o.WatchListAvoided = orDefault(o.WatchListAvoided, defaultWatchListAvoided)
	var err error
	o.Backoff, err = o.Backoff.complete()
	return o, err
}

func (b Backoff) complete() (Backoff, error) {
	b.Base = orDefault(b.Base, defaultBackoffBase)
	b.Cap = orDefault(b.Cap, max(b.Base, defaultBackoffCap))
	b.Factor = orDefault(b.Factor, defaultBackoffFactor)
	b.Jitter = max(0, orDefault(b.Jitter, defaultBackoffJitter))
	b.HealthyAfter = orDefault(b.HealthyAfter, defaultHealthyAfter)
	if !(b.Factor >= 1) || math.IsInf(b.Factor, 1) { // NaN is not >= 1
		return b, fmt.Errorf("%w: Backoff.Factor %v is not a number from 1 on", ErrInvalidOptions, b.Factor)
	}
	if math.IsNaN(b.Jitter) || math.IsInf(b.Jitter, 1) {
		return b, fmt.Errorf("%w: Backoff.Jitter %v is not a number", ErrInvalidOptions, b.Jitter)
	}
	if b.Cap < b.Base {
		return b, fmt.Errorf("%w: Backoff.Cap %v is below Base %v", ErrInvalidOptions, b.Cap, b.Base)
	}
	return b, nil
}
