package main

import (
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/util/workqueue"

	"github.com/listwatch/listwatch/examples/controllers/internal/ops"
	"github.com/listwatch/listwatch/informer"
	"github.com/listwatch/listwatch/informer/clientgo"
	"github.com/listwatch/listwatch/informer/informermetrics"
)

// metrics outlive the controller: after a lost lease there is another one.
type metrics struct {
	registry  *prometheus.Registry
	informers *informermetrics.Collector
	queues    workqueue.MetricsProvider
	patches   *prometheus.CounterVec // by result: written, gone, failed
}

func newMetrics() *metrics {
	m := &metrics{
		registry:  ops.NewRegistry(),
		informers: informermetrics.New(),
		patches: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "podlabeler_patches_total", Help: "Patches of pods, by what became of them.",
		}, []string{"result"}),
	}
	m.registry.MustRegister(m.informers, m.patches)
	m.queues = ops.QueueMetrics(m.registry)
	return m
}

// forget ends the series of informers.
func (m *metrics) forget(gone []*informer.Informer[clientgo.Object]) {
	for _, one := range gone {
		m.informers.Remove(one)
	}
}
