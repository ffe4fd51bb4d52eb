package cacher

import (
	"slices"

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
	// Labels are the names of its labels; the first two are "group" and
	// "resource".
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
	{"apiserver_storage_list_evaluated_objects_total", "Objects that lists tested.", Counter, storageLabels, nil},
	{"apiserver_storage_list_returned_objects_total", "Objects that lists returned.", Counter, storageLabels, nil},
	{"apiserver_storage_events_received_total", "Events received from the store.", Counter, perResource, nil},
	{"apiserver_storage_decode_errors_total", "Stored objects that could not be decoded.", Counter, perResource, nil},
	{"apiserver_resource_objects", "Objects in the cache.", Gauge, perResource, nil},
	{"etcd_bookmark_total", "Progress notifications of the store.", Counter, perResource, nil},
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
	{"apiserver_watch_events_dispatch_duration_seconds", "Time from the cache to a watcher.", Histogram, []string{"group", "resource", "stage"}, sendBuckets},
	{"apiserver_watch_shards_total", "Open watches of a shard.", Gauge, perResource, nil},
	{"apiserver_watch_filtered_events_total", "Events that a shard selector kept from a watch.", Counter, perResource, nil},
}

var (
	listLabels    = []string{"group", "resource", "index"}
	storageLabels = []string{"group", "resource", "storage", "index"}
)

// metrics are the series of one Cacher; none is nil.
type metrics struct {
	cacheLists, cacheFetched, cacheReturned                func(float64)
	received, decodeErrors, objects, progress              func(float64)
	initEvents, cached, dispatched, terminated             func(float64)
	resourceVersion, capacity, grown, shrunk               func(float64)
	initializations, initErrors, initSeconds, waitSeconds  func(float64)
	checkSuccess, checkFailure, checkError                 func(float64)
	cacheToWatcher                                         func(float64)
	shardedWatches, shardFiltered                          func(float64)
	readCached, readFailed, readFellBack, readFallBackLost func(float64)
	readRefused                                            func(float64)
	fromStore, fromCache                                   listMetrics
}

// listMetrics are those of lists from one source.
type listMetrics struct{ lists, fetched, evaluated, returned func(float64) }

// newMetrics asks for the series of a resource. A nil recorder takes nothing.
func newMetrics(recorder Recorder, resource schema.GroupResource) metrics {
	series := func(name string, more ...string) func(float64) {
		if recorder == nil {
			return func(float64) {}
		}
		at := slices.IndexFunc(metricTable, func(m Metric) bool { return m.Name == name })
		return recorder.Series(metricTable[at], append([]string{resource.Group, resource.Resource}, more...))
	}
	lists := func(storage string) listMetrics {
		return listMetrics{
			lists:     series("apiserver_storage_list_total", storage, ""),
			fetched:   series("apiserver_storage_list_fetched_objects_total", storage, ""),
			evaluated: series("apiserver_storage_list_evaluated_objects_total", storage, ""),
			returned:  series("apiserver_storage_list_returned_objects_total", storage, ""),
		}
	}
	const reads, stages = "apiserver_watch_cache_consistent_read_total", "apiserver_watch_events_dispatch_duration_seconds"
	const checks = "apiserver_storage_consistency_checks_total"
	return metrics{
		cacheLists:       series("apiserver_cache_list_total", ""),
		cacheFetched:     series("apiserver_cache_list_fetched_objects_total", ""),
		cacheReturned:    series("apiserver_cache_list_returned_objects_total"),
		received:         series("apiserver_storage_events_received_total"),
		decodeErrors:     series("apiserver_storage_decode_errors_total"),
		objects:          series("apiserver_resource_objects"),
		progress:         series("etcd_bookmark_total"),
		initEvents:       series("apiserver_init_events_total"),
		cached:           series("apiserver_watch_cache_events_received_total"),
		dispatched:       series("apiserver_watch_cache_events_dispatched_total"),
		terminated:       series("apiserver_terminated_watchers_total"),
		resourceVersion:  series("apiserver_watch_cache_resource_version"),
		capacity:         series("watch_cache_capacity"),
		grown:            series("watch_cache_capacity_increase_total"),
		shrunk:           series("watch_cache_capacity_decrease_total"),
		initializations:  series("apiserver_watch_cache_initializations_total"),
		initErrors:       series("apiserver_watch_cache_initialization_errors_total"),
		initSeconds:      series("apiserver_watch_cache_initialization_duration_seconds"),
		waitSeconds:      series("apiserver_watch_cache_read_wait_seconds"),
		checkSuccess:     series(checks, "success"),
		checkFailure:     series(checks, "failure"),
		checkError:       series(checks, "error"),
		cacheToWatcher:   series(stages, "cache_to_watcher"),
		shardedWatches:   series("apiserver_watch_shards_total"),
		shardFiltered:    series("apiserver_watch_filtered_events_total"),
		readCached:       series(reads, "true", "false"),
		readFailed:       series(reads, "false", "false"),
		readFellBack:     series(reads, "true", "true"),
		readFallBackLost: series(reads, "false", "true"),
		readRefused:      series(reads, "false", "skipped"),
		fromStore:        lists("etcd"),
		fromCache:        lists("watchcache"),
	}
}

// at records how far the cache is.
func (m *metrics) at(rv uint64, size int) {
	m.resourceVersion(float64(rv % resourceVersionDigits))
	m.objects(float64(size))
}

// list records a list that tested so many objects and returned so many of them.
func (m *listMetrics) list(fetched, returned int) {
	m.lists(1)
	m.fetched(float64(fetched))
	m.evaluated(float64(fetched))
	m.returned(float64(returned))
}
