package bench

import (
	"context"
	"sync"
	"testing"

	"k8s.io/client-go/tools/cache"

	"github.com/listwatch/listwatch/deltafifo"
)

// newTheirQueue is the queue of a shared informer with its default options.
func newTheirQueue() *cache.RealFIFO {
	return cache.NewRealFIFOWithOptions(cache.RealFIFOOptions{AtomicEvents: true, UnlockWhileProcessing: true})
}

// BenchmarkQueue passes updates of 10,000 objects from a producer to a consumer;
// both run at once. Ours merges none of them.
func BenchmarkQueue(b *testing.B) {
	s := newStores(b, 10_000)
	for i, p := range s.pods {
		p.ResourceVersion = s.keys[i]
	}
	q := deltafifo.New[*small](deltafifo.Options{MaxPending: 1 << 30})
	theirs := newTheirQueue()
	var batch []deltafifo.Delta[*small]
	comparison{unit: "event", main: cpu, ours: func(n int) {
		var producer sync.WaitGroup
		producer.Go(func() {
			for i := range n {
				k := i % len(s.pods)
				q.Update(s.keys[k], s.pods[k], s.pods[k].ResourceVersion)
			}
		})
		for seen := 0; seen < n; seen += len(batch) {
			batch, _ = q.Pop(context.Background(), batch)
		}
		producer.Wait()
	}, peer: func(n int) {
		var producer sync.WaitGroup
		producer.Go(func() {
			for i := range n {
				_ = theirs.Update(s.pods[i%len(s.pods)])
			}
		})
		for seen := 0; seen < n; {
			_ = theirs.PopBatch(func(deltas []cache.Delta, _ bool) error { seen += len(deltas); return nil },
				func(any, bool) error { seen++; return nil })
		}
		producer.Wait()
	}}.run(b)
}

// BenchmarkQueueBehind has a producer and no consumer: ours merges, the peer keeps
// everything.
func BenchmarkQueueBehind(b *testing.B) {
	s := newStores(b, 10_000)
	comparison{unit: "event", main: cpu, ours: func(n int) {
		q := deltafifo.New[*small](deltafifo.Options{})
		for i := range n {
			k := i % len(s.pods)
			q.Update(s.keys[k], s.pods[k], s.pods[k].ResourceVersion)
		}
	}, peer: func(n int) {
		q := newTheirQueue()
		for i := range n {
			_ = q.Update(s.pods[i%len(s.pods)])
		}
	}}.run(b)
}
