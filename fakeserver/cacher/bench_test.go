package cacher

import (
	"fmt"
	"runtime"
	"sync"
	"testing"

	"github.com/listwatch/listwatch/fakeserver/storage"
)

// BenchmarkDispatch measures one change on its way to n watchers that wait for
// it, each in its own goroutine, until the last has it.
func BenchmarkDispatch(b *testing.B) {
	for _, n := range []int{1, 100, 1000} {
		b.Run(fmt.Sprintf("watchers_%d", n), func(b *testing.B) {
			r := newRig(b, func(o *Options) { o.LagLimit = 1 << 30 })
			r.put("n/a", "")
			var running, delivered sync.WaitGroup
			var open []*Watcher
			for range n {
				w := r.watch(WatchOptions{ResourceVersion: "2", SendInitialEvents: ptr(false), AllowBookmarks: true})
				open = append(open, w)
				running.Go(func() {
					for {
						if _, err := w.Next(r.ctx); err != nil {
							return
						}
						delivered.Done()
					}
				})
			}
			for b.Loop() {
				delivered.Add(n)
				r.put("n/a", "")
				delivered.Wait()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/delivery")
			for _, w := range open {
				w.Stop()
			}
			running.Wait()
		})
	}
}

// BenchmarkDispatchElsewhere is a change that none of n watchers of other
// namespaces is to see.
func BenchmarkDispatchElsewhere(b *testing.B) {
	for _, n := range []int{1, 1000} {
		b.Run(fmt.Sprintf("watchers_%d", n), func(b *testing.B) {
			registry := newRegistry(&Options{})
			for i := range n {
				registry.add(&Watcher{predicate: Predicate{Scope: Scope{Namespace: fmt.Sprint(i)}}})
			}
			added := &change{rv: 1, next: &Item{Key: "n/a", Namespace: "n", Name: "a"}}
			for b.Loop() {
				registry.dispatch(added)
			}
		})
	}
}

// fill creates n pods and waits for the cache to have them.
func fill(b *testing.B, r *rig, n int) {
	b.Helper()
	r.list(ListOptions{}) // so that the window holds them all
	for i := range n {
		key := fmt.Sprintf("n%d/pod-%05d", i%10, i)
		if _, err := r.memory.Create(r.ctx, "/pods/"+key, value(key, "1")); err != nil {
			b.Fatal(err)
		}
	}
	if got := len(r.list(ListOptions{}).Items); got != n {
		b.Fatalf("%d items", got)
	}
}

// heap is what is in use, in MB.
func heap() float64 {
	var memory runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&memory)
	return float64(memory.HeapAlloc) / 1e6
}

// BenchmarkFill is ten thousand pods created one by one, until the cache has
// them all.
func BenchmarkFill(b *testing.B) {
	for b.Loop() {
		b.StopTimer()
		before := heap()
		r := newRig(b, nil)
		b.StartTimer()
		fill(b, r, 10000)
		b.StopTimer()
		b.ReportMetric(heap()-before, "MB")
		r.cacher.Close()
		r.memory.Close()
		b.StartTimer()
	}
}

// BenchmarkRead reads a collection of ten thousand pods.
func BenchmarkRead(b *testing.B) {
	r := newRig(b, nil)
	fill(b, r, 10000)
	b.Run("list_all", func(b *testing.B) {
		for b.Loop() {
			r.list(ListOptions{})
		}
	})
	b.Run("list_page_of_500", func(b *testing.B) {
		for b.Loop() {
			r.list(ListOptions{Limit: 500})
		}
	})
	b.Run("list_namespace", func(b *testing.B) {
		for b.Loop() {
			r.list(ListOptions{Predicate: Predicate{Scope: Scope{Namespace: "n3"}}})
		}
	})
	b.Run("list_label", func(b *testing.B) {
		for b.Loop() {
			r.list(ListOptions{Predicate: labelled("2")})
		}
	})
	b.Run("initial_events", func(b *testing.B) {
		for b.Loop() {
			w := r.watch(WatchOptions{SendInitialEvents: ptr(true), AllowBookmarks: true})
			for {
				event, err := w.Next(r.ctx)
				if err != nil {
					b.Fatal(err)
				}
				if event.InitialEventsEnd {
					break
				}
			}
			w.Stop()
		}
	})
	b.Run("replay_window", func(b *testing.B) {
		for b.Loop() {
			w := r.watch(WatchOptions{ResourceVersion: "1"})
			for w.Pending() {
				if _, err := w.Next(r.ctx); err != nil {
					b.Fatal(err)
				}
			}
			w.Stop()
		}
	})
	b.Run("store_list", func(b *testing.B) {
		for b.Loop() {
			if _, err := r.memory.List(r.ctx, "/pods/", storage.ListOptions{}); err != nil {
				b.Fatal(err)
			}
		}
	})
}
