package bench

import (
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/listwatch/listwatch/informer"
)

var handlerCounts = []int{1, 10, 100}

// comparePairs compares two informers; run does n operations with one of them.
func comparePairs(b *testing.B, s setupOf, unit string, main quantity, run func(f *followed, n int)) {
	b.Helper()
	ours, theirs := follow(b, newOurs, s), follow(b, newPeer, s)
	defer ours.stop()
	defer theirs.stop()
	comparison{unit: unit, main: main, ours: func(n int) { run(ours, n) }, peer: func(n int) { run(theirs, n) }}.run(b)
}

// BenchmarkEvents takes modifications of 1000 objects to all handlers, as fast as
// they go. An operation is an event that all handlers have seen.
func BenchmarkEvents(b *testing.B) {
	for _, handlers := range handlerCounts {
		b.Run(fmt.Sprintf("handlers=%d", handlers), func(b *testing.B) {
			comparePairs(b, setupOf{objects: 1000, handlers: handlers}, "event", cpu, func(f *followed, n int) { f.events(n, handlers) })
		})
	}
}

// BenchmarkEventLatency has one event on the way at a time.
func BenchmarkEventLatency(b *testing.B) {
	for _, handlers := range handlerCounts[:2] {
		b.Run(fmt.Sprintf("handlers=%d", handlers), func(b *testing.B) {
			comparePairs(b, setupOf{objects: 1000, handlers: handlers}, "event", wall, func(f *followed, n int) {
				for range n {
					f.events(1, handlers)
				}
			})
		})
	}
}

// BenchmarkEventsKept is how much of the throughput with one handler is left with
// 100, by the clock and by CPU time. Decoded, each event costs the decoding of a pod
// from protobuf before it is on its way, as on a wire; bare, it costs nothing.
func BenchmarkEventsKept(b *testing.B) {
	pod, err := ordinaryPod(1).Marshal()
	if err != nil {
		b.Fatal(err)
	}
	for name, decode := range map[string]func(){
		"bare":    nil,
		"decoded": func() { _ = new(corev1.Pod).Unmarshal(pod) },
	} {
		b.Run(name, func(b *testing.B) {
			for _, side := range sides {
				reportKept(b, side, decode)
			}
			b.ReportMetric(0, "ns/op")
		})
	}
}

func reportKept(b *testing.B, side newSide, decode func()) {
	const most = 100
	one := follow(b, side, setupOf{objects: 1000, handlers: 1})
	all := follow(b, side, setupOf{objects: 1000, handlers: most})
	defer one.stop()
	defer all.stop()
	one.feed.decode, all.feed.decode = decode, decode
	cost := func(f *followed, handlers int) (wall, cpu time.Duration) {
		n, began, used := 0, time.Now(), cpuTime()
		for ; time.Since(began) < 2**roundTime; n += 500 {
			f.events(500, handlers)
		}
		return time.Since(began) / time.Duration(n), (cpuTime() - used) / time.Duration(n)
	}
	var byClock, byCPU []float64
	for range leastPairs {
		wallOne, cpuOne := cost(one, 1)
		wallAll, cpuAll := cost(all, most)
		byClock = append(byClock, float64(wallOne)/float64(wallAll))
		byCPU = append(byCPU, float64(cpuOne)/float64(cpuAll))
	}
	b.ReportMetric(100*median(byClock), side.name+"-kept-%")
	b.ReportMetric(100*median(byCPU), side.name+"-cpu-kept-%")
}

// BenchmarkBlockedHandler measures what 20,000 events of 1000 objects, 10 KB each,
// leave behind while one handler is blocked, in sizes of the store.
func BenchmarkBlockedHandler(b *testing.B) {
	for name, options := range map[string][]informer.HandlerOption{"every": nil, "latest": {informer.WithLatestOnly()}} {
		b.Run(name, func(b *testing.B) {
			compareValues(b, "stores", 2, func(side newSide) float64 { return blockedHandler(b, side, options) })
		})
	}
}

func blockedHandler(b *testing.B, side newSide, options []informer.HandlerOption) float64 {
	const objects, body, rounds = 1000, 10_000, 20
	f := follow(b, side, setupOf{objects: objects})
	f.feed.body = body
	f.add(f.update) // sees everything
	f.events(objects, 1)
	full := heapInUse()
	release, blocked := make(chan struct{}), make(chan struct{}, 1)
	f.add(func() {
		select {
		case blocked <- struct{}{}:
		default:
		}
		<-release
	}, options...)
	f.events(1, 1)
	<-blocked
	f.events(rounds*objects, 1)
	grown := heapInUse() - full
	close(release)
	f.stop()
	return grown / (objects * body)
}

// BenchmarkIdleHandler measures what a handler that nothing is told costs.
func BenchmarkIdleHandler(b *testing.B) {
	const handlers = 1000
	used := func() float64 {
		runtime.GC()
		var stats runtime.MemStats
		runtime.ReadMemStats(&stats)
		return float64(stats.HeapAlloc + stats.StackInuse)
	}
	goroutines := map[string]float64{}
	compareValues(b, "B/handler", 3, func(side newSide) float64 {
		f := follow(b, side, setupOf{})
		defer f.stop()
		before, running := used(), runtime.NumGoroutine()
		for range handlers {
			f.add(func() {})
		}
		goroutines[side.name] = float64(runtime.NumGoroutine()-running) / handlers
		return (used() - before) / handlers
	})
	for side, n := range goroutines {
		b.ReportMetric(n, side+"-goroutines/handler")
	}
}

// BenchmarkLateHandler measures the longest time that an event takes to an old
// handler while a new one is added to an informer of 100,000 objects.
func BenchmarkLateHandler(b *testing.B) {
	compareValues(b, "stall-us", 3, func(side newSide) float64 {
		f := follow(b, side, setupOf{objects: 100_000, handlers: 1})
		defer f.stop()
		f.events(1000, 1)
		added := make(chan struct{})
		go func() {
			defer close(added)
			f.add(func() {})
		}()
		var longest time.Duration
		for done := false; !done; {
			select {
			case <-added:
				done = true
			default:
			}
			began := time.Now()
			f.events(1, 1)
			longest = max(longest, time.Since(began))
		}
		return float64(longest.Microseconds())
	})
}

// BenchmarkMemoryRelist relists 100,000 objects, one of which has changed, from a
// list that is in memory.
func BenchmarkMemoryRelist(b *testing.B) {
	const objects = 100_000
	compareValues(b, "cpu-us/object", 3, func(side newSide) float64 {
		f := follow(b, side, setupOf{objects: objects, handlers: 1})
		defer f.stop()
		again := &metav1.PartialObjectMetadataList{Items: slices.Clone(f.feed.list.Items)}
		again.Items[0].ResourceVersion = strconv.Itoa(objects + 1)
		again.ResourceVersion = strconv.Itoa(objects + 1)
		f.feed.list = again
		runtime.GC()
		began := cpuTime()
		f.expectRelist(side, objects)
		f.feed.events <- watch.Event{Type: watch.Error, Object: &metav1.Status{
			Status: metav1.StatusFailure, Reason: metav1.StatusReasonExpired, Code: 410,
		}}
		f.wait()
		runtime.GC()
		return float64((cpuTime() - began).Microseconds()) / objects
	})
}

// expectRelist waits for the calls of a relist: ours tells of the object that has
// changed, the peer of all.
func (f *followed) expectRelist(side newSide, objects int64) {
	if side.name == newOurs.name {
		objects = 1
	}
	f.expect(objects)
}
