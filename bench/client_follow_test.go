package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/listwatch/listwatch/indexer"
	"github.com/listwatch/listwatch/informer"
	"github.com/listwatch/listwatch/reflector"
)

// order says what a client process is to do. Peer processes that list are
// started with watch-list turned off.
type order struct {
	Address string
	Ours    bool
	JSON    bool // else protobuf
	List    bool // else watch-list
	Sharing bool // ours shares equal parts
	Relist  bool // measure the second time instead of the first
	Count   int  // of pods
	// Events, if not 0, are measured instead, with so many handlers.
	Events, Handlers int
	// Alone sends each event when the handler was told of the one before, and in
	// the Cold after another request. Their latencies are measured.
	Alone, Cold bool
	Profile     string
}

// outcome is what it measured.
type outcome struct {
	Wall, CPU time.Duration
	Alloc     float64 // bytes
	Peak      float64 // bytes of memory in RAM
	Heap      float64 // bytes that the informer keeps alive
	P50, P99  float64 // latencies of events, in microseconds
}

// followWire is the process of one client: it syncs an informer with two indexes
// and one handler, relists if that is wanted, and writes an outcome.
func followWire(text string) {
	var o order
	if err := json.Unmarshal([]byte(text), &o); err != nil {
		panic(err)
	}
	requests := &requestClock{}
	client := wireClient(o, requests)
	follow := followPeer
	if o.Ours {
		follow = followOurs
	}
	told := newCalls()
	update := told.update
	var alone *frameByFrame
	if o.Alone {
		alone, update = newFrameByFrame(requests, told)
	}
	empty := heapInUse()
	var result outcome
	measure := func(f func()) {
		began := takeUsage()
		if o.Profile != "" {
			file, _ := os.Create(o.Profile)
			_ = pprof.StartCPUProfile(file)
			defer pprof.StopCPUProfile()
		}
		f()
		result = began.until()
		result.Wall = time.Since(requests.first())
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	sync := func(f func()) { f() }
	if !o.Relist && o.Events == 0 {
		sync = measure
	}
	var relisted func()
	sync(func() { relisted = follow(ctx, client, o, update) })
	switch {
	case o.Alone:
		p50, p99 := alone.follow(o, told, measure)
		result.P50, result.P99 = p50, p99 // which measure sets, too
	case o.Events > 0:
		measureEvents(o, told, requests, measure)
	}
	if o.Relist {
		debug.FreeOSMemory()                                      // what the first sync left over is not what a relist needs
		_ = os.WriteFile("/proc/self/clear_refs", []byte("5"), 0) // begins the peak anew
		requests.reset()
		get(o, "/expire")
		measure(relisted)
	}
	result.Peak = peakRSS()
	result.Heap = heapInUse() - empty
	_ = json.NewEncoder(os.Stdout).Encode(result)
}

// get makes a request of the server whose answer is of no interest.
func get(o order, path string) {
	answer, err := http.Get(o.Address + path)
	if err != nil {
		panic(err)
	}
	_ = answer.Body.Close()
}

// measureEvents measures what o.Events take from the request that makes the server
// send them until all handlers have been told.
func measureEvents(o order, told *calls, clock *requestClock, measure func(func())) {
	send := func(n int) {
		told.expect(int64(n * o.Handlers))
		get(o, "/change?events="+strconv.Itoa(n))
		told.wait()
	}
	send(o.Events / 10) // warm up
	runtime.GC()
	clock.set(time.Now())
	measure(func() { send(o.Events) })
}

// usage is what the process has used.
type usage struct {
	cpu   time.Duration
	alloc uint64
}

func takeUsage() usage {
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	return usage{cpuTime(), memory.TotalAlloc}
}

func (u usage) until() outcome {
	now := takeUsage()
	return outcome{CPU: now.cpu - u.cpu, Alloc: float64(now.alloc - u.alloc)}
}

// peakRSS is the most memory that the process had in RAM.
func peakRSS() float64 {
	status, _ := os.ReadFile("/proc/self/status")
	for line := range strings.Lines(string(status)) {
		if value, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kilobytes, _ := strconv.ParseFloat(strings.Fields(value)[0], 64)
			return kilobytes * 1024
		}
	}
	return 0
}

// requestClock notes when the first request for the collection was made: a relist
// comes after a wait, which is not what is measured.
type requestClock struct {
	next    http.RoundTripper
	instead func(*http.Request) *http.Response // if set, answers watches
	mu      sync.Mutex
	at      time.Time
}

func (c *requestClock) RoundTrip(r *http.Request) (*http.Response, error) {
	if query := r.URL.Query(); query.Get("watch") == "" || query.Get("sendInitialEvents") == "true" {
		c.mu.Lock()
		if c.at.IsZero() {
			c.at = time.Now()
		}
		c.mu.Unlock()
	} else if c.instead != nil {
		return c.instead(r), nil
	}
	return c.next.RoundTrip(r)
}

func (c *requestClock) reset() { c.set(time.Time{}) }

func (c *requestClock) set(at time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = at
}

func (c *requestClock) first() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func wireClient(o order, clock *requestClock) rest.Interface {
	content := rest.ContentConfig{GroupVersion: &corev1.SchemeGroupVersion, NegotiatedSerializer: scheme.Codecs.WithoutConversion()}
	if !o.JSON {
		content.ContentType = "application/vnd.kubernetes.protobuf"
		content.AcceptContentTypes = "application/vnd.kubernetes.protobuf,application/json"
	}
	client, err := rest.RESTClientFor(&rest.Config{
		Host: o.Address, APIPath: "/api", QPS: -1, ContentConfig: content, DisableCompression: true,
		WrapTransport: func(next http.RoundTripper) http.RoundTripper { clock.next = next; return clock },
	})
	if err != nil {
		panic(err)
	}
	return client
}

// followOurs returns, once synced, a function that waits for a relist. told is called
// for every event by every handler.
func followOurs(ctx context.Context, client rest.Interface, o order, told func()) func() {
	var options []reflector.RESTOption
	if o.JSON {
		options = append(options, reflector.WithJSON())
	}
	if o.Sharing {
		options = append(options, reflector.WithSharing(0))
	}
	i, err := informer.New(reflector.FromREST[*corev1.Pod](client, "pods", "", options...), informer.Options[*corev1.Pod]{
		Reflector:  reflector.Options{DisableWatchList: o.List},
		MaxPending: 1 << 30, // both sides make the same calls
		Indexes: map[string]indexer.Func[*corev1.Pod]{
			"namespace": func(pod *corev1.Pod) []string { return []string{pod.Namespace} },
			"node":      func(pod *corev1.Pod) []string { return []string{pod.Spec.NodeName} },
		},
	})
	if err != nil {
		panic(err)
	}
	var synced []<-chan struct{}
	for range max(1, o.Handlers) {
		registration, err := i.AddHandler(informer.HandlerFuncs[*corev1.Pod]{UpdateFunc: func(_, _ *corev1.Pod) { told() }})
		if err != nil {
			panic(err)
		}
		synced = append(synced, registration.Synced())
	}
	go func() { _ = i.Run(ctx) }()
	for _, c := range synced {
		<-c
	}
	if err := ctx.Err(); err != nil {
		panic(err)
	}
	version, _ := strconv.Atoi(i.Snapshot().ResourceVersion())
	return func() {
		if err := i.WaitFor(ctx, strconv.Itoa(version+1)); err != nil {
			panic(err)
		}
		if got := i.Snapshot().Len(); got != o.Count {
			panic(fmt.Sprintf("%d pods, want %d", got, o.Count))
		}
	}
}

// followPeer is the same for client-go's informer, which tells its handler of
// every pod when it relists.
func followPeer(ctx context.Context, client rest.Interface, o order, told func()) func() {
	shared := cache.NewSharedIndexInformer(cache.NewListWatchFromClient(client, "pods", metav1.NamespaceAll, fields.Everything()), &corev1.Pod{}, 0, cache.Indexers{
		"namespace": func(object any) ([]string, error) { return []string{object.(*corev1.Pod).Namespace}, nil },
		"node":      func(object any) ([]string, error) { return []string{object.(*corev1.Pod).Spec.NodeName}, nil },
	})
	var updates atomic.Int64
	relisted := make(chan struct{})
	update := func(any, any) {
		if updates.Add(1) == int64(o.Count) {
			close(relisted)
		}
	}
	if o.Events > 0 {
		update = func(any, any) { told() }
	}
	var synced []<-chan struct{}
	for range max(1, o.Handlers) {
		registration, err := shared.AddEventHandler(cache.ResourceEventHandlerFuncs{UpdateFunc: update})
		if err != nil {
			panic(err)
		}
		synced = append(synced, registration.HasSyncedChecker().Done())
	}
	go shared.RunWithContext(ctx)
	for _, c := range synced {
		<-c
	}
	return func() { <-relisted }
}
