// Package informermetrics gives Prometheus the metrics of informers.
//
//	metrics := informermetrics.New()
//	registry.MustRegister(metrics)
//	err := metrics.Add(pods, nodes) // any Informer
//
// Metrics are read from Status when Prometheus asks, so an informer does nothing
// for them but what it does anyway: no metric is touched when an object changes.
// A scrape costs some microseconds an informer.
//
// # Names
//
// informer_queued_items, informer_processing_latency_seconds and
// informer_store_resource_version are those of client-go 0.37 (as registered by
// k8s.io/component-base), with its labels name, group, version and resource and
// its buckets, so that dashboards keep working. What they measure is the same
// but for the units of work: here a batch of changes is processed at once, and a
// complete list is one queued item. The other metrics have no counterpart there;
// they have the same labels, and handler or reason where there is one.
//
// # Series
//
// An informer is told from others by the four labels. Add refuses a second one
// with the same, which would make a scrape fail. An informer has series while it
// runs: they are gone after the end of Run, after Remove, or, for a handler,
// after its removal, and counters go on where they were when Run is called again.
// Handlers of one informer with the same name are added up.
//
// # Concurrency
//
// All methods may be called at any time, from any goroutine. There are no
// goroutines.
package informermetrics
