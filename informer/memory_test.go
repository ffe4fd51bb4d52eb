package informer_test

import (
	"context"
	"fmt"
	"runtime"
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
	// garbage counts. Where client-go decodes every object there is as much of
	// it as the collector's pace allows, so that only what is in use is measured.
	garbage bool
	pods    int // of the test
	parts   int // 0: not joined
}

func throughREST(t testing.TB, s *podServer) reflector.Source[*corev1.Pod] {
	return reflector.FromREST[*corev1.Pod](s.client(t), "pods", "")
}

func throughListerWatcher(t testing.TB, s *podServer) reflector.Source[*corev1.Pod] {
	return reflector.FromListerWatcher[*corev1.Pod](cache.NewListWatchFromClient(s.client(t), "pods", "", fields.Everything()))
}

var relistCases = []relistCase{
	{"FromREST, one list", throughREST, reflector.Options{DisableWatchList: true}, true, 1500, 0},
	{"FromREST, pages", throughREST, reflector.Options{DisableWatchList: true, PageSize: 500}, true, 1500, 0},
	{"FromREST, watch-list", throughREST, reflector.Options{}, true, 1500, 0},
	{"FromListerWatcher, pages", throughListerWatcher, reflector.Options{DisableWatchList: true, PageSize: 20}, false, 1500, 0},
	{"FromListerWatcher, watch-list", throughListerWatcher, reflector.Options{}, false, 1500, 0},
	{"three joined parts, FromREST, watch-list", throughREST, reflector.Options{}, true, 3000, 3},
}

// relistFigures are bytes.
type relistFigures struct{ retained, peak, allocated uint64 }

// informer makes one of as many parts as the test has, over as many servers.
func (test relistCase) informer(t testing.TB, pods int, heap *heapSampler) (*informer.Informer[*corev1.Pod], []*podServer) {
	var servers []*podServer
	namespaces := make([]string, max(1, test.parts))
	for k := range namespaces {
		namespaces[k] = fmt.Sprint("namespace-", k)
	}
	parts := informer.Namespaces(namespaces, func(namespace string) reflector.Source[*corev1.Pod] {
		s := newPodServer(t, namespace, pods/len(namespaces), heap)
		servers = append(servers, s)
		return test.source(t, s)
	})
	options := informer.Options[*corev1.Pod]{Reflector: test.options}
	var inf *informer.Informer[*corev1.Pod]
	var err error
	if test.parts > 0 {
		inf, err = informer.NewJoined(parts, options)
	} else {
		inf, err = informer.New(parts[0].Source, options)
	}
	if err != nil {
		t.Fatal(err)
	}
	return inf, servers
}

// measureRelist syncs an informer with unchanging pods, then has it relist, and
// compares the heap before with the largest during it.
func measureRelist(t testing.TB, test relistCase, pods int) (f relistFigures) {
	pods -= pods % max(1, test.parts)
	heap := &heapSampler{}
	inf, servers := test.informer(t, pods, heap)
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
	f.retained = settledHeap() - base
	heap.peak.Store(0)
	heap.collect = !test.garbage
	before := allocated()
	version := int64(0)
	for _, server := range servers {
		version = server.version.Add(1)
	}
	inf.Relist()
	if err := inf.WaitFor(ctx, strconv.FormatInt(version, 10)); err != nil {
		t.Fatal(err)
	}
	f.allocated = allocated() - before
	f.peak = heap.peak.Load() - base
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
			f := measureRelist(t, test, test.pods)
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
