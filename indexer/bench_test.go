package indexer_test

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/listwatch/listwatch/indexer"
)

// Ours ("listwatch") and client-go's thread-safe store ("client-go") do the same
// work on the same objects: 100 to a namespace, 30 to a node. Both can be asked
// for a node and for a namespace; ours needs no index for the latter. Ours applies
// single changes as batches of one, as from a watch on an idle queue, unless the
// name says otherwise. Run with -count=5 or more and compare within the run.

var sizes = []int{10_000, 100_000}

type pod = metav1.PartialObjectMetadata

// nodeOf reads the node from a field that costs nothing to read and means nothing
// else here.
func nodeOf(p *pod) []string { return []string{p.GenerateName} }

func keyOf(p *pod) string { return p.Namespace + "/" + p.Name }

func makePod(i, node int) *pod {
	return &pod{ObjectMeta: metav1.ObjectMeta{
		Namespace:    fmt.Sprintf("namespace-%04d", i/100),
		Name:         fmt.Sprintf("deployment-%06d-x%04x", i, i*7919%65536),
		GenerateName: "node-" + strconv.Itoa(node),
	}}
}

// fixture is n pods in key order, two versions of each, and their keys.
type fixture struct {
	pods, moved []*pod
	keys        []string
	items       []indexer.Change[*pod]
	random      []int
}

func makeFixture(n int) *fixture {
	f := &fixture{random: rand.New(rand.NewPCG(1, 2)).Perm(n)}
	nodes := max(1, n/30)
	for i := range n {
		p := makePod(i, i*7%nodes)
		f.pods = append(f.pods, p)
		f.moved = append(f.moved, makePod(i, (i*7+1)%nodes))
		f.keys = append(f.keys, keyOf(p))
		f.items = append(f.items, indexer.Change[*pod]{Key: f.keys[i], Object: p})
	}
	return f
}

func newOurs(tb testing.TB) *indexer.Indexer[*pod] {
	x, err := indexer.New(indexer.Options[*pod]{Indexes: map[string]indexer.Func[*pod]{"node": nodeOf}})
	if err != nil {
		tb.Fatal(err)
	}
	return x
}

func newTheirs() cache.Indexer {
	return cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{
		"namespace": cache.MetaNamespaceIndexFunc,
		"node":      func(obj any) ([]string, error) { return nodeOf(obj.(*pod)), nil },
	})
}

// sides runs one benchmark for both stores at every size; both are filled.
func sides(b *testing.B, ours func(*testing.B, *fixture, *indexer.Indexer[*pod]), theirs func(*testing.B, *fixture, cache.Indexer)) {
	for _, n := range sizes {
		f := makeFixture(n)
		b.Run(fmt.Sprintf("n=%d/listwatch", n), func(b *testing.B) {
			x := newOurs(b)
			x.Replace(f.items, "1")
			b.ReportAllocs()
			b.ResetTimer()
			ours(b, f, x)
		})
		b.Run(fmt.Sprintf("n=%d/client-go", n), func(b *testing.B) {
			x := newTheirs()
			for _, p := range f.pods {
				_ = x.Add(p)
			}
			b.ReportAllocs()
			b.ResetTimer()
			theirs(b, f, x)
		})
	}
}

// one applies a single-change batch, as a watch event on an idle queue does.
func one(x *indexer.Indexer[*pod], change []indexer.Change[*pod], p *pod, key string, del bool) {
	change[0] = indexer.Change[*pod]{Key: key, Object: p, Delete: del}
	x.Apply(change, "2")
}

func BenchmarkUpdateSameIndexValues(b *testing.B) {
	sides(b, func(b *testing.B, f *fixture, x *indexer.Indexer[*pod]) {
		change := make([]indexer.Change[*pod], 1)
		for i := range b.N {
			j := f.random[i%len(f.random)]
			one(x, change, f.pods[j], f.keys[j], false)
		}
	}, func(b *testing.B, f *fixture, x cache.Indexer) {
		for i := range b.N {
			_ = x.Update(f.pods[f.random[i%len(f.random)]])
		}
	})
}

func BenchmarkUpdateNodeMoved(b *testing.B) {
	sides(b, func(b *testing.B, f *fixture, x *indexer.Indexer[*pod]) {
		change := make([]indexer.Change[*pod], 1)
		for i := range b.N {
			j := f.random[i%len(f.random)]
			p := f.pods[j]
			if i/len(f.random)%2 == 0 {
				p = f.moved[j]
			}
			one(x, change, p, f.keys[j], false)
		}
	}, func(b *testing.B, f *fixture, x cache.Indexer) {
		for i := range b.N {
			j := f.random[i%len(f.random)]
			p := f.pods[j]
			if i/len(f.random)%2 == 0 {
				p = f.moved[j]
			}
			_ = x.Update(p)
		}
	})
}

func BenchmarkDeleteThenAdd(b *testing.B) {
	sides(b, func(b *testing.B, f *fixture, x *indexer.Indexer[*pod]) {
		change := make([]indexer.Change[*pod], 1)
		for i := range b.N {
			j := f.random[i%len(f.random)]
			one(x, change, f.pods[j], f.keys[j], true)
			one(x, change, f.pods[j], f.keys[j], false)
		}
	}, func(b *testing.B, f *fixture, x cache.Indexer) {
		for i := range b.N {
			p := f.pods[f.random[i%len(f.random)]]
			_ = x.Delete(p)
			_ = x.Add(p)
		}
	})
}

func BenchmarkGet(b *testing.B) {
	sides(b, func(b *testing.B, f *fixture, x *indexer.Indexer[*pod]) {
		for i := range b.N {
			if _, ok := x.Snapshot().Get(f.keys[f.random[i%len(f.random)]]); !ok {
				b.Fatal("missing")
			}
		}
	}, func(b *testing.B, f *fixture, x cache.Indexer) {
		for i := range b.N {
			if _, ok, _ := x.GetByKey(f.keys[f.random[i%len(f.random)]]); !ok {
				b.Fatal("missing")
			}
		}
	})
}

func BenchmarkAddNew(b *testing.B) {
	sides(b, func(b *testing.B, f *fixture, x *indexer.Indexer[*pod]) {
		change := make([]indexer.Change[*pod], 1)
		for i := range b.N {
			if i%len(f.keys) == 0 {
				x.Replace(nil, "1")
			}
			j := f.random[i%len(f.random)]
			one(x, change, f.pods[j], f.keys[j], false)
		}
	}, func(b *testing.B, f *fixture, x cache.Indexer) {
		for i := range b.N {
			if i%len(f.keys) == 0 {
				_ = x.Replace(nil, "1")
			}
			_ = x.Add(f.pods[f.random[i%len(f.random)]])
		}
	})
}

// BenchmarkUpdateInBatches reports the time of one of 100 updates in a batch.
func BenchmarkUpdateInBatches(b *testing.B) {
	sides(b, func(b *testing.B, f *fixture, x *indexer.Indexer[*pod]) {
		batch := make([]indexer.Change[*pod], 0, 100)
		for i := range b.N {
			j := f.random[i%len(f.random)]
			batch = append(batch, f.items[j])
			if len(batch) == cap(batch) {
				x.Apply(batch, "2")
				batch = batch[:0]
			}
		}
	}, func(b *testing.B, f *fixture, x cache.Indexer) {
		for i := range b.N {
			_ = x.Update(f.pods[f.random[i%len(f.random)]])
		}
	})
}

func BenchmarkReplace(b *testing.B) {
	sides(b, func(b *testing.B, f *fixture, x *indexer.Indexer[*pod]) {
		for range b.N {
			x.Replace(f.items, "2")
		}
	}, func(b *testing.B, f *fixture, x cache.Indexer) {
		list := make([]any, len(f.pods))
		for i, p := range f.pods {
			list[i] = p
		}
		for range b.N {
			_ = x.Replace(list, "2")
		}
	})
}

func BenchmarkGetOnAllCores(b *testing.B) {
	sides(b, func(b *testing.B, f *fixture, x *indexer.Indexer[*pod]) {
		b.RunParallel(func(p *testing.PB) {
			for i := rand.IntN(1000); p.Next(); i++ {
				x.Snapshot().Get(f.keys[f.random[i%len(f.random)]])
			}
		})
	}, func(b *testing.B, f *fixture, x cache.Indexer) {
		b.RunParallel(func(p *testing.PB) {
			for i := rand.IntN(1000); p.Next(); i++ {
				_, _, _ = x.GetByKey(f.keys[f.random[i%len(f.random)]])
			}
		})
	})
}

// The benchmarks below look at every object they get, one field.

var sink int

func BenchmarkNamespaceOf100(b *testing.B) {
	sides(b, func(b *testing.B, f *fixture, x *indexer.Indexer[*pod]) {
		for i := range b.N {
			for _, p := range x.Snapshot().Namespace(f.pods[f.random[i%len(f.random)]].Namespace) {
				sink += len(p.Name)
			}
		}
	}, func(b *testing.B, f *fixture, x cache.Indexer) {
		for i := range b.N {
			found, _ := x.ByIndex("namespace", f.pods[f.random[i%len(f.random)]].Namespace)
			for _, p := range found {
				sink += len(p.(*pod).Name)
			}
		}
	})
}

func BenchmarkByIndexOf30(b *testing.B) {
	sides(b, func(b *testing.B, f *fixture, x *indexer.Indexer[*pod]) {
		for i := range b.N {
			found, _ := x.Snapshot().ByIndex("node", "node-"+strconv.Itoa(i%(len(f.pods)/30)))
			for _, p := range found {
				sink += len(p.Name)
			}
		}
	}, func(b *testing.B, f *fixture, x cache.Indexer) {
		for i := range b.N {
			found, _ := x.ByIndex("node", "node-"+strconv.Itoa(i%(len(f.pods)/30)))
			for _, p := range found {
				sink += len(p.(*pod).Name)
			}
		}
	})
}

// BenchmarkAll iterates in place where client-go has to list. It does not touch
// the objects.
func BenchmarkAll(b *testing.B) {
	sides(b, func(b *testing.B, _ *fixture, x *indexer.Indexer[*pod]) {
		for range b.N {
			for range x.Snapshot().All() {
				sink++
			}
		}
	}, func(b *testing.B, _ *fixture, x cache.Indexer) {
		for range b.N {
			for range x.List() {
				sink++
			}
		}
	})
}

func BenchmarkList(b *testing.B) {
	sides(b, func(b *testing.B, _ *fixture, x *indexer.Indexer[*pod]) {
		for range b.N {
			sink += len(x.Snapshot().List())
		}
	}, func(b *testing.B, _ *fixture, x cache.Indexer) {
		for range b.N {
			sink += len(x.List())
		}
	})
}
