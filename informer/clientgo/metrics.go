package clientgo

import (
	"reflect"
	"time"
	"unsafe"

	"k8s.io/client-go/tools/cache"
)

// instruments update the metrics that client-go's informers have, made by the same
// provider and at the same moments. They are an informer.Instruments.
type instruments struct {
	id       cache.InformerNameAndResource
	provider cache.InformerMetricsProvider // nil: that of cache.SetInformerMetricsProvider
	store    cache.Store                   // empty; its Bookmark updates the metric as any store of client-go does

	queued  cache.GaugeMetric     // nil: none
	latency cache.HistogramMetric // nil: none
}

// newInstruments returns nil for an informer without an identity that is reserved, which
// has no metrics.
func newInstruments(options cache.SharedIndexInformerOptions) *instruments {
	if !options.Identifier.Reserved() {
		return nil
	}
	return &instruments{
		id: options.Identifier, provider: options.InformerMetricsProvider,
		store: cache.NewStore(cache.MetaNamespaceKeyFunc, cache.WithStoreMetrics(options.Identifier, options.InformerMetricsProvider)),
	}
}

// begin makes the metrics of the queue, which client-go makes with it, when the informer
// is started.
func (m *instruments) begin() {
	switch {
	case m == nil || !m.id.Reserved():
	case m.provider != nil:
		m.queued, m.latency = m.provider.NewQueuedItemMetric(m.id), m.provider.NewProcessingLatencyMetric(m.id)
	default:
		// The provider of the process can be set, but not asked for. A queue has what it
		// made.
		queue := cache.NewRealFIFOWithOptions(cache.RealFIFOOptions{Identifier: m.id, AtomicEvents: true})
		metrics := reflect.ValueOf(queue).Elem().FieldByName("metrics")
		m.queued, m.latency = hidden[cache.GaugeMetric](metrics, "numberOfQueuedItem"), hidden[cache.HistogramMetric](metrics, "processingLatency")
	}
}

// hidden is a field of the struct that v points to, nil if there is none of the name and
// type: it is not exported, and may go.
func hidden[T any](v reflect.Value, name string) (value T) {
	if v.Kind() != reflect.Pointer || v.IsNil() || v.Elem().Kind() != reflect.Struct {
		return value
	}
	field := v.Elem().FieldByName(name)
	if !field.IsValid() || field.Type() != reflect.TypeFor[T]() {
		return value
	}
	return *(*T)(unsafe.Pointer(field.UnsafeAddr()))
}

// Queued implements informer.Instruments.
func (m *instruments) Queued(n int) {
	if m.queued != nil {
		m.queued.Set(float64(n))
	}
}

// Processed implements informer.Instruments.
func (m *instruments) Processed(took time.Duration) {
	if m.latency != nil {
		m.latency.Observe(took.Seconds())
	}
}

// Stored implements informer.Instruments.
func (m *instruments) Stored(resourceVersion string) { m.store.Bookmark(resourceVersion) }

// identifier is the identity that a generated factory's informer of a collection has:
// none unless the factory was made WithInformerName, or with a fake client, which does
// not know of versions.
func (c collection) identifier(factory, clientset any) cache.InformerNameAndResource {
	named, ok := factory.(interface{ InformerName() *cache.InformerName })
	if !ok || named.InformerName() == nil {
		return cache.InformerNameAndResource{}
	}
	gvr, ok := c.at(clientset)
	if !ok {
		return cache.InformerNameAndResource{}
	}
	return named.InformerName().WithResource(gvr)
}
