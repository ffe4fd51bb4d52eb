package apiserver

import (
	"context"
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/listwatch/listwatch/fakeserver/cacher"
	"github.com/listwatch/listwatch/fakeserver/storage"
)

// requestMetrics are those of requests to the store, which stands where a real
// server has etcd.
type requestMetrics struct {
	seconds       *prometheus.HistogramVec
	total, failed *prometheus.CounterVec
}

// measured is a store that records what one resource asks of it, under the names
// that kube-apiserver has for the operations of etcd.
type measured struct {
	storage.Store
	kind    *storedKind
	metrics *requestMetrics
}

// measure wraps a store without hiding what else it can do.
func (m *metrics) measure(store storage.Store, kind *storedKind) storage.Store {
	wrapped := &measured{store, kind, &m.store}
	if lister, ok := store.(cacher.WatchLister); ok {
		return &measuredLister{wrapped, lister}
	}
	return wrapped
}

// measuredLister is measured for one that can begin a watch with the state.
type measuredLister struct {
	*measured
	lister cacher.WatchLister
}

func (m *measuredLister) WatchList(ctx context.Context, prefix string) (w storage.Watch, err error) {
	m.request("listStream", func() error { w, err = m.lister.WatchList(ctx, prefix); return err })
	return w, err
}

// Compacted implements cacher.Forgetful.
func (m *measured) Compacted() int64 {
	if store, ok := m.Store.(cacher.Forgetful); ok {
		return store.Compacted()
	}
	return 0
}

// request records one. That a key is not, or not any more, as the request says is
// an answer of etcd, not a failure.
func (m *measured) request(operation string, do func() error) {
	began := time.Now()
	err := do()
	labels := []string{operation, m.kind.resource.Group, m.kind.resource.Resource}
	m.metrics.seconds.WithLabelValues(labels...).Observe(time.Since(began).Seconds())
	m.metrics.total.WithLabelValues(labels...).Inc()
	switch {
	case err == nil, errors.Is(err, storage.ErrNotFound), errors.Is(err, storage.ErrExists), errors.Is(err, storage.ErrConflict):
	default:
		m.metrics.failed.WithLabelValues(labels...).Inc()
	}
}

func (m *measured) CurrentRevision(ctx context.Context) (revision int64, err error) {
	m.request("getCurrentResourceVersion", func() error { revision, err = m.Store.CurrentRevision(ctx); return err })
	return revision, err
}

func (m *measured) Get(ctx context.Context, key string, revision int64) (kv storage.KeyValue, err error) {
	m.request("get", func() error { kv, err = m.Store.Get(ctx, key, revision); return err })
	return kv, err
}

func (m *measured) List(ctx context.Context, prefix string, opts storage.ListOptions) (result storage.ListResult, err error) {
	m.request("list", func() error { result, err = m.Store.List(ctx, prefix, opts); return err })
	return result, err
}

func (m *measured) Create(ctx context.Context, key string, value []byte) (kv storage.KeyValue, err error) {
	m.request("create", func() error { kv, err = m.Store.Create(ctx, key, value); return err })
	return kv, err
}

func (m *measured) Update(ctx context.Context, key string, value []byte, expected int64) (kv storage.KeyValue, err error) {
	m.request("update", func() error { kv, err = m.Store.Update(ctx, key, value, expected); return err })
	return kv, err
}

func (m *measured) Delete(ctx context.Context, key string, expected int64) (kv storage.KeyValue, err error) {
	m.request("delete", func() error { kv, err = m.Store.Delete(ctx, key, expected); return err })
	return kv, err
}

// usageTeller is a store that can say how much it holds, as storage.Memory can.
type usageTeller interface {
	Usage(prefix string) storage.Usage
	Size() int64
}

// usage is a prometheus.Collector of what the store holds, looked at when it is
// asked: a real server asks etcd once a minute.
type usage struct {
	store                            storage.Store
	kinds                            func() []*storedKind
	objects, objectsOf, sizeOf, size *prometheus.Desc
}

func newUsage(store storage.Store, kinds func() []*storedKind) *usage {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc(name, help, labels, nil)
	}
	return &usage{
		store: store, kinds: kinds,
		objects:   desc("apiserver_storage_objects", "Stored objects; -1 if they cannot be counted.", "resource"),
		objectsOf: desc("apiserver_resource_objects", "Stored objects; -1 if they cannot be counted.", "group", "resource"),
		sizeOf:    desc("apiserver_resource_size_estimate_bytes", "Size of stored objects; -1 if it is unknown.", "group", "resource"),
		size:      desc("apiserver_storage_size_bytes", "Size of all that the store keeps, history included.", "storage_cluster_id"),
	}
}

// Describe implements prometheus.Collector.
func (u *usage) Describe(descs chan<- *prometheus.Desc) {
	for _, desc := range []*prometheus.Desc{u.objects, u.objectsOf, u.sizeOf, u.size} {
		descs <- desc
	}
}

// Collect implements prometheus.Collector.
func (u *usage) Collect(metrics chan<- prometheus.Metric) {
	gauge := func(desc *prometheus.Desc, value int64, labels ...string) {
		metrics <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, float64(value), labels...)
	}
	store, ok := u.store.(usageTeller)
	if ok {
		gauge(u.size, store.Size(), "etcd-0") // as a real server calls the first of its stores
	}
	for _, kind := range u.kinds() {
		used := storage.Usage{Keys: -1, Bytes: -1}
		if ok {
			used = store.Usage(kind.prefix)
		}
		gauge(u.objects, used.Keys, kind.resource.String())
		gauge(u.objectsOf, used.Keys, kind.resource.Group, kind.resource.Resource)
		gauge(u.sizeOf, used.Bytes, kind.resource.Group, kind.resource.Resource)
	}
}
