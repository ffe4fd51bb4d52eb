package informermetrics

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/listwatch/listwatch/informer"
	"github.com/listwatch/listwatch/reflector"
)

// identity are the labels of all metrics.
var identity = []string{"name", "group", "version", "resource"}

// metric is one that is read from a Status: collect emits its values, each with
// those of its further labels.
type metric struct {
	desc    *prometheus.Desc
	kind    prometheus.ValueType
	collect func(s informer.Status, emit func(value float64, labels ...string))
}

func describe(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("informer_"+name, help, append(identity[:len(identity):len(identity)], labels...), nil)
}

// gauge is a metric with one value.
func gauge(name, help string, value func(informer.Status) float64) metric {
	return metric{describe(name, help), prometheus.GaugeValue, func(s informer.Status, emit func(float64, ...string)) { emit(value(s)) }}
}

// counter adds up what the reflectors counted.
func counter(name, help string, value func(reflector.Status) int64) metric {
	return metric{describe(name, help), prometheus.CounterValue, func(s informer.Status, emit func(float64, ...string)) {
		emit(float64(total(s, value)))
	}}
}

func total(s informer.Status, value func(reflector.Status) int64) int64 {
	var sum int64
	for _, part := range s.Parts {
		sum += value(part.Reflector)
	}
	return sum
}

// plain is a counter of the informer's own.
func plain(name, help string, value func(informer.Status) float64) metric {
	m := gauge(name, help, value)
	m.kind = prometheus.CounterValue
	return m
}

// moment is the time of the newest of something, as Prometheus has times; it has
// no value before the first.
func moment(name, help string, at func(reflector.Status) time.Time) metric {
	return metric{describe(name, help), prometheus.GaugeValue, func(s informer.Status, emit func(float64, ...string)) {
		var newest time.Time
		for _, part := range s.Parts {
			if t := at(part.Reflector); t.After(newest) {
				newest = t
			}
		}
		if !newest.IsZero() {
			emit(float64(newest.UnixNano()) / 1e9)
		}
	}}
}

// perHandler adds up, or takes the largest of, what handlers of one name have.
func perHandler(name, help string, kind prometheus.ValueType, largest bool, value func(informer.HandlerStatus) float64) metric {
	return metric{describe(name, help, "handler"), kind, func(s informer.Status, emit func(float64, ...string)) {
		byName := map[string]float64{}
		for _, h := range s.Handlers {
			if largest {
				byName[h.Name] = max(byName[h.Name], value(h))
			} else {
				byName[h.Name] += value(h)
			}
		}
		for name, v := range byName {
			emit(v, name)
		}
	}}
}

var latencyDesc = describe("processing_latency_seconds",
	"Time from taking a batch of changes from the queue until the cache has it and handlers were woken.")

// metrics are all but the latency.
var metrics = []metric{
	gauge("queued_items", "Changes that were received and wait for the cache; a complete list counts as one.",
		func(s informer.Status) float64 { return float64(s.QueueDepth) }),
	gauge("queue_age_seconds", "For how long the oldest change that waits for the cache has waited.",
		func(s informer.Status) float64 { return s.QueueAge.Seconds() }),
	{describe("store_resource_version", "The last 15 digits of the cache's resourceVersion."), prometheus.GaugeValue, storeVersion},
	gauge("synced", "1 if the cache has had a complete list since the informer was started, else 0.",
		func(s informer.Status) float64 { return boolean(s.Synced) }),
	gauge("objects", "Objects in the cache.", func(s informer.Status) float64 { return float64(s.Objects) }),
	gauge("objects_bytes", "Estimated memory of the objects in the cache.",
		func(s informer.Status) float64 { return float64(s.Bytes) }),

	perHandler("handler_depth", "Calls that a handler is behind, the one in progress included.", prometheus.GaugeValue, false,
		func(h informer.HandlerStatus) float64 { return float64(h.Depth) }),
	perHandler("handler_age_seconds", "How long ago the cache took the batch that a handler is in the middle of.", prometheus.GaugeValue, true,
		func(h informer.HandlerStatus) float64 { return h.Age.Seconds() }),
	perHandler("handler_calls_total", "Calls of a handler.", prometheus.CounterValue, false,
		func(h informer.HandlerStatus) float64 { return float64(h.Calls) }),
	perHandler("handler_panics_total", "Calls of a handler that ended with a panic.", prometheus.CounterValue, false,
		func(h informer.HandlerStatus) float64 { return float64(h.Panics) }),
	perHandler("handler_slowest_call_seconds", "The slowest call of a handler so far.", prometheus.GaugeValue, true,
		func(h informer.HandlerStatus) float64 { return h.Slowest.Seconds() }),

	{describe("relists_total", "Complete lists, by what made them necessary.", "reason"), prometheus.CounterValue, relists},
	counter("lists_total", "LISTs begun.", func(s reflector.Status) int64 { return s.Lists }),
	counter("list_pages_total", "Requests for pages of LISTs.", func(s reflector.Status) int64 { return s.Pages }),
	counter("watch_lists_total", "Watches asked for that begin with all objects.", func(s reflector.Status) int64 { return s.WatchLists }),
	counter("watches_total", "Other watches asked for.", func(s reflector.Status) int64 { return s.Watches }),
	counter("reconnects_total", "Those of the watches that went on where an earlier one ended.",
		func(s reflector.Status) int64 { return s.Reconnects }),
	counter("rewinds_total", "Complete lists that followed the server's history back.",
		func(s reflector.Status) int64 { return s.Rewinds }),
	counter("probes_total", "LISTs of one item that asked whether it went back.",
		func(s reflector.Status) int64 { return s.Probes }),
	counter("decoded_objects_total", "Objects that were decoded, where the source counts them.",
		func(s reflector.Status) int64 { return s.Decoded }),
	{describe("decode_seconds_total", "Time that decoding them took, of all goroutines together."), prometheus.CounterValue, decodeTime},
	counter("kept_objects_total", "Objects of complete lists that were not decoded or not replaced, as the cache had them.",
		func(s reflector.Status) int64 { return s.Kept }),
	counter("skipped_objects_total", "Objects that were left out because they are of another type.",
		func(s reflector.Status) int64 { return s.Skipped }),
	{describe("failed_tries", "Failed requests in a row, up to now."), prometheus.GaugeValue,
		func(s informer.Status, emit func(float64, ...string)) {
			emit(float64(total(s, func(s reflector.Status) int64 { return int64(s.Tries) })))
		}},
	moment("last_event_timestamp_seconds", "When the newest event of an object arrived.",
		func(s reflector.Status) time.Time { return s.LastEvent }),
	moment("last_bookmark_timestamp_seconds", "When the newest bookmark arrived.",
		func(s reflector.Status) time.Time { return s.LastBookmark }),

	plain("transform_failures_total", "Objects received that the transform failed for.",
		func(s informer.Status) float64 { return float64(s.Transform.Failures) }),
	plain("transform_dropped_total", "Objects received that the transform dropped.",
		func(s informer.Status) float64 { return float64(s.Transform.Dropped) }),
	gauge("transform_failing_objects", "Objects whose newest version is not in the cache because the transform failed for it.",
		func(s informer.Status) float64 { return float64(s.Transform.Standing) }),
	plain("index_errors_total", "Objects that an index function failed or panicked for, once for each index.",
		func(s informer.Status) float64 { return float64(s.IndexFailures) }),
	gauge("index_missing_objects", "Objects of the cache that are missing from an index because of that, once for each index.",
		func(s informer.Status) float64 { return float64(s.IndexErrorsStanding) }),
}

func boolean(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// storeVersion takes as many digits as a float64 can tell apart. There is no
// value for a cache that has no version, or one that is no number.
func storeVersion(s informer.Status, emit func(float64, ...string)) {
	digits := s.ResourceVersion
	digits = digits[max(0, len(digits)-15):]
	if version, err := strconv.ParseUint(digits, 10, 64); err == nil {
		emit(float64(version))
	}
}

func decodeTime(s informer.Status, emit func(float64, ...string)) {
	emit(time.Duration(total(s, func(s reflector.Status) int64 { return int64(s.DecodeTime) })).Seconds())
}

func relists(s informer.Status, emit func(float64, ...string)) {
	byReason := map[reflector.RelistReason]int64{}
	for _, part := range s.Parts {
		for reason, n := range part.Reflector.Relists {
			byReason[reason] += n
		}
	}
	for reason, n := range byReason {
		emit(float64(n), string(reason))
	}
}
