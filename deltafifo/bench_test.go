package deltafifo_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/listwatch/listwatch/deltafifo"
)

// Ours ("listwatch") and client-go's default queue with its default options
// ("client-go") pass the same updates of 10,000 keys. Compare within one run.

type pod = metav1.PartialObjectMetadata

const keyCount = 10_000

func pods() ([]*pod, []string) {
	var all []*pod
	var keys []string
	for i := range keyCount {
		p := &pod{ObjectMeta: metav1.ObjectMeta{Namespace: fmt.Sprint("namespace-", i/100), Name: fmt.Sprint("deployment-", i)}}
		p.ResourceVersion = fmt.Sprint(i)
		all = append(all, p)
		keys = append(keys, p.Namespace+"/"+p.Name)
	}
	return all, keys
}

func newTheirs() *cache.RealFIFO {
	return cache.NewRealFIFOWithOptions(cache.RealFIFOOptions{
		AtomicEvents: true, UnlockWhileProcessing: true,
	})
}

func BenchmarkProducerAndConsumer(b *testing.B) {
	all, keys := pods()
	b.Run("listwatch", func(b *testing.B) {
		q := deltafifo.New[*pod](deltafifo.Options{})
		b.ReportAllocs()
		var consumer sync.WaitGroup
		consumer.Go(func() {
			var batch []deltafifo.Delta[*pod]
			var err error
			for err == nil {
				batch, err = q.Pop(context.Background(), batch)
			}
		})
		for i := range b.N {
			p := i % keyCount
			q.Update(keys[p], all[p], all[p].ResourceVersion)
		}
		q.Close()
		consumer.Wait()
		b.ReportMetric(float64(q.Status().Merged)/float64(b.N), "merged/op")
	})
	b.Run("client-go", func(b *testing.B) {
		q := newTheirs()
		b.ReportAllocs()
		var consumer sync.WaitGroup
		consumer.Go(func() {
			for n := 0; n < b.N; {
				_ = q.PopBatch(func(deltas []cache.Delta, _ bool) error { n += len(deltas); return nil },
					func(any, bool) error { n++; return nil })
			}
		})
		for i := range b.N {
			_ = q.Update(all[i%keyCount])
		}
		consumer.Wait()
	})
}

func BenchmarkUpdateAlone(b *testing.B) {
	all, keys := pods()
	b.Run("listwatch", func(b *testing.B) {
		q := deltafifo.New[*pod](deltafifo.Options{})
		b.ReportAllocs()
		for i := range b.N { // nobody pops: the merging is included
			p := i % keyCount
			q.Update(keys[p], all[p], all[p].ResourceVersion)
		}
	})
	b.Run("client-go", func(b *testing.B) {
		q := newTheirs()
		b.ReportAllocs()
		for i := range b.N {
			_ = q.Update(all[i%keyCount])
		}
	})
}
