package cacher

import (
	"fmt"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"
)

const (
	benchWatchers = 10000
	benchSlow     = 100
)

// BenchmarkOpenWatch opens ten thousand watchers of one resource, which then
// have nothing to do, in a window that is young and in one that has grown. The
// memory is the watcher's alone, without the goroutine that waits in its Next.
func BenchmarkOpenWatch(b *testing.B) {
	for _, c := range []struct {
		name   string
		window int
	}{{"young", 100}, {"grown", 102400}} {
		b.Run(c.name, func(b *testing.B) {
			r := newRig(b, func(o *Options) { o.MinCapacity = c.window })
			rv := fmt.Sprint(r.put("n/a", ""))
			r.list(ListOptions{})
			open := make([]*Watcher, benchWatchers)
			var bytes, took float64
			for b.Loop() {
				before, start := heapBytes(), time.Now()
				for i := range open {
					var err error
					if open[i], err = r.cacher.Watch(r.ctx, WatchOptions{ResourceVersion: rv, AllowBookmarks: true}); err != nil {
						b.Fatal(err)
					}
				}
				took += float64(time.Since(start).Nanoseconds())
				bytes += heapBytes() - before
				for _, w := range open {
					w.Stop()
				}
				clear(open)
			}
			b.ReportMetric(bytes/float64(b.N)/benchWatchers, "B/watcher")
			b.ReportMetric(took/float64(b.N)/benchWatchers, "ns/watcher")
		})
	}
}

// heapBytes is what is in use.
func heapBytes() float64 {
	var memory runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&memory)
	return float64(memory.HeapAlloc)
}

// BenchmarkSlowWatchers measures how long an event takes to each of ten thousand
// watchers of everything, with and without a hundred that take nothing among
// them. The next event comes when all that are not slow have the last one.
func BenchmarkSlowWatchers(b *testing.B) {
	for _, slow := range []int{0, benchSlow} {
		b.Run(fmt.Sprintf("slow_%d", slow), func(b *testing.B) {
			r := newRig(b, func(o *Options) { o.LagLimit = 20 }) // they end within the benchmark
			r.put("n/a", "")
			r.list(ListOptions{})
			options := WatchOptions{ResourceVersion: "2", SendInitialEvents: ptr(false)}
			for range slow {
				r.watch(options)
			}
			crowd := newCrowd(r, options, benchWatchers-slow)
			crowd.deliver() // all goroutines run
			for i := range crowd.took {
				crowd.took[i] = nil
			}
			for b.Loop() {
				crowd.deliver()
			}
			b.ReportMetric(crowd.quantile(0.5), "p50-ms")
			b.ReportMetric(crowd.quantile(0.99), "p99-ms")
			b.ReportMetric(crowd.quantile(1), "max-ms")
			r.cacher.DropWatches()
			crowd.running.Wait()
		})
	}
}

// crowd is many watchers that take at once what comes.
type crowd struct {
	rig                *rig
	running, delivered sync.WaitGroup
	written            time.Time
	took               [][]time.Duration // by watcher
}

func newCrowd(r *rig, options WatchOptions, n int) *crowd {
	c := &crowd{rig: r, took: make([][]time.Duration, n)}
	for i := range n {
		w := r.watch(options)
		c.running.Go(func() {
			for {
				if _, err := w.Next(r.ctx); err != nil {
					return
				}
				c.took[i] = append(c.took[i], time.Since(c.written))
				c.delivered.Done()
			}
		})
	}
	return c
}

// deliver writes one event and waits until all have it.
func (c *crowd) deliver() {
	c.delivered.Add(len(c.took))
	c.written = time.Now()
	c.rig.put("n/a", "")
	c.delivered.Wait()
}

// quantile of all deliveries in milliseconds.
func (c *crowd) quantile(q float64) float64 {
	all := slices.Concat(c.took...)
	slices.Sort(all)
	return float64(all[int(q*float64(len(all)-1))].Microseconds()) / 1000
}
