package bench

import (
	"runtime"
	"testing"

	"k8s.io/client-go/tools/cache"

	"github.com/listwatch/listwatch/indexer"
)

// One change is a batch of its own, as from a watch on an idle queue, unless the
// name says otherwise.

func BenchmarkStoreUpdate(b *testing.B) {
	forStores(b, func(b *testing.B, s *stores) {
		comparison{unit: "update", main: cpu, ours: s.each(func(i int) { s.put(i, s.pods[i], false) }),
			peer: s.each(func(i int) { _ = s.theirs.Update(s.pods[i]) })}.run(b)
	})
}

// BenchmarkStoreMove updates objects so that they move to another index value and
// back.
func BenchmarkStoreMove(b *testing.B) {
	forStores(b, func(b *testing.B, s *stores) {
		comparison{unit: "update", main: cpu, scale: 2, ours: s.each(func(i int) {
			s.put(i, s.moved[i], false)
			s.put(i, s.pods[i], false)
		}), peer: s.each(func(i int) {
			_ = s.theirs.Update(s.moved[i])
			_ = s.theirs.Update(s.pods[i])
		})}.run(b)
	})
}

func BenchmarkStoreDeleteAndAdd(b *testing.B) {
	forStores(b, func(b *testing.B, s *stores) {
		comparison{unit: "change", main: cpu, scale: 2, ours: s.each(func(i int) {
			s.put(i, nil, true)
			s.put(i, s.pods[i], false)
		}), peer: s.each(func(i int) {
			_ = s.theirs.Delete(s.pods[i])
			_ = s.theirs.Add(s.pods[i])
		})}.run(b)
	})
}

// BenchmarkStoreUpdateBatch updates 100 objects in one batch.
func BenchmarkStoreUpdateBatch(b *testing.B) {
	const size = 100
	forStores(b, func(b *testing.B, s *stores) {
		batch := make([]indexer.Change[*small], 0, size)
		comparison{unit: "update", main: cpu, ours: s.each(func(i int) {
			batch = append(batch, indexer.Change[*small]{Key: s.keys[i], Object: s.pods[i]})
			if len(batch) == size {
				s.ours.Apply(batch, "2")
				batch = batch[:0]
			}
		}), peer: s.each(func(i int) { _ = s.theirs.Update(s.pods[i]) })}.run(b)
	})
}

// BenchmarkStoreReplace replaces everything by the same objects.
func BenchmarkStoreReplace(b *testing.B) {
	forStores(b, func(b *testing.B, s *stores) {
		items, list := s.items(), make([]any, len(s.pods))
		for i, p := range s.pods {
			list[i] = p
		}
		comparison{unit: "replace", main: cpu, ours: func(n int) {
			for range n {
				s.ours.Replace(items, "2")
			}
		}, peer: func(n int) {
			for range n {
				_ = s.theirs.Replace(list, "2")
			}
		}}.run(b)
	})
}

// BenchmarkStoreMemory measures what a store keeps beside the objects: items is a
// store without an index, the keys included; index is what an index by node adds.
func BenchmarkStoreMemory(b *testing.B) {
	s := newStores(b, 100_000)
	s.ours, s.theirs = nil, nil
	byNode := map[string]indexer.Func[*small]{"node": func(p *small) []string { return []string{p.GenerateName} }}
	items := func(side newSide) float64 {
		if side.name == newOurs.name {
			return s.retained(func() any { return s.copyOurs(b, nil) })
		}
		return s.retained(func() any { return s.copyTheirs(b, cache.Indexers{}) })
	}
	index := func(side newSide) float64 {
		if side.name == newOurs.name {
			return s.retained(func() any { return s.copyOurs(b, byNode) })
		}
		return s.retained(func() any {
			return s.copyTheirs(b, cache.Indexers{"node": func(obj any) ([]string, error) { return []string{obj.(*small).GenerateName}, nil }})
		})
	}
	b.Run("items", func(b *testing.B) { compareValues(b, "B/object", 3, items) })
	b.Run("index", func(b *testing.B) {
		compareValues(b, "B/object", 3, func(side newSide) float64 { return index(side) - items(side) })
	})
}

// copyOurs fills a store one by one, as a watch would.
func (s *stores) copyOurs(tb testing.TB, indexes map[string]indexer.Func[*small]) *indexer.Indexer[*small] {
	x, err := indexer.New(indexer.Options[*small]{Indexes: indexes})
	if err != nil {
		tb.Fatal(err)
	}
	for i := range s.pods {
		s.change[0] = indexer.Change[*small]{Key: string([]byte(s.keys[s.at(i)])), Object: s.pods[s.at(i)]}
		x.Apply(s.change, "1")
	}
	return x
}

func (s *stores) copyTheirs(tb testing.TB, indexers cache.Indexers) cache.Indexer {
	x := cache.NewIndexer(cache.MetaNamespaceKeyFunc, indexers)
	for i := range s.pods {
		if err := x.Add(s.pods[s.at(i)]); err != nil {
			tb.Fatal(err)
		}
	}
	return x
}

// retained returns how much memory of the heap the result of f keeps, an object.
func (s *stores) retained(f func() any) float64 {
	before := heapInUse()
	result := f()
	after := heapInUse()
	runtime.KeepAlive(result)
	return (after - before) / float64(len(s.pods))
}

// heapInUse is what is alive on the heap.
func heapInUse() float64 {
	runtime.GC()
	runtime.GC() // what finalizers held
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return float64(stats.HeapAlloc)
}
