package cacher

import (
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/listwatch/listwatch/fakeserver/storage"
)

// Defaults of Options, which are those of kube-apiserver.
const (
	DefaultMinCapacity    = 100
	DefaultMaxCapacity    = 102400
	DefaultFresh          = 75 * time.Second
	DefaultBookmarkPeriod = time.Minute
	DefaultBlockTimeout   = 3 * time.Second
	DefaultPageSize       = 10000
	DefaultRestartDelay   = time.Second
	DefaultDecodePatience = 30 * time.Second
	DefaultCheckPeriod    = 5 * time.Minute
	DefaultSlowBudget     = 50 * time.Millisecond
	DefaultMaxSlowBudget  = 100 * time.Millisecond
)

// Defaults of Options that kube-apiserver does not have.
const (
	// DefaultLagSlack stands for what lies between a real server and its client:
	// HTTP/2 lets a stream be 4 MB ahead of its reader, some thousand events.
	// Without it a healthy client at an in-memory connection, which holds nothing,
	// would be ended far sooner here than there.
	DefaultLagSlack = 1000
	// DefaultMaxWatchers is far above what one process can serve usefully.
	DefaultMaxWatchers = 100000
)

// Options of a Cacher. Store, Prefix and Decode are required; the zero value of
// everything else means the default.
type Options struct {
	// Store holds the objects.
	Store storage.Store
	// Prefix of the resource's keys: begins and ends in "/". What follows it in a
	// key is "namespace/name" or "name".
	Prefix string
	// Decode makes the object of a stored version. It must set
	// metadata.resourceVersion from the version's ModRevision. It is called
	// concurrently, by the feed and by reads that go to the store.
	Decode func(kv storage.KeyValue) (runtime.Object, error)
	// Fields returns what field selectors can select on. metadata.name and
	// metadata.namespace need not be in it. It is called when a selector first asks,
	// possibly with a lock held: it must depend on nothing but obj, and take no time.
	Fields func(obj runtime.Object) fields.Set
	// GroupResource is named in errors.
	GroupResource schema.GroupResource
	// ClusterScoped: the objects have no namespaces, so that a name is a whole key.
	ClusterScoped bool

	// MinCapacity and MaxCapacity bound the number of events in the window.
	MinCapacity, MaxCapacity int
	// Fresh is the time that the window tries to cover.
	Fresh time.Duration
	// BookmarkPeriod is the time between two bookmarks of a watcher.
	BookmarkPeriod time.Duration
	// BlockTimeout bounds the wait for a resource version.
	BlockTimeout time.Duration
	// PageSize of lists from the store.
	PageSize int64
	// RestartDelay is the pause before the feed tries again after a failure.
	RestartDelay time.Duration
	// DecodePatience is how long the cache stays as it is when an event comes that
	// does not decode, before it is filled anew, which fails until the object is
	// repaired.
	DecodePatience time.Duration
	// RefuseStale refuses a consistent list (429) when the cache does not catch up
	// in time, instead of reading it from the store (an alpha feature of
	// kube-apiserver).
	RefuseStale bool
	// LagLimit is the number of events that a watcher may be behind. 0 derives it
	// as kube-apiserver sizes a watcher's two queues (each the events of about a
	// second of a window that is full: 10 to 100, with a TriggerField 10 to 1000,
	// for a watcher that the index serves 10), plus LagSlack.
	LagLimit int
	// LagSlack is added to a derived LagLimit, for what would be on its way in a
	// network's buffers.
	LagSlack int
	// SlowBudget is the time per second that watchers over their LagLimit may take
	// to get below it, all together; unused time is saved up to MaxSlowBudget. When
	// it is used up, those that are over their limit are ended.
	SlowBudget, MaxSlowBudget time.Duration
	// TellSlow sends a watcher that is ended for slowness an error (410, with the
	// resource version to resume from among its causes) instead of just the end.
	TellSlow bool
	// MaxWatchers bounds the open watches; one more is refused with 429.
	MaxWatchers int
	// TriggerField is a field of Fields by which watchers that require one value of
	// it are found quickly, such as spec.nodeName of pods. "" is none.
	TriggerField string
	// Trigger returns the TriggerField of an object without the trouble of making
	// all of Fields. Nil takes it from those.
	Trigger func(obj runtime.Object) string

	// CheckPeriod is the time between two comparisons of cache and store, extended
	// by up to a half at random. 0 is never, which is the default, since a store
	// that loses no events needs none; kube-apiserver's is DefaultCheckPeriod.
	CheckPeriod time.Duration
	// PanicOnInconsistency makes a comparison panic that finds a difference.
	PanicOnInconsistency bool

	// Recorder takes metrics; nil: none are taken.
	Recorder Recorder
	// Sharding lets requests ask for a shard of the collection (an alpha feature
	// of kube-apiserver); without it Predicate.Shard is ignored, as there.
	Sharding bool
}

// withDefaults fills in defaults and checks the result. Errors: ErrOptions.
func (o Options) withDefaults() (Options, error) {
	setDefault(&o.MinCapacity, DefaultMinCapacity)
	setDefault(&o.MaxCapacity, max(o.MinCapacity, DefaultMaxCapacity))
	setDefault(&o.Fresh, DefaultFresh)
	setDefault(&o.BookmarkPeriod, DefaultBookmarkPeriod)
	setDefault(&o.BlockTimeout, DefaultBlockTimeout)
	setDefault(&o.PageSize, DefaultPageSize)
	setDefault(&o.RestartDelay, DefaultRestartDelay)
	setDefault(&o.DecodePatience, DefaultDecodePatience)
	setDefault(&o.LagSlack, DefaultLagSlack)
	setDefault(&o.SlowBudget, DefaultSlowBudget)
	setDefault(&o.MaxSlowBudget, max(o.SlowBudget, DefaultMaxSlowBudget))
	setDefault(&o.MaxWatchers, DefaultMaxWatchers)
	for _, check := range []struct {
		wrong bool
		text  string
	}{
		{o.Store == nil, "Store is missing"},
		{o.Decode == nil, "Decode is missing"},
		{len(o.Prefix) < 2 || !strings.HasPrefix(o.Prefix, "/") || !strings.HasSuffix(o.Prefix, "/"),
			"Prefix must begin and end in a slash"},
		{o.MinCapacity < 1 || o.MaxCapacity < o.MinCapacity, "capacities must be 1 <= MinCapacity <= MaxCapacity"},
		{min(o.Fresh, o.BookmarkPeriod, o.BlockTimeout, o.RestartDelay, o.DecodePatience, o.CheckPeriod, o.SlowBudget, o.MaxSlowBudget) < 0, "durations must not be negative"},
		{o.PageSize < 0 || min(o.LagLimit, o.LagSlack, o.MaxWatchers) < 0,
			"PageSize, LagLimit, LagSlack and MaxWatchers must not be negative"},
	} {
		if check.wrong {
			return o, fmt.Errorf("cacher: %s: %w: %s", o.GroupResource, ErrOptions, check.text)
		}
	}
	return o, nil
}

// setDefault replaces a zero value.
func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}
