package cacher

import (
	"slices"
	"sync"
)

// memoryRecorder keeps metrics for tests.
type memoryRecorder struct {
	mu     sync.Mutex
	values map[string]float64
	counts map[string]int
}

func newMemoryRecorder() *memoryRecorder {
	return &memoryRecorder{values: map[string]float64{}, counts: map[string]int{}}
}

// Series names a series by its metric and its labels but group and resource.
func (m *memoryRecorder) Series(metric Metric, labels []string) func(float64) {
	name := metric.Name
	for i, label := range metric.Labels {
		if !slices.Contains(perResource, label) {
			name += " " + labels[i]
		}
	}
	return func(value float64) {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.counts[name]++
		if metric.Kind == Gauge {
			m.values[name] = value
		} else {
			m.values[name] += value
		}
	}
}

// value is the sum of a counter or histogram, or a gauge's last value.
func (m *memoryRecorder) value(name string) float64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.values[name]
}

// count is how many values a series was given.
func (m *memoryRecorder) count(name string) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.counts[name]
}
