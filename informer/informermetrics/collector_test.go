package informermetrics_test

import (
	"context"
	"errors"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	fcache "k8s.io/client-go/tools/cache/testing"
	"k8s.io/klog/v2"

	"github.com/listwatch/listwatch/indexer"
	"github.com/listwatch/listwatch/informer"
	"github.com/listwatch/listwatch/informer/informermetrics"
	"github.com/listwatch/listwatch/reflector"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fixed is an informer with a status that is given.
type fixed struct{ status informer.Status }

func (f *fixed) Status() informer.Status { return f.status }

// example has something of everything.
func example() *fixed {
	at := time.Unix(1000000000, 500000000)
	source := func(tries int) reflector.Status {
		return reflector.Status{
			Tries: tries, Lists: 1, Pages: 2, WatchLists: 3, Watches: 4, Reconnects: 5, Rewinds: 6, Skipped: 7, Decoded: 8, DecodeTime: 1250 * time.Millisecond, Kept: 9, Probes: 10,
			Relists:   map[reflector.RelistReason]int64{reflector.RelistInitial: 1, reflector.RelistExpired: int64(tries)},
			LastEvent: at.Add(time.Duration(tries) * time.Second),
		}
	}
	return &fixed{informer.Status{
		Name: "main", Collection: reflector.Collection{Group: "apps", Version: "v1", Resource: "deployments"},
		Running: true, Synced: true, ResourceVersion: "12123456789012345", Objects: 10, Bytes: 1000,
		QueueDepth: 3, QueueAge: 1500 * time.Millisecond,
		Processing: informer.Histogram{Count: 5, Sum: 2 * time.Second, Buckets: []informer.Bucket{
			{UpTo: time.Millisecond, Count: 1}, {UpTo: time.Second, Count: 4}}},
		Handlers: []informer.HandlerStatus{
			{Name: "a", Depth: 1, Age: time.Second, Calls: 10, Panics: 1, Slowest: 2 * time.Second},
			{Name: "b", Depth: 2},
			{Name: "a", Depth: 4, Age: 3 * time.Second, Calls: 20, Slowest: time.Second},
		},
		Transform:           informer.TransformStatus{Failures: 8, Standing: 2, Dropped: 9},
		IndexErrorsStanding: 3, IndexFailures: 12,
		Parts: []informer.PartStatus{{Reflector: source(1)}, {Reflector: source(2)}},
	}}
}

// scrape returns the series, sorted, without those that contain one of the
// given texts.
func scrape(t *testing.T, registry *prometheus.Registry, without ...string) []string {
	t.Helper()
	answer := httptest.NewRecorder()
	promhttp.HandlerFor(registry, promhttp.HandlerOpts{}).ServeHTTP(answer, httptest.NewRequest("GET", "/metrics", nil))
	if answer.Code != 200 {
		t.Fatalf("%d %s", answer.Code, answer.Body)
	}
	lines := slices.DeleteFunc(strings.Split(strings.TrimSpace(answer.Body.String()), "\n"), func(line string) bool {
		return line == "" || line[0] == '#' || slices.ContainsFunc(without, func(text string) bool { return strings.Contains(line, text) })
	})
	slices.Sort(lines)
	return lines
}

func collect(t *testing.T, informers ...informermetrics.Source) (*informermetrics.Collector, *prometheus.Registry) {
	t.Helper()
	c, registry := informermetrics.New(), prometheus.NewPedanticRegistry()
	registry.MustRegister(c)
	if err := c.Add(informers...); err != nil {
		t.Fatal(err)
	}
	return c, registry
}

// seriesOfExample are without the four labels that all have.
const seriesOfExample = `
informer_decode_seconds_total{} 2.5
informer_decoded_objects_total{} 16
informer_failed_tries{} 3
informer_handler_age_seconds{handler="a"} 3
informer_handler_age_seconds{handler="b"} 0
informer_handler_calls_total{handler="a"} 30
informer_handler_calls_total{handler="b"} 0
informer_handler_depth{handler="a"} 5
informer_handler_depth{handler="b"} 2
informer_handler_panics_total{handler="a"} 1
informer_handler_panics_total{handler="b"} 0
informer_handler_slowest_call_seconds{handler="a"} 2
informer_handler_slowest_call_seconds{handler="b"} 0
informer_index_errors_total{} 12
informer_index_missing_objects{} 3
informer_kept_objects_total{} 18
informer_last_event_timestamp_seconds{} 1.0000000025e+09
informer_list_pages_total{} 4
informer_lists_total{} 2
informer_objects_bytes{} 1000
informer_objects{} 10
informer_probes_total{} 20
informer_processing_latency_seconds_bucket{le="+Inf"} 5
informer_processing_latency_seconds_bucket{le="0.001"} 1
informer_processing_latency_seconds_bucket{le="1"} 4
informer_processing_latency_seconds_count{} 5
informer_processing_latency_seconds_sum{} 2
informer_queue_age_seconds{} 1.5
informer_queued_items{} 3
informer_reconnects_total{} 10
informer_relists_total{reason="expired"} 3
informer_relists_total{reason="initial"} 2
informer_rewinds_total{} 12
informer_skipped_objects_total{} 14
informer_store_resource_version{} 1.23456789012345e+14
informer_synced{} 1
informer_transform_dropped_total{} 9
informer_transform_failing_objects{} 2
informer_transform_failures_total{} 8
informer_watch_lists_total{} 6
informer_watches_total{} 8
`

func TestEverySeriesOfAnInformerIsInAScrape(t *testing.T) {
	_, registry := collect(t, example())
	const common = `group="apps",name="main",resource="deployments",version="v1"`
	var want []string
	for line := range strings.Lines(seriesOfExample) {
		name, rest, _ := strings.Cut(strings.TrimSpace(line), "{")
		labels, value, found := strings.Cut(rest, "}")
		if !found {
			continue
		}
		all := strings.Split(common, ",")
		if labels != "" {
			all = append(all, labels)
		}
		slices.Sort(all)
		if strings.HasPrefix(labels, "le=") { // Prometheus writes it last
			all = append(slices.DeleteFunc(all, func(l string) bool { return l == labels }), labels)
		}
		want = append(want, name+"{"+strings.Join(all, ",")+"}"+value)
	}
	slices.Sort(want)
	if diff := cmp.Diff(want, scrape(t, registry)); diff != "" {
		t.Errorf("series (-want +got):\n%s", diff)
	}
}

func TestTheStoresResourceVersionKeepsItsLast15Digits(t *testing.T) {
	one := example()
	_, registry := collect(t, one)
	for version, want := range map[string]string{
		"": "", "abc": "", "7": " 7", "123456789012345": " 1.23456789012345e+14", "9123456789012345": " 1.23456789012345e+14",
		"1000000000000007": " 7", "-5": "",
	} {
		one.status.ResourceVersion = version
		got := ""
		for _, line := range scrape(t, registry) {
			if strings.HasPrefix(line, "informer_store_resource_version") {
				_, got, _ = strings.Cut(line, "}")
			}
		}
		if got != want {
			t.Errorf("%q: got %q, want %q", version, got, want)
		}
	}
}

func TestTwoInformersWithTheSameLabelsAreRefused(t *testing.T) {
	first, second, other := example(), example(), example()
	other.status.Collection.Resource = "daemonsets"
	c, registry := collect(t, first)
	err := c.Add(other, second)
	if !errors.Is(err, informermetrics.ErrDuplicate) || !strings.Contains(err.Error(), `name "main", group "apps", version "v1", resource "deployments"`) {
		t.Errorf("got %v", err)
	}
	if got := scrape(t, registry, "deployments"); len(got) > 0 {
		t.Errorf("some were added with the error: %v", got)
	}
	if err := c.Add(first); !errors.Is(err, informermetrics.ErrDuplicate) {
		t.Errorf("the same one again: %v", err)
	}
	if err := c.Add(other); err != nil {
		t.Errorf("another resource: %v", err)
	}
	c.Remove(first)
	if err := c.Add(second); err != nil {
		t.Errorf("after the first was removed: %v", err)
	}
	c.Remove(first) // not there
	if got := scrape(t, registry, "daemonsets"); len(got) == 0 {
		t.Error("the second one has no series")
	}
}

func TestAnInformerHasSeriesWhileItRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := fcache.NewFakeControllerSource()
		defer server.Shutdown()
		server.Add(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"}})
		pods, err := informer.New(reflector.FromListerWatcher[*corev1.Pod](server), informer.Options[*corev1.Pod]{
			Name: "test", Collection: reflector.Collection{Version: "v1", Resource: "pods"},
			Reflector: reflector.Options{DisableWatchList: true},
			Indexes: map[string]indexer.Func[*corev1.Pod]{
				"fails": func(*corev1.Pod) []string { panic("of no use") },
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		handler, err := pods.AddHandler(informer.HandlerFuncs[*corev1.Pod]{}, informer.WithName("counter"))
		if err != nil {
			t.Fatal(err)
		}
		c, registry := collect(t, pods)
		find := func(part string) []string {
			return slices.DeleteFunc(scrape(t, registry), func(line string) bool { return !strings.Contains(line, part) })
		}
		if got := scrape(t, registry); len(got) > 0 {
			t.Errorf("before Run: %v", got)
		}
		for round := range 2 {
			ctx, cancel := context.WithCancel(klog.NewContext(t.Context(), klog.Logger{}))
			ended := make(chan error, 1)
			go func() { ended <- pods.Run(ctx) }()
			synctest.Wait()
			const labels = `{group="",name="test",resource="pods",version="v1"}`
			if got := find("informer_objects{"); len(got) != 1 || got[0] != "informer_objects"+labels+" 1" {
				t.Errorf("objects: %v", got)
			}
			if got := find("informer_index_errors_total{"); len(got) != 1 || got[0] != "informer_index_errors_total"+labels+" 1" {
				t.Errorf("round %d, index errors: %v", round, got)
			}
			if got := find(`handler_calls_total{group="",handler="counter"`); (len(got) == 1) != (round == 0) {
				t.Errorf("round %d, handler: %v", round, got)
			}
			if got := find("latency_seconds_count"); len(got) != 1 || strings.HasSuffix(got[0], " 0") {
				t.Errorf("latency: %v", got)
			}
			handler.Remove()
			if got := find("counter"); len(got) > 0 {
				t.Errorf("after the handler was removed: %v", got)
			}
			cancel()
			if err := <-ended; err != nil {
				t.Fatal(err)
			}
			if got := scrape(t, registry); len(got) > 0 {
				t.Errorf("after Run: %v", got)
			}
		}
		c.Remove(pods)
	})
}
