package cacher

import (
	"io"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/listwatch/listwatch/fakeserver/storage"
)

func TestMetricsAreDescribedOnce(t *testing.T) {
	seen := map[string]bool{}
	for _, m := range Metrics() {
		if seen[m.Name] || m.Help == "" || m.Kind == 0 || (m.Kind == Histogram) != (m.Buckets != nil) || !slices.IsSorted(m.Buckets) {
			t.Errorf("%+v", m)
		}
		if !slices.Contains(m.Labels, "group") || !slices.Contains(m.Labels, "resource") {
			t.Errorf("%s has the labels %v", m.Name, m.Labels)
		}
		if (m.Kind == Counter) != strings.HasSuffix(m.Name, "_total") && m.Name != "apiserver_watch_shards_total" { // as kube-apiserver has it
			t.Errorf("%s is of kind %v", m.Name, m.Kind)
		}
		seen[m.Name] = true
		m.Labels[0] = "changed"
	}
	if Metrics()[0].Labels[0] != "group" {
		t.Error("what Metrics returns is not the caller's own")
	}
}

// labelChecker fails if a series has not one value for each label.
type labelChecker struct {
	t    *testing.T
	seen map[string]int
}

func (l labelChecker) Series(metric Metric, labels []string) func(float64) {
	l.seen[metric.Name]++
	group, resource := slices.Index(metric.Labels, "group"), slices.Index(metric.Labels, "resource")
	if len(labels) != len(metric.Labels) || labels[group] != "apps" || labels[resource] != "deployments" {
		l.t.Errorf("%s: %v for %v", metric.Name, labels, metric.Labels)
	}
	return func(float64) {}
}

func TestEveryMetricHasItsSeriesFromTheStart(t *testing.T) {
	l := labelChecker{t: t, seen: map[string]int{}}
	newMetrics(&Options{Recorder: l, GroupResource: schema.GroupResource{Group: "apps", Resource: "deployments"}})
	for _, m := range Metrics() {
		if l.seen[m.Name] == 0 {
			t.Errorf("%s is never recorded", m.Name)
		}
	}
}

// expectValues compares series with what they must have.
func (m *memoryRecorder) expect(t *testing.T, want map[string]float64) {
	t.Helper()
	for name, value := range want {
		if got := m.value(name); got != value {
			t.Errorf("%s is %v, want %v", name, got, value)
		}
	}
}

func TestReadsAndEventsAreMeasured(t *testing.T) {
	recorder := newMemoryRecorder()
	observed := func(o *Options) { gated(o); sharded(o); o.Recorder = recorder }
	inBubble(t, observed, func(r *rig) {
		w := r.watch(WatchOptions{ResourceVersion: "1"})
		r.put("n/a", "1") // 2
		r.put("n/b", "2") // 3
		r.put("o/a", "1") // 4
		r.remove("n/b")   // 5
		r.expect(w, "ADDED n/a@2", "ADDED n/b@3", "ADDED o/a@4", "DELETED n/b@5")
		r.list(ListOptions{})                                                                         // 2 of 2
		r.list(ListOptions{Predicate: labelled("1"), ResourceVersion: "0"})                           // 2 of 2
		r.list(ListOptions{Predicate: Predicate{Scope: Scope{Namespace: "o"}}, ResourceVersion: "5"}) // 1 of 1
		r.list(ListOptions{Predicate: labelled("2"), ResourceVersion: "3", Match: exact})             // 1 of 2
		one := Predicate{Scope: Scope{Namespace: "n", Name: "a"}}
		r.list(ListOptions{Predicate: one, ResourceVersion: "3", Match: exact}) // 1 of 1, from the store
		r.expect(r.watch(WatchOptions{ResourceVersion: "0", SendInitialEvents: ptr(true)}), "ADDED n/a@2", "ADDED o/a@4")
		synctest.Wait() // an event is delivered before it is counted
		recorder.expect(t, map[string]float64{
			"apiserver_storage_events_received_total":                   4,
			"apiserver_watch_cache_events_received_total":               4,
			"apiserver_watch_cache_events_dispatched_total":             4,
			"apiserver_watch_cache_resource_version":                    5,
			"apiserver_watch_cache_initializations_total":               1,
			"apiserver_cache_list_total ":                               4,
			"apiserver_cache_list_fetched_objects_total ":               7,
			"apiserver_cache_list_returned_objects_total":               6,
			"apiserver_storage_list_total watchcache ":                  4,
			"apiserver_storage_list_evaluated_objects_total watchcache": 7,
			"apiserver_storage_list_total etcd ":                        2, // the cache's own is the first
			"apiserver_storage_list_fetched_objects_total etcd ":        1,
			"apiserver_storage_list_returned_objects_total etcd":        1,
			"apiserver_watch_cache_consistent_read_total true false":    1,
			"watch_cache_capacity":                                      100,
		})
		for name, want := range map[string]int{
			"apiserver_watch_events_dispatch_duration_seconds storage_to_cache": 4,
			"apiserver_watch_events_dispatch_duration_seconds cache_to_watcher": 4,
			"apiserver_watch_events_dispatch_duration_seconds total":            4,
			"apiserver_storage_list_duration_seconds false":                     2,
		} {
			if got := recorder.count(name); got != want {
				t.Errorf("%s has %d values, want %d", name, got, want)
			}
		}
	})
}

// decodeSlowly takes a second.
//
// bubble: only rigs in bubbles decode with it
func decodeSlowly(kv storage.KeyValue) (runtime.Object, error) {
	time.Sleep(time.Second)
	return decodeMeta(kv)
}

func TestTheStagesOfAnEventAddUp(t *testing.T) {
	recorder := newMemoryRecorder()
	slow := func(o *Options) { o.Recorder, o.Decode = recorder, decodeSlowly }
	inBubble(t, slow, func(r *rig) {
		w := r.watch(WatchOptions{ResourceVersion: "1"})
		r.put("n/a", "")
		time.Sleep(3 * time.Second)
		r.expect(w, "ADDED n/a@2")
		synctest.Wait() // an event is delivered before it is counted
		const stages = "apiserver_watch_events_dispatch_duration_seconds "
		recorder.expect(t, map[string]float64{stages + "storage_to_cache": 1, stages + "cache_to_watcher": 2, stages + "total": 3})
	})
}

func TestAListNamesTheIndexThatItUsed(t *testing.T) {
	recorder := newMemoryRecorder()
	inBubble(t, func(o *Options) { o.Fields, o.TriggerField = fieldsByLabel, "x"; o.Recorder = recorder }, func(r *rig) {
		r.list(ListOptions{Predicate: Predicate{Fields: fields.OneTermEqualSelector("x", "1")}, ResourceVersion: "0"})
		r.list(ListOptions{ResourceVersion: "0"})
		recorder.expect(t, map[string]float64{
			"apiserver_cache_list_total f:x":              1,
			"apiserver_cache_list_total ":                 1,
			"apiserver_storage_list_total watchcache f:x": 1,
			"apiserver_storage_list_total watchcache ":    1,
		})
	})
}

func TestConsistentReadsAreCountedByTheirOutcome(t *testing.T) {
	for _, refuse := range []bool{false, true} {
		recorder := newMemoryRecorder()
		observed := func(o *Options) { gated(o); o.Recorder, o.RefuseStale = recorder, refuse }
		inBubble(t, observed, func(r *rig) {
			r.gate().hold()
			r.put("n/a", "")
			_, _ = r.cacher.List(r.ctx, ListOptions{})
			r.gate().failLists(errDown)
			_, _ = r.cacher.List(r.ctx, ListOptions{})
			r.gate().release()
			synctest.Wait()
			r.list(ListOptions{})
			const reads = "apiserver_watch_cache_consistent_read_total "
			want := map[string]float64{reads + "true false": 1, reads + "true true": 1, reads + "false true": 1}
			if refuse {
				want = map[string]float64{reads + "true false": 1, reads + "false skipped": 2}
			}
			recorder.expect(t, want)
			if got := recorder.value("apiserver_watch_cache_read_wait_seconds"); got < 6 || got > 6.2 {
				t.Errorf("waited for %v s", got)
			}
		})
	}
}

func TestInitialisationsAndTheirFailuresAreCounted(t *testing.T) {
	recorder := newMemoryRecorder()
	observed := func(o *Options) { gated(o); o.Recorder = recorder }
	inBubble(t, observed, func(r *rig) {
		time.Sleep(time.Minute)
		r.gate().failLists(errDown)
		r.gate().breakWatches()
		time.Sleep(4500 * time.Millisecond)
		r.gate().failLists(nil)
		time.Sleep(time.Second)
		recorder.expect(t, map[string]float64{
			"apiserver_watch_cache_initializations_total":       2,
			"apiserver_watch_cache_initialization_errors_total": 5,
		})
	})
}

func TestWatchesOfShardsAreMeasured(t *testing.T) {
	recorder := newMemoryRecorder()
	observed := func(o *Options) { sharded(o); o.Recorder = recorder }
	inBubble(t, observed, func(r *rig) {
		var watches []*Watcher
		for _, half := range []string{lowerHalf, upperHalf} {
			watches = append(watches, r.watch(WatchOptions{Predicate: Predicate{Shard: mustShard(t, half)}, SendInitialEvents: ptr(false)}))
		}
		r.watch(WatchOptions{SendInitialEvents: ptr(false)})
		for _, key := range []string{"n/a", "n/b", "n/c"} {
			r.put(key, "")
		}
		synctest.Wait()
		recorder.expect(t, map[string]float64{"apiserver_watch_shards_total": 2, "apiserver_watch_filtered_events_total": 3})
		watches[0].Stop()
		recorder.expect(t, map[string]float64{"apiserver_watch_shards_total": 1})
		r.cacher.DropWatches()
		recorder.expect(t, map[string]float64{"apiserver_watch_shards_total": 0})
		for _, w := range watches {
			for err := error(nil); err != io.EOF; {
				_, err = w.Next(r.ctx)
			}
		}
	})
}
