package reflector

import (
	"maps"
	"slices"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Phase is where a Reflector's state machine stands.
type Phase uint8

// Phases of a Reflector.
const (
	// Initial: not started yet. Left by Run, to Listing or WatchListing.
	Initial Phase = iota
	// Listing: a LIST is under way. Left by its last page to Watching, by an
	// error to BackingOff.
	Listing
	// WatchListing: a watch-list is being opened or sends its initial events.
	// Left by their end to Watching on the same stream, by an error to
	// BackingOff, or to Listing where the source turns out to lack watch-list.
	WatchListing
	// Watching: synced, and a watch is being opened or followed. An orderly end
	// opens the next one; an error leads to BackingOff.
	Watching
	// BackingOff: waiting after a failure. Left by the passage of time, to
	// Watching where the last resourceVersion is still good, else to Listing
	// or WatchListing.
	BackingOff
	// Stopped: Run has returned. Left by another Run, as Initial is.
	Stopped
	// Absent: the resource is gone from the server, and Options.Absence waits for
	// it. Left to Listing or WatchListing when it may be back.
	Absent
)

// String names the phase.
func (p Phase) String() string {
	names := [...]string{"initial", "listing", "watch-listing", "watching", "backing off", "stopped", "absent"}
	if int(p) >= len(names) {
		return "unknown"
	}
	return names[p]
}

// RelistReason says why the whole collection was fetched.
type RelistReason string

// Reasons for a replacement.
const (
	// RelistInitial is the first sync.
	RelistInitial RelistReason = "initial"
	// RelistRestarted is the first sync of a Run that is not the first.
	RelistRestarted RelistReason = "restarted"
	// RelistExpired follows a 410: the server forgot what came after the last
	// resourceVersion.
	RelistExpired RelistReason = "expired"
	// RelistTooLarge: the server said that it does not know the last
	// resourceVersion yet. A kube-apiserver says so to a LIST or a watch-list; a
	// watch it accepts, and keeps silent until it has got there.
	RelistTooLarge RelistReason = "resourceVersion too large"
	// RelistRewound: while a watch was silent, the server's newest state turned out
	// to be older than the last resourceVersion (see Options.ProbeAfter).
	RelistRewound RelistReason = "history rewound"
	// RelistStalled: watches at the last resourceVersion broke or ended early
	// several times in a row without getting anywhere. One that ends in an orderly
	// way after its full time does not count, however silent it was: see
	// Options.ProbeAfter.
	RelistStalled RelistReason = "stalled"
	// RelistForced: somebody called Relist.
	RelistForced RelistReason = "forced"
	// RelistAbsent is no request: the resource is gone, and the collection was
	// replaced by an empty one (see Options.Absence).
	RelistAbsent RelistReason = "resource absent"
	// RelistAppeared is the first sync of a resource that had been gone, or one
	// after a watch was answered by a 404.
	RelistAppeared RelistReason = "resource appeared"
)

// Status is a copy of what a Reflector knows of itself.
type Status struct {
	// Name is Options.Name.
	Name string
	// Phase and the time it was entered.
	Phase Phase
	Since time.Time
	// Synced says that at least one replacement was completed, and the resource
	// has not gone since.
	Synced bool
	// ResourceVersion up to which everything was handed to the Sink; "" before
	// the first sync.
	ResourceVersion string

	// LastError is the newest failure, kept after recovery (Tries is zero
	// then); nil if there was none. LastErrorTime is when it happened.
	LastError     error
	LastErrorTime time.Time
	// LastVerb is the request that failed: "list" or "watch", as RBAC calls
	// them.
	LastVerb string
	// HTTPStatus and Reason of LastError; zero if it was not the server's.
	HTTPStatus int
	Reason     metav1.StatusReason
	// Tries counts the failures since the last sign of life: a completed list,
	// an event or bookmark that moved on.
	Tries int
	// NextRetry is when BackingOff ends; zero in other phases.
	NextRetry time.Time

	// Lists counts LISTs begun, Pages their requests; WatchLists and Watches
	// count streams asked for, each as what it was asked for: the stream of a
	// watch-list becomes the watch without another request, so that Watches is
	// zero until that first stream ends, though Phase is Watching.
	Lists, Pages, WatchLists, Watches int64
	// Reconnects counts the Watches that went on at the last resourceVersion
	// after an earlier one ended, whatever its end.
	Reconnects int64
	// Relists counts completed replacements by reason.
	Relists map[RelistReason]int64
	// Rewinds counts replacements that went back behind the last
	// resourceVersion, and those for RelistRewound: the server's history was
	// rewound.
	Rewinds int64
	// Probes counts the LISTs of one item that asked whether it was; they are not
	// among the Lists.
	Probes int64
	// Recent are the last 16 ends of streams, and refusals that led to a relist,
	// oldest first.
	Recent []Disconnect
	// Skipped counts list items and events that were left out because they are
	// no T; LastSkipped is the newest of these errors.
	Skipped     int64
	LastSkipped error
	// Decoded counts the objects that a source of FromREST decoded, and DecodeTime
	// is what that took, of all goroutines together. Kept counts the objects of
	// replacements that the sink held already, whatever the source.
	Decoded    int64
	DecodeTime time.Duration
	Kept       int64
	// WatchListAvoidedUntil is set while the source is taken not to support
	// watch-list.
	WatchListAvoidedUntil time.Time

	// LastEvent and LastBookmark are when the newest of each arrived.
	LastEvent    time.Time
	LastBookmark time.Time
}

// tracker holds the Status that Run writes and everybody reads.
type tracker struct {
	mu     sync.Mutex
	status Status // guarded by mu
}

// update changes the status.
func (t *tracker) update(change func(*Status)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	change(&t.status)
}

// snapshot copies the status.
func (t *tracker) snapshot() Status {
	t.mu.Lock()
	defer t.mu.Unlock()
	status := t.status
	status.Relists = maps.Clone(status.Relists)
	status.Recent = slices.Clone(status.Recent)
	return status
}
