package informermetrics

import (
	"fmt"
	"slices"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/listwatch/listwatch/informer"
)

// Source is what has metrics: any Informer.
type Source interface {
	// Status is a picture of it. Name and Collection never change.
	Status() informer.Status
}

// Collector is a prometheus.Collector for informers, which may come and go. Use
// New, and register it with a registry.
type Collector struct {
	mu      sync.Mutex // guards sources
	sources []source   // replaced as a whole
}

// source is an informer that was added.
type source struct {
	Source
	labels []string
}

// New returns a Collector without informers.
func New() *Collector { return &Collector{} }

// Add adds informers, all or, with an error, none. Errors: ErrDuplicate.
func (c *Collector) Add(informers ...Source) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	sources := slices.Clone(c.sources)
	for _, one := range informers {
		added := source{Source: one, labels: labelsOf(one)}
		for _, other := range sources {
			if slices.Equal(other.labels, added.labels) {
				return fmt.Errorf("informer metrics: %w: name %q, group %q, version %q, resource %q",
					ErrDuplicate, added.labels[0], added.labels[1], added.labels[2], added.labels[3])
			}
		}
		sources = append(sources, added)
	}
	c.sources = sources
	return nil
}

// Remove removes an informer and its series. It does nothing if the informer was
// not added.
func (c *Collector) Remove(informer Source) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sources = slices.DeleteFunc(slices.Clone(c.sources), func(s source) bool { return s.Source == informer })
}

// labelsOf are the values of the labels of identity.
func labelsOf(s Source) []string {
	status := s.Status()
	collection := status.Collection
	return []string{status.Name, collection.Group, collection.Version, collection.Resource}
}

// Describe implements prometheus.Collector.
func (c *Collector) Describe(to chan<- *prometheus.Desc) {
	for _, m := range metrics {
		to <- m.desc
	}
	to <- latencyDesc
}

// Collect implements prometheus.Collector.
func (c *Collector) Collect(to chan<- prometheus.Metric) {
	c.mu.Lock()
	sources := c.sources
	c.mu.Unlock()
	for _, s := range sources {
		status := s.Status()
		if !status.Running {
			continue
		}
		for _, m := range metrics {
			m.collect(status, func(value float64, more ...string) {
				to <- prometheus.MustNewConstMetric(m.desc, m.kind, value, append(slices.Clip(s.labels), more...)...)
			})
		}
		to <- latency(status.Processing, s.labels)
	}
}

// latency is a histogram, in seconds.
func latency(h informer.Histogram, labels []string) prometheus.Metric {
	buckets := make(map[float64]uint64, len(h.Buckets))
	for _, b := range h.Buckets {
		buckets[b.UpTo.Seconds()] = b.Count
	}
	return prometheus.MustNewConstHistogram(latencyDesc, h.Count, h.Sum.Seconds(), buckets, labels...)
}
