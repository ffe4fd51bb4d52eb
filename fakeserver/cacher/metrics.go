package cacher

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// MetricKind says what the values of a Metric mean.
type MetricKind uint8

// Kinds of metrics.
const (
	// Counter: values are added up.
	Counter MetricKind = iota + 1
	// Gauge: a value replaces the one before it.
	Gauge
	// Histogram: values are sorted into Buckets.
	Histogram
)

// Metric describes something that a Cacher measures, under the name that
// kube-apiserver gives it.
type Metric struct {
	Name, Help string
	Kind       MetricKind
	// Labels are the names of its labels, "group" and "resource" among them.
	Labels []string
	// Buckets are the upper bounds of a Histogram's buckets.
	Buckets []float64
}

// Recorder takes what a Cacher measures.
type Recorder interface {
	// Series returns the function that takes the values of one series: of metric,
	// with the values of its labels in their order. A Cacher asks for each of its
	// series once, when it is made. The functions are called concurrently and
	// often, also with the Cacher's mutex held: they must neither wait nor call the
	// Cacher.
	Series(metric Metric, labels []string) func(value float64)
}

// Metrics describes all that a Cacher may record.
func Metrics() []Metric {
	all := make([]Metric, 0, len(metricTable))
	for _, metric := range metricTable {
		metric.Labels, metric.Buckets = slices.Clone(metric.Labels), slices.Clone(metric.Buckets)
		all = append(all, metric)
	}
	return all
}

var (
	perResource = []string{"group", "resource"}
	waitBuckets = []float64{0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 1.25, 1.5, 2, 3}
	initBuckets = []float64{0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 180, 600}
	listBuckets = []float64{0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 1.25, 1.5, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 45, 60}
	sendBuckets = []float64{0.0001, 0.0005, 0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5}
)

// resourceVersionDigits is what of a resource version is shown, so that a
// float64 holds it exactly.
const resourceVersionDigits uint64 = 1e15

// metricTable holds every metric; metrics.go names each series once more in
// newMetrics.
var metricTable = []Metric{
	{"apiserver_cache_list_total", "Lists served from the cache.", Counter, listLabels, nil},
	{"apiserver_cache_list_fetched_objects_total", "Objects read from the cache to serve lists.", Counter, listLabels, nil},
	{"apiserver_cache_list_returned_objects_total", "Objects that lists from the cache returned.", Counter, perResource, nil},
	{"apiserver_storage_list_total", "Lists served, by where from.", Counter, storageLabels, nil},
	{"apiserver_storage_list_fetched_objects_total", "Objects read to serve lists.", Counter, storageLabels, nil},
	{"apiserver_storage_list_evaluated_objects_total", "Objects that lists tested.", Counter, storageLabels[:3], nil},
	{"apiserver_storage_list_returned_objects_total", "Objects that lists returned.", Counter, storageLabels[:3], nil},
	{"apiserver_storage_list_duration_seconds", "Duration of lists from the store, with decoding.", Histogram, []string{"streamed", "group", "resource"}, listBuckets},
	{"apiserver_storage_events_received_total", "Events received from the store.", Counter, perResource, nil},
	{"apiserver_storage_decode_errors_total", "Stored objects that could not be decoded.", Counter, perResource, nil},
	{"etcd_bookmark_total", "Progress notifications of the store.", Counter, perResource, nil},
	{"etcd_bookmark_counts", "The same, under the name it had.", Gauge, perResource, nil},
	{"apiserver_init_events_total", "Initial events of watches.", Counter, perResource, nil},
	{"apiserver_watch_cache_events_received_total", "Events put into the cache.", Counter, perResource, nil},
	{"apiserver_watch_cache_events_dispatched_total", "Events offered to watchers.", Counter, perResource, nil},
	{"apiserver_terminated_watchers_total", "Watchers ended because they were too slow.", Counter, perResource, nil},
	{"apiserver_watch_cache_resource_version", "Resource version of the cache, its last 15 digits.", Gauge, perResource, nil},
	{"watch_cache_capacity", "Capacity of the window.", Gauge, perResource, nil},
	{"watch_cache_capacity_increase_total", "Times that the window grew.", Counter, perResource, nil},
	{"watch_cache_capacity_decrease_total", "Times that the window shrank.", Counter, perResource, nil},
	{"apiserver_watch_cache_initializations_total", "Initialisations of the cache.", Counter, perResource, nil},
	{"apiserver_watch_cache_initialization_errors_total", "Initialisations that failed.", Counter, perResource, nil},
	{"apiserver_watch_cache_initialization_duration_seconds", "Duration of initialisations.", Histogram, perResource, initBuckets},
	{"apiserver_watch_cache_read_wait_seconds", "Time that reads waited for the cache to be fresh.", Histogram, perResource, waitBuckets},
	{"apiserver_watch_cache_consistent_read_total", "Consistent reads.", Counter, []string{"group", "resource", "success", "fallback"}, nil},
	{"apiserver_storage_consistency_checks_total", "Comparisons of cache and store.", Counter, []string{"group", "resource", "status"}, nil},
	{"apiserver_watch_events_dispatch_duration_seconds", "Time from the store to a watcher that takes an event, and its parts on both sides of the cache.", Histogram, []string{"group", "resource", "stage"}, sendBuckets},
	{"apiserver_watch_shards_total", "Open watches of a shard.", Gauge, perResource, nil},
	{"apiserver_watch_filtered_events_total", "Events that a shard selector kept from a watch.", Counter, perResource, nil},
}

var (
	listLabels    = []string{"group", "resource", "index"}
	storageLabels = []string{"group", "resource", "storage", "index"}
)

// metrics are the series of one Cacher; none is nil.
type metrics struct {
	fromStore, fromCache                                   listMetrics
	cacheLists                                             listMetrics // fromCache under older names
	storeListSeconds                                       func(float64)
	received, decodeErrors, progress, progressNow          func(float64)
	initEvents, cached, dispatched, terminated             func(float64)
	resourceVersion, capacity, grown, shrunk               func(float64)
	initializations, initErrors, initSeconds, waitSeconds  func(float64)
	checkSuccess, checkFailure, checkError                 func(float64)
	storeToCache, cacheToWatcher, storeToWatcher           func(float64)
	shardedWatches, shardFiltered                          func(float64)
	readCached, readFailed, readFellBack, readFallBackLost func(float64)
	readRefused                                            func(float64)
}

// listMetrics are those of lists from one source.
type listMetrics struct {
	// walks are those that went through the keys, lookups those that an index led
	// to fewer.
	walks, lookups      readMetrics
	evaluated, returned func(float64)
}

type readMetrics struct{ lists, fetched func(float64) }

// newMetrics asks for the series of a resource. A nil recorder takes nothing.
func newMetrics(o *Options) metrics {
	s := seriesOf{o.Recorder, o.GroupResource}
	const reads, stages = "apiserver_watch_cache_consistent_read_total", "apiserver_watch_events_dispatch_duration_seconds"
	const checks = "apiserver_storage_consistency_checks_total"
	return metrics{
		fromStore: listMetrics{
			walks:     s.reads("apiserver_storage_list", "etcd", ""),
			evaluated: s.get("apiserver_storage_list_evaluated_objects_total", "etcd"),
			returned:  s.get("apiserver_storage_list_returned_objects_total", "etcd"),
		},
		fromCache: listMetrics{
			walks:     s.reads("apiserver_storage_list", "watchcache", ""),
			lookups:   s.lookups(o, "apiserver_storage_list", "watchcache"),
			evaluated: s.get("apiserver_storage_list_evaluated_objects_total", "watchcache"),
			returned:  s.get("apiserver_storage_list_returned_objects_total", "watchcache"),
		},
		cacheLists: listMetrics{
			walks:     s.reads("apiserver_cache_list", ""),
			lookups:   s.lookups(o, "apiserver_cache_list"),
			evaluated: func(float64) {},
			returned:  s.get("apiserver_cache_list_returned_objects_total"),
		},
		storeListSeconds: s.get("apiserver_storage_list_duration_seconds", "false"),
		received:         s.get("apiserver_storage_events_received_total"),
		decodeErrors:     s.get("apiserver_storage_decode_errors_total"),
		progress:         s.get("etcd_bookmark_total"),
		progressNow:      s.get("etcd_bookmark_counts"),
		initEvents:       s.get("apiserver_init_events_total"),
		cached:           s.get("apiserver_watch_cache_events_received_total"),
		dispatched:       s.get("apiserver_watch_cache_events_dispatched_total"),
		terminated:       s.get("apiserver_terminated_watchers_total"),
		resourceVersion:  s.get("apiserver_watch_cache_resource_version"),
		capacity:         s.get("watch_cache_capacity"),
		grown:            s.get("watch_cache_capacity_increase_total"),
		shrunk:           s.get("watch_cache_capacity_decrease_total"),
		initializations:  s.get("apiserver_watch_cache_initializations_total"),
		initErrors:       s.get("apiserver_watch_cache_initialization_errors_total"),
		initSeconds:      s.get("apiserver_watch_cache_initialization_duration_seconds"),
		waitSeconds:      s.get("apiserver_watch_cache_read_wait_seconds"),
		checkSuccess:     s.get(checks, "success"),
		checkFailure:     s.get(checks, "failure"),
		checkError:       s.get(checks, "error"),
		storeToCache:     s.get(stages, "storage_to_cache"),
		cacheToWatcher:   s.get(stages, "cache_to_watcher"),
		storeToWatcher:   s.get(stages, "total"),
		shardedWatches:   s.get("apiserver_watch_shards_total"),
		shardFiltered:    s.get("apiserver_watch_filtered_events_total"),
		readCached:       s.get(reads, "true", "false"),
		readFailed:       s.get(reads, "false", "false"),
		readFellBack:     s.get(reads, "true", "true"),
		readFallBackLost: s.get(reads, "false", "true"),
		readRefused:      s.get(reads, "false", "skipped"),
	}
}

// seriesOf asks for the series of a resource.
type seriesOf struct {
	recorder Recorder
	resource schema.GroupResource
}

// get asks for a series, more being its labels without group and resource.
func (s seriesOf) get(name string, more ...string) func(float64) {
	if s.recorder == nil {
		return func(float64) {}
	}
	metric := metricTable[slices.IndexFunc(metricTable, func(m Metric) bool { return m.Name == name })]
	var values []string
	for _, label := range metric.Labels {
		switch label {
		case "group":
			values = append(values, s.resource.Group)
		case "resource":
			values = append(values, s.resource.Resource)
		default:
			values, more = append(values, more[0]), more[1:]
		}
	}
	return s.recorder.Series(metric, values)
}

func (s seriesOf) reads(prefix string, more ...string) readMetrics {
	return readMetrics{lists: s.get(prefix+"_total", more...), fetched: s.get(prefix+"_fetched_objects_total", more...)}
}

// lookups are the reads by the index of the trigger field, if there is one.
func (s seriesOf) lookups(o *Options, prefix string, more ...string) readMetrics {
	if o.TriggerField == "" {
		return readMetrics{}
	}
	return s.reads(prefix, append(more, "f:"+o.TriggerField)...) // as kube-apiserver names an index of a field
}

// at records how far the cache is.
func (m *metrics) at(rv uint64) { m.resourceVersion(float64(rv % resourceVersionDigits)) }

// taken records that a watcher takes a change.
func (m *metrics) taken(c *change) {
	waited := time.Since(c.at)
	m.storeToCache(c.lag.Seconds())
	m.cacheToWatcher(waited.Seconds())
	m.storeToWatcher((c.lag + waited).Seconds())
}

// list records a list that tested so many objects and returned so many of them.
func (m *listMetrics) list(found *page) {
	read, fetched := m.walks, float64(found.fetched)
	if found.byIndex {
		read = m.lookups
	}
	read.lists(1)
	read.fetched(fetched)
	m.evaluated(fetched)
	m.returned(float64(len(found.items)))
}

// listedStore records a list from the store, which began at a time.
func (m *metrics) listedStore(began time.Time, found *page) {
	m.fromStore.list(found)
	m.storeListSeconds(time.Since(began).Seconds())
}
