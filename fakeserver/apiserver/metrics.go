package apiserver

import (
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/listwatch/listwatch/fakeserver/cacher"
)

// metrics are those of one Server, under the names that kube-apiserver has for
// them: dashboards and alerts can be tried on it.
type metrics struct {
	registry *prometheus.Registry
	handler  http.Handler

	requests, watchEvents, terminations      *prometheus.CounterVec
	durations, sizes, eventSizes, watchLists *prometheus.HistogramVec
	longRunning, inFlight                    *prometheus.GaugeVec
	store                                    requestMetrics

	mu      sync.Mutex // guards vectors
	vectors map[string]any
}

var (
	requestLabels = []string{"verb", "group", "version", "resource", "subresource", "scope", "component"}
	streamLabels  = []string{"group", "version", "resource"}
	storeLabels   = []string{"operation", "group", "resource"}
	// latencyBuckets are in seconds.
	latencyBuckets = []float64{0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 1.25, 1.5, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 45, 60}
)

// component is what all requests are labelled with.
const component = "apiserver"

func newMetrics() *metrics {
	m := &metrics{registry: prometheus.NewRegistry(), vectors: map[string]any{}}
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		v := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
		m.registry.MustRegister(v)
		return v
	}
	gauge := func(name, help string, labels ...string) *prometheus.GaugeVec {
		v := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, labels)
		m.registry.MustRegister(v)
		return v
	}
	histogram := func(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
		v := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, labels)
		m.registry.MustRegister(v)
		return v
	}
	verb, others := requestLabels[0], requestLabels[1:]
	m.requests = counter("apiserver_request_total", "Requests that were answered.",
		append(append([]string{verb, "dry_run"}, others...), "code")...)
	m.durations = histogram("apiserver_request_duration_seconds", "Time from a request to the end of its answer.",
		latencyBuckets, append([]string{verb, "dry_run"}, others...)...)
	m.sizes = histogram("apiserver_response_sizes", "Sizes of answers in bytes.",
		prometheus.ExponentialBuckets(1000, 10, 7), requestLabels...)
	m.terminations = counter("apiserver_request_terminations_total", "Requests that were refused to protect the server.",
		append(append([]string{}, requestLabels...), "code")...)
	m.longRunning = gauge("apiserver_longrunning_requests", "Open watches.", requestLabels...)
	m.inFlight = gauge("apiserver_current_inflight_requests", "Requests that are being answered, without watches.", "request_kind")
	m.watchEvents = counter("apiserver_watch_events_total", "Events that were sent to watches.", streamLabels...)
	m.eventSizes = histogram("apiserver_watch_events_sizes", "Sizes of those events in bytes.",
		prometheus.ExponentialBuckets(1024, 2, 8), streamLabels...)
	m.watchLists = histogram("apiserver_watch_list_duration_seconds", "Time until the initial events of a watch were sent.",
		latencyBuckets[2:], "group", "version", "resource", "scope")
	m.store = requestMetrics{
		seconds: histogram("etcd_request_duration_seconds", "Duration of requests to the store.", latencyBuckets, storeLabels...),
		total:   counter("etcd_requests_total", "Requests to the store.", storeLabels...),
		failed:  counter("etcd_request_errors_total", "Requests to the store that failed.", storeLabels...),
	}
	// There are no leases: nothing is ever observed.
	histogram("etcd_lease_object_counts", "Objects of one lease.", []float64{10, 50, 100, 500, 1000, 2500, 5000}).WithLabelValues()
	m.handler = promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{DisableCompression: true})
	return m
}

// serve answers /metrics.
func (m *metrics) serve(w http.ResponseWriter, r *http.Request) { m.handler.ServeHTTP(w, r) }

// verbNames are the names of verbs in metrics where they are not the verb in
// capitals.
var verbNames = map[string]string{"create": "POST", "update": "PUT"}

// requestLabelsOf are those of a request for a resource; of another one they are mostly
// empty.
func requestLabelsOf(q *request, method string) []string {
	if q == nil {
		return []string{method, "", "", "", "", "", component}
	}
	if q.verb == "" { // it was refused: what it names need not exist
		return []string{method, q.gvr.Group, q.gvr.Version, q.gvr.Resource, "", scopeLabel(q), component}
	}
	name, ok := verbNames[q.verb]
	switch {
	case q.verb == "patch" && strings.HasPrefix(q.Header.Get("Content-Type"), "application/apply-patch"):
		name = "APPLY"
	case !ok:
		name = strings.ToUpper(q.verb)
	}
	return []string{name, q.gvr.Group, q.gvr.Version, q.gvr.Resource, q.subresource, scopeLabel(q), component}
}

func scopeLabel(q *request) string {
	switch {
	case q.name != "" || q.verb == "create":
		return "resource"
	case q.namespace != "":
		return "namespace"
	}
	return "cluster"
}

// observe counts a request that was answered.
func (m *metrics) observe(w *trackingWriter, r *http.Request, started time.Time) {
	labels := requestLabelsOf(w.request, methodLabel(r.Method))
	dryRun := strings.Join(r.URL.Query()["dryRun"], ",")
	if dryRun != "" && dryRun != "All" {
		dryRun = "invalid" // whatever a client writes must not become a series
	}
	withDryRun := append([]string{labels[0], dryRun}, labels[1:]...)
	m.requests.WithLabelValues(append(withDryRun, strconv.Itoa(w.status()))...).Inc()
	m.durations.WithLabelValues(withDryRun...).Observe(time.Since(started).Seconds())
	if w.request != nil && w.request.verb != "watch" {
		m.sizes.WithLabelValues(labels...).Observe(float64(w.written))
	}
}

// methodLabel keeps methods that nobody has from becoming series.
func methodLabel(method string) string {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions:
		return method
	}
	return "OTHER"
}

// open counts an open watch until the result is called.
func (m *metrics) open(q *request) (done func()) {
	gauge := m.longRunning.WithLabelValues(requestLabelsOf(q, q.Method)...)
	gauge.Inc()
	return gauge.Dec
}

// events returns what counts the events of a stream.
func (m *metrics) events(q *request) func(size int) {
	total := m.watchEvents.WithLabelValues(q.gvr.Group, q.gvr.Version, q.gvr.Resource)
	sizes := m.eventSizes.WithLabelValues(q.gvr.Group, q.gvr.Version, q.gvr.Resource)
	return func(size int) {
		total.Inc()
		sizes.Observe(float64(size))
	}
}

// initial returns what is to be called when the initial events were sent.
func (m *metrics) initial(q *request) func() {
	started := time.Now()
	return func() {
		m.watchLists.WithLabelValues(q.gvr.Group, q.gvr.Version, q.gvr.Resource, scopeLabel(q)).Observe(time.Since(started).Seconds())
	}
}

// Series implements cacher.Recorder.
func (m *metrics) Series(metric cacher.Metric, labels []string) func(float64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	vector := m.vectors[metric.Name]
	if vector == nil {
		vector = m.register(metric)
		m.vectors[metric.Name] = vector
	}
	switch v := vector.(type) {
	case *prometheus.GaugeVec:
		return v.WithLabelValues(labels...).Set
	case *prometheus.HistogramVec:
		return v.WithLabelValues(labels...).Observe
	}
	return vector.(*prometheus.CounterVec).WithLabelValues(labels...).Add
}

func (m *metrics) register(metric cacher.Metric) prometheus.Collector {
	var vector prometheus.Collector
	switch metric.Kind {
	case cacher.Gauge:
		vector = prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: metric.Name, Help: metric.Help}, metric.Labels)
	case cacher.Histogram:
		vector = prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: metric.Name, Help: metric.Help, Buckets: metric.Buckets,
		}, metric.Labels)
	default:
		vector = prometheus.NewCounterVec(prometheus.CounterOpts{Name: metric.Name, Help: metric.Help}, metric.Labels)
	}
	m.registry.MustRegister(vector)
	return vector
}
