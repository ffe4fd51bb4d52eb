package ops

import (
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/util/workqueue"
)

// QueueMetrics gives work queues metrics in registry: for the MetricsProvider of
// their config. Names and buckets are those of Kubernetes' own controllers. Queues
// are told apart by their names; a queue that takes the name of an earlier one goes
// on with its series.
func QueueMetrics(registry prometheus.Registerer) workqueue.MetricsProvider {
	m := &queueMetrics{
		depth:      gauge("depth", "Items that wait."),
		unfinished: gauge("unfinished_work_seconds", "For how long items have been worked on that are not done, added up."),
		longest:    gauge("longest_running_processor_seconds", "For how long the oldest item has been worked on that is not done."),
		adds:       counter("adds_total", "Items added."),
		retries:    counter("retries_total", "Items added again after a failure."),
		latency:    histogram("queue_duration_seconds", "How long items waited."),
		work:       histogram("work_duration_seconds", "How long items were worked on."),
	}
	registry.MustRegister(m.depth, m.unfinished, m.longest, m.adds, m.retries, m.latency, m.work)
	return m
}

// queueMetrics implements workqueue.MetricsProvider.
type queueMetrics struct {
	depth, unfinished, longest *prometheus.GaugeVec
	adds, retries              *prometheus.CounterVec
	latency, work              *prometheus.HistogramVec
}

var queueLabels = []string{"name"}

func gauge(name, help string) *prometheus.GaugeVec {
	return prometheus.NewGaugeVec(prometheus.GaugeOpts{Namespace: "workqueue", Name: name, Help: help}, queueLabels)
}

func counter(name, help string) *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: "workqueue", Name: name, Help: help}, queueLabels)
}

func histogram(name, help string) *prometheus.HistogramVec {
	const microsecond = 1e-6
	return prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Namespace: "workqueue", Name: name, Help: help, Buckets: prometheus.ExponentialBuckets(10*microsecond, 10, 8),
	}, queueLabels)
}

func (m *queueMetrics) NewDepthMetric(name string) workqueue.GaugeMetric {
	depth := m.depth.WithLabelValues(name)
	depth.Set(0) // what an earlier queue of this name left behind is gone
	return depth
}

func (m *queueMetrics) NewAddsMetric(name string) workqueue.CounterMetric {
	return m.adds.WithLabelValues(name)
}

func (m *queueMetrics) NewLatencyMetric(name string) workqueue.HistogramMetric {
	return m.latency.WithLabelValues(name)
}

func (m *queueMetrics) NewWorkDurationMetric(name string) workqueue.HistogramMetric {
	return m.work.WithLabelValues(name)
}

func (m *queueMetrics) NewUnfinishedWorkSecondsMetric(name string) workqueue.SettableGaugeMetric {
	return m.unfinished.WithLabelValues(name)
}

func (m *queueMetrics) NewLongestRunningProcessorSecondsMetric(name string) workqueue.SettableGaugeMetric {
	return m.longest.WithLabelValues(name)
}

func (m *queueMetrics) NewRetriesMetric(name string) workqueue.CounterMetric {
	return m.retries.WithLabelValues(name)
}
