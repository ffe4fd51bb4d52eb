package informer_test

import (
	"context"
	"runtime"
	"runtime/debug"
	"strconv"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/tools/cache"

	"github.com/listwatch/listwatch/informer"
	"github.com/listwatch/listwatch/reflector"
)

// relistCase is a way to read pods.
type relistCase struct {
	name    string
	source  func(t testing.TB, s *podServer) reflector.Source[*corev1.Pod]
	options reflector.Options
	// percent is the GC percent under which peaks are measured: garbage counts,
	// and where every object is decoded, the collector decides how much there is.
	percent int
}

func throughREST(t testing.TB, s *podServer) reflector.Source[*corev1.Pod] {
	return reflector.FromREST[*corev1.Pod](s.client(t), "pods", "")
}

func throughListerWatcher(t testing.TB, s *podServer) reflector.Source[*corev1.Pod] {
	return reflector.FromListerWatcher[*corev1.Pod](cache.NewListWatchFromClient(s.client(t), "pods", "", fields.Everything()))
}

var relistCases = []relistCase{
	{"FromREST, one list", throughREST, reflector.Options{DisableWatchList: true}, 100},
	{"FromREST, pages", throughREST, reflector.Options{DisableWatchList: true, PageSize: 500}, 100},
	{"FromREST, watch-list", throughREST, reflector.Options{}, 100},
	{"FromListerWatcher, pages", throughListerWatcher, reflector.Options{DisableWatchList: true, PageSize: 50}, 5},
	{"FromListerWatcher, watch-list", throughListerWatcher, reflector.Options{}, 5},
}

// relistFigures are bytes.
type relistFigures struct{ retained, peak, allocated uint64 }

// measureRelist syncs an informer with unchanging pods, then has it relist, and
// compares the heap before with the largest during it.
func measureRelist(t testing.TB, test relistCase, pods int) relistFigures {
	server := newPodServer(t, pods)
	inf, err := informer.New(test.source(t, server), informer.Options[*corev1.Pod]{Reflector: test.options})
	if err != nil {
		t.Fatal(err)
	}
	base := settledHeap()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- inf.Run(ctx) }()
	defer func() {
		cancel()
		<-ended
	}()
	if err := inf.WaitForSync(ctx); err != nil {
		t.Fatal(err)
	}
	var f relistFigures
	f.retained = settledHeap() - base
	defer debug.SetGCPercent(debug.SetGCPercent(test.percent))
	runtime.GC()
	server.heap.peak.Store(0)
	before := allocated()
	inf.Relist()
	if err := inf.WaitFor(ctx, strconv.FormatInt(server.version.Add(1), 10)); err != nil {
		t.Fatal(err)
	}
	server.heap.calls.Store(15)
	server.heap.sample()
	f.allocated = allocated() - before
	f.peak = server.heap.peak.Load() - base
	if n := inf.Snapshot().Len(); n != pods {
		t.Fatalf("%d pods, want %d", n, pods)
	}
	return f
}

func settledHeap() uint64 {
	runtime.GC()
	runtime.GC()
	return heapNow()
}

func TestARelistOfUnchangedObjectsNeedsLittleMoreMemoryThanTheCache(t *testing.T) {
	t.Setenv("LISTWATCH_DETECT_MUTATIONS", "") // the detector has copies of its own
	for _, test := range relistCases {
		t.Run(test.name, func(t *testing.T) {
			f := measureRelist(t, test, 2_500)
			ratio := float64(f.peak) / float64(f.retained)
			t.Logf("retained %d KiB, peak %.2f of it, allocated %.2f", f.retained>>10, ratio, float64(f.allocated)/float64(f.retained))
			if ratio > 1.3 {
				t.Errorf("the peak is %.2f times the cache, want 1.3 at most", ratio)
			}
		})
	}
}

// BenchmarkRelist relists 100,000 unchanged pods.
func BenchmarkRelist(b *testing.B) {
	for _, test := range relistCases {
		b.Run(test.name, func(b *testing.B) {
			for range b.N {
				f := measureRelist(b, test, 100_000)
				b.ReportMetric(float64(f.peak)/float64(f.retained), "peak/retained")
				b.ReportMetric(float64(f.allocated)/float64(f.retained), "allocated/retained")
				b.ReportMetric(float64(f.retained)/100_000, "B/object")
			}
		})
	}
}
