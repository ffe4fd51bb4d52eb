package apiserver

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing/synctest"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/listwatch/listwatch/fakeserver/cacher"
	"github.com/listwatch/listwatch/fakeserver/storage"
	"github.com/listwatch/listwatch/internal/bubble"
)

// servedMetrics are those of kube-apiserver 1.37 about its caches, its storage and
// its requests, with their labels.
var servedMetrics = map[string]string{
	"apiserver_cache_list_total":                            "group index resource",
	"apiserver_cache_list_fetched_objects_total":            "group index resource",
	"apiserver_cache_list_returned_objects_total":           "group resource",
	"apiserver_init_events_total":                           "group resource",
	"apiserver_watch_cache_events_received_total":           "group resource",
	"apiserver_watch_cache_events_dispatched_total":         "group resource",
	"apiserver_terminated_watchers_total":                   "group resource",
	"apiserver_watch_cache_resource_version":                "group resource",
	"watch_cache_capacity":                                  "group resource",
	"watch_cache_capacity_increase_total":                   "group resource",
	"watch_cache_capacity_decrease_total":                   "group resource",
	"apiserver_watch_cache_initializations_total":           "group resource",
	"apiserver_watch_cache_initialization_errors_total":     "group resource",
	"apiserver_watch_cache_initialization_duration_seconds": "group resource",
	"apiserver_watch_cache_read_wait_seconds":               "group resource",
	"apiserver_watch_cache_consistent_read_total":           "fallback group resource success",
	"apiserver_storage_consistency_checks_total":            "group resource status",
	"apiserver_watch_events_dispatch_duration_seconds":      "group resource stage",
	"apiserver_watch_shards_total":                          "group resource",
	"apiserver_watch_filtered_events_total":                 "group resource",
	"apiserver_storage_list_total":                          "group index resource storage",
	"apiserver_storage_list_fetched_objects_total":          "group index resource storage",
	"apiserver_storage_list_evaluated_objects_total":        "group resource storage",
	"apiserver_storage_list_returned_objects_total":         "group resource storage",
	"apiserver_storage_list_duration_seconds":               "group resource streamed",
	"apiserver_storage_events_received_total":               "group resource",
	"apiserver_storage_objects":                             "resource",
	"apiserver_resource_objects":                            "group resource",
	"apiserver_resource_size_estimate_bytes":                "group resource",
	"apiserver_storage_size_bytes":                          "storage_cluster_id",
	"apiserver_storage_decode_errors_total":                 "group resource",
	"etcd_request_duration_seconds":                         "group operation resource",
	"etcd_requests_total":                                   "group operation resource",
	"etcd_request_errors_total":                             "group operation resource",
	"etcd_bookmark_total":                                   "group resource",
	"etcd_bookmark_counts":                                  "group resource",
	"etcd_lease_object_counts":                              "",
	"apiserver_request_total":                               "code component dry_run group resource scope subresource verb version",
	"apiserver_request_duration_seconds":                    "component dry_run group resource scope subresource verb version",
	"apiserver_longrunning_requests":                        "component group resource scope subresource verb version",
	"apiserver_response_sizes":                              "component group resource scope subresource verb version",
	"apiserver_watch_events_total":                          "group resource version",
	"apiserver_watch_events_sizes":                          "group resource version",
	"apiserver_watch_list_duration_seconds":                 "group resource scope version",
	"apiserver_current_inflight_requests":                   "request_kind",
	"apiserver_request_terminations_total":                  "code component group resource scope subresource verb version",
}

// gathered are the metrics of a server, by name, with the labels of the first
// series.
func (r *rig) gathered() map[string]string {
	families, err := r.metrics.registry.Gather()
	Expect(err).NotTo(HaveOccurred())
	found := map[string]string{}
	for _, family := range families {
		var labels []string
		for _, label := range family.Metric[0].Label {
			labels = append(labels, label.GetName())
		}
		slices.Sort(labels)
		found[family.GetName()] = strings.Join(labels, " ")
	}
	return found
}

var _ = Describe("the names of metrics", func() {
	bubble.It("are those of a real server, labels included, and all are served", func() {
		r, store := stuckRig(Options{MaxInFlight: 1})
		r.watchMaps("&allowWatchBookmarks=true")
		old := r.configMap("a", "")
		r.configMap("b", "")
		settle()
		_, err := r.Compact(context.Background())
		Expect(err).NotTo(HaveOccurred())
		r.must(http.StatusGone, "GET", configMaps+"?resourceVersionMatch=Exact&resourceVersion="+old, "")
		store.active = true
		first := r.open(configMaps + "/a")
		synctest.Wait()
		r.must(http.StatusTooManyRequests, "GET", configMaps, "")
		first.cancel()
		<-first.done
		found := r.gathered()
		for name, labels := range servedMetrics {
			Expect(found[name]).To(Equal(labels), name)
			delete(found, name)
		}
		Expect(found).To(BeEmpty())
	})
})

var _ = Describe("metrics of the store", func() {
	bubble.It("count what each resource asks it, and what fails", func() {
		r := inBubble()
		old := r.configMap("a", "")
		r.must(http.StatusConflict, "POST", configMaps, `{"metadata":{"name":"a"}}`)
		r.must(http.StatusOK, "PUT", configMaps+"/a", `{"metadata":{"name":"a"},"data":{"k":"v"}}`)
		r.must(http.StatusOK, "DELETE", configMaps+"/a", "")
		_, err := r.Compact(context.Background())
		Expect(err).NotTo(HaveOccurred())
		r.must(http.StatusGone, "GET", configMaps+"?resourceVersionMatch=Exact&resourceVersion="+old, "")
		for operation, want := range map[string]string{"create": "2", "update": "1", "delete": "1", "list": "2"} {
			Expect(r.metric("etcd_requests_total")).To(ContainElement(
				`etcd_requests_total{group="",operation="` + operation + `",resource="configmaps"} ` + want))
		}
		Expect(r.metric("etcd_request_errors_total")).To(Equal([]string{
			`etcd_request_errors_total{group="",operation="list",resource="configmaps"} 1`}))
		Expect(r.metric(`etcd_request_duration_seconds_count{group="",operation="create",resource="configmaps"} 2`)).NotTo(BeEmpty())
	})

	bubble.It("tell what it holds when they are asked for", func() {
		r := inBubble()
		empty := r.metric("apiserver_storage_size_bytes")
		r.configMap("a", "")
		r.configMap("b", "")
		r.must(http.StatusOK, "DELETE", configMaps+"/a", "")
		for _, line := range []string{
			`apiserver_storage_objects{resource="configmaps"} 1`,
			`apiserver_storage_objects{resource="deployments.apps"} 0`,
			`apiserver_resource_objects{group="",resource="configmaps"} 1`,
		} {
			Expect(r.metric(line)).To(HaveLen(1), line)
		}
		Expect(r.metric(`apiserver_resource_size_estimate_bytes{group="",resource="configmaps"} 0`)).To(BeEmpty())
		Expect(r.metric("apiserver_storage_size_bytes")).NotTo(Equal(empty))
	})

	It("say -1 of a store that cannot tell", func() {
		registry := prometheus.NewRegistry()
		registry.MustRegister(newUsage(struct{ storage.Store }{}, func() []*storedKind { return []*storedKind{{}} }))
		families, err := registry.Gather()
		Expect(err).NotTo(HaveOccurred())
		Expect(families).To(HaveLen(3))
		for _, family := range families {
			Expect(family.Metric[0].Gauge.GetValue()).To(Equal(-1.0))
		}
	})

	It("do not hide what else the store can do", func() {
		lister := struct{ cacher.WatchLister }{}
		_, can := newMetrics().measure(lister, &storedKind{}).(cacher.WatchLister)
		Expect(can).To(BeTrue())
		_, can = newMetrics().measure(storage.NewMemory(), &storedKind{}).(cacher.WatchLister)
		Expect(can).To(BeFalse())
	})
})
