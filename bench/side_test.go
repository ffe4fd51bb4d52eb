package bench

import (
	"context"
	"runtime/pprof"
	"strconv"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/listwatch/listwatch/fakeserver/storage"
)

// scope is what a request is about; the zero value is all.
type scope struct {
	namespace, node string
	labels          labels.Selector
}

// side is one of the two caches, over a store of its own, and does what a
// handler of requests would do with it.
type side interface {
	name() string
	// watch opens a watch after resource version rv.
	watch(s scope, rv int64, f format) stream
	// watchList opens a watch that begins with the state, whatever its age.
	watchList(f format) stream
	// list collects what the cache has, at any age, and sends it if f is not bare.
	// It returns the number of objects.
	list(s scope, f format) int
	// pages reads everything at rv in pages of limit, and returns the number of objects.
	pages(rv, limit int64) int
	// get reads one object from the cache, at any age.
	get(namespace, name string)
	// await waits until the cache has reached rv.
	await(rv int64)
	close()
}

// stream is an open watch.
type stream interface {
	// each delivers events until the watch ends or see returns false. In a format
	// other than bare it sends them first. Bookmarks that do not end the initial
	// events are passed over.
	each(see func() bool)
	// event returns the next event.
	event() delivered
	stop()
}

// delivered is an event as the test sees it. Of the end of the initial events
// only Type is set, to BOOKMARK.
type delivered struct {
	Type watch.EventType
	Key  string
	RV   string
}

// rig is a store with pods in it and one side that follows it.
type rig struct {
	tb     testing.TB
	memory *storage.Memory
	side   side
	pods   []*corev1.Pod
	rvs    []int64
	now    int64
	// value makes what is stored of a pod.
	value func(p *corev1.Pod) []byte
}

// setup says how a rig stores and decodes.
type setup struct {
	pods []*corev1.Pod
	// fromBytes stores protobuf and decodes it on both sides. Otherwise decoding
	// is a shallow copy of a prepared pod.
	fromBytes bool
	// empty leaves the pods out of the store.
	empty bool
}

// newSide is one of the two. Its name labels its goroutines in profiles.
type newSide struct {
	name string
	make func(tb testing.TB, memory *storage.Memory, decode decode) side
}

// sides are the two that are compared.
var sides = []newSide{newOurs, newPeer}

// as labels what f does, and the goroutines that it starts, in CPU profiles:
// go tool pprof -tagfocus side=ours.
func (n newSide) as(f func()) {
	pprof.Do(context.Background(), pprof.Labels("side", n.name), func(context.Context) { f() })
}

// newRig fills a store and waits for the side to have it all.
func newRig(tb testing.TB, s setup, side newSide) *rig {
	tb.Helper()
	if s.pods == nil {
		s.pods = basePods()
	}
	r := &rig{tb: tb, memory: storage.NewMemory(), pods: s.pods, now: 1}
	r.value = func(*corev1.Pod) []byte { return []byte{1} }
	decode := decodePrepared(s.pods)
	if s.fromBytes {
		decode = decodeBytes
		r.value = func(p *corev1.Pod) []byte {
			bytes, err := p.Marshal()
			if err != nil {
				tb.Fatal(err)
			}
			return bytes
		}
	}
	if !s.empty {
		r.create()
	}
	side.as(func() { r.side = side.make(tb, r.memory, decode) })
	r.side.await(r.now)
	return r
}

func (r *rig) create() {
	r.rvs = make([]int64, len(r.pods))
	for i, pod := range r.pods {
		kv, err := r.memory.Create(context.Background(), keyOf(pod), r.value(pod))
		if err != nil {
			r.tb.Fatal(err)
		}
		r.rvs[i], r.now = kv.ModRevision, kv.ModRevision
	}
}

// update writes pod i again.
func (r *rig) update(i int) {
	kv, err := r.memory.Update(context.Background(), keyOf(r.pods[i]), r.value(r.pods[i]), r.rvs[i])
	if err != nil {
		r.tb.Fatal(err)
	}
	r.rvs[i], r.now = kv.ModRevision, kv.ModRevision
}

// updates writes n times, pod after pod, and reads it all by a watch: waiting for
// a resource version would keep the peer's cache in memory for three seconds.
func (r *rig) updates(n int) {
	s := r.side.watch(scope{}, r.now, bare)
	defer s.stop()
	for i := 0; i < n; {
		lot := min(inFlight, n-i)
		for range lot {
			r.update(i % len(r.pods))
			i++
		}
		for range lot {
			s.event()
		}
	}
	r.forget()
}

// forget drops the store's history, which is the same on both sides.
func (r *rig) forget() {
	if err := r.memory.Compact(context.Background(), r.now); err != nil {
		r.tb.Fatal(err)
	}
}

func (r *rig) close() {
	r.side.close()
	r.memory.Close()
}

func text(rv int64) string { return strconv.FormatInt(rv, 10) }
