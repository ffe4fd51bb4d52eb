package bench

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"strconv"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/listwatch/listwatch/indexer"
)

// small is an object without a body: what a store costs does not depend on it.
type small = metav1.PartialObjectMetadata

// smallPod is pod i: 100 to a namespace, and on the given node, which is read from
// a field that costs nothing to read and means nothing else here.
func smallPod(i, node int) *small {
	return &small{ObjectMeta: metav1.ObjectMeta{
		Namespace:    fmt.Sprintf("namespace-%04d", i/100),
		Name:         fmt.Sprintf("deployment-%06d-x%04x", i, i*7919%65536),
		GenerateName: smallNode(node),
	}}
}

func smallNode(node int) string { return "node-" + strconv.Itoa(node) }

// stores are the two caches, with the same objects.
type stores struct {
	pods, moved []*small // in key order, and on other nodes
	keys        []string
	nodes       []string
	random      []int
	ours        *indexer.Indexer[*small]
	theirs      cache.Indexer
	change      []indexer.Change[*small]
}

// forStores runs a benchmark with 10,000 and with 100,000 objects.
func forStores(b *testing.B, f func(b *testing.B, s *stores)) {
	for _, n := range []int{10_000, 100_000} {
		b.Run(fmt.Sprintf("objects=%d", n), func(b *testing.B) { f(b, newStores(b, n)) })
	}
}

func newStores(tb testing.TB, n int) *stores {
	s := &stores{random: rand.New(rand.NewPCG(1, 2)).Perm(n), change: make([]indexer.Change[*small], 1)}
	nodes := max(1, n/30)
	for node := range nodes {
		s.nodes = append(s.nodes, smallNode(node))
	}
	for i := range n {
		p := smallPod(i, i*7%nodes)
		s.pods = append(s.pods, p)
		s.moved = append(s.moved, smallPod(i, (i*7+1)%nodes))
		s.keys = append(s.keys, p.Namespace+"/"+p.Name)
	}
	s.ours, s.theirs = s.fillOurs(tb), s.fillTheirs(tb)
	return s
}

func (s *stores) fillOurs(tb testing.TB) *indexer.Indexer[*small] {
	x, err := indexer.New(indexer.Options[*small]{Indexes: map[string]indexer.Func[*small]{
		"node": func(p *small) []string { return []string{p.GenerateName} },
	}})
	if err != nil {
		tb.Fatal(err)
	}
	x.Replace(s.items(), "1")
	return x
}

func (s *stores) items() []indexer.Change[*small] {
	var items []indexer.Change[*small]
	for i, p := range s.pods {
		items = append(items, indexer.Change[*small]{Key: s.keys[i], Object: p})
	}
	return items
}

func (s *stores) fillTheirs(tb testing.TB) cache.Indexer {
	x := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{
		"namespace": cache.MetaNamespaceIndexFunc,
		"node":      func(obj any) ([]string, error) { return []string{obj.(*small).GenerateName}, nil },
	})
	for _, p := range s.pods {
		if err := x.Add(p); err != nil {
			tb.Fatal(err)
		}
	}
	return x
}

// at returns the index of the i-th object of a random order.
func (s *stores) at(i int) int { return s.random[i%len(s.random)] }

// put applies one change, as a watch event on an idle queue does.
func (s *stores) put(i int, p *small, del bool) {
	s.change[0] = indexer.Change[*small]{Key: s.keys[i], Object: p, Delete: del}
	s.ours.Apply(s.change, "2")
}

// kept keeps results alive.
var kept int

// each runs f for n different objects.
func (s *stores) each(f func(i int)) func(n int) {
	return func(n int) {
		for i := range n {
			f(s.at(i))
		}
	}
}

func BenchmarkStoreGet(b *testing.B) {
	forStores(b, func(b *testing.B, s *stores) {
		ours, theirs := s.gets()
		comparison{unit: "get", main: cpu, ours: s.each(ours), peer: s.each(theirs)}.run(b)
	})
}

func (s *stores) gets() (ours, theirs func(i int)) {
	return func(i int) { s.ours.Snapshot().Get(s.keys[i]) },
		func(i int) { _, _, _ = s.theirs.GetByKey(s.keys[i]) }
}

// BenchmarkStoreGetAllCores reads with one goroutine a core.
func BenchmarkStoreGetAllCores(b *testing.B) {
	forStores(b, func(b *testing.B, s *stores) {
		ours, theirs := s.gets()
		comparison{unit: "get", main: wall, ours: s.onAllCores(ours), peer: s.onAllCores(theirs)}.run(b)
	})
}

func (s *stores) onAllCores(f func(i int)) func(n int) {
	return func(n int) {
		var cores sync.WaitGroup
		all := runtime.GOMAXPROCS(0)
		for core := range all {
			cores.Go(func() {
				for i := core; i < n; i += all {
					f(s.at(i))
				}
			})
		}
		cores.Wait()
	}
}

// BenchmarkStoreByIndex looks at one field of all objects of a namespace (100) and
// of a node (30).
func BenchmarkStoreByIndex(b *testing.B) {
	b.Run("namespace", func(b *testing.B) {
		forStores(b, func(b *testing.B, s *stores) {
			ours, theirs := s.namespaces()
			comparison{unit: "read", main: cpu, ours: s.each(ours), peer: s.each(theirs)}.run(b)
		})
	})
	b.Run("node", func(b *testing.B) {
		forStores(b, func(b *testing.B, s *stores) {
			ours, theirs := s.onNodes()
			comparison{unit: "read", main: cpu, ours: s.each(ours), peer: s.each(theirs)}.run(b)
		})
	})
}

func (s *stores) namespaces() (ours, theirs func(i int)) {
	return func(i int) {
			n := 0
			for _, p := range s.ours.Snapshot().Namespace(s.pods[i].Namespace) {
				n += len(p.Name)
			}
			use(n)
		}, func(i int) {
			n := 0
			found, _ := s.theirs.ByIndex("namespace", s.pods[i].Namespace)
			for _, p := range found {
				n += len(p.(*small).Name)
			}
			use(n)
		}
}

func (s *stores) onNodes() (ours, theirs func(i int)) {
	return func(i int) {
			n := 0
			found, _ := s.ours.Snapshot().ByIndex("node", s.nodes[i%len(s.nodes)])
			for _, p := range found {
				n += len(p.Name)
			}
			use(n)
		}, func(i int) {
			n := 0
			found, _ := s.theirs.ByIndex("node", s.nodes[i%len(s.nodes)])
			for _, p := range found {
				n += len(p.(*small).Name)
			}
			use(n)
		}
}

// use stands for what a caller does with a result.
//
//go:noinline
func use(n int) {
	if n < 0 {
		kept++
	}
}

// BenchmarkStoreList copies all objects into a slice.
func BenchmarkStoreList(b *testing.B) {
	forStores(b, func(b *testing.B, s *stores) {
		comparison{unit: "list", main: cpu, ours: s.each(func(int) { use(len(s.ours.Snapshot().List())) }),
			peer: s.each(func(int) { use(len(s.theirs.List())) })}.run(b)
	})
}

// BenchmarkStoreAll walks over all objects in key order, in place; the peer has to
// list them. The objects themselves are not touched.
func BenchmarkStoreAll(b *testing.B) {
	forStores(b, func(b *testing.B, s *stores) {
		comparison{unit: "walk", main: cpu, ours: s.each(func(int) {
			n := 0
			for _, p := range s.ours.Snapshot().All() {
				if p != nil {
					n++
				}
			}
			use(n)
		}), peer: s.each(func(int) {
			n := 0
			for _, p := range s.theirs.List() {
				if p != nil {
					n++
				}
			}
			use(n)
		})}.run(b)
	})
}

// BenchmarkStoreIndexKeys collects the keys of a namespace, sorted.
func BenchmarkStoreIndexKeys(b *testing.B) {
	forStores(b, func(b *testing.B, s *stores) {
		comparison{unit: "read", main: cpu, ours: s.each(func(i int) {
			keys := make([]string, 0, 100)
			for key := range s.ours.Snapshot().Namespace(s.pods[i].Namespace) {
				keys = append(keys, key)
			}
			use(len(keys))
		}), peer: s.each(func(i int) {
			keys, _ := s.theirs.IndexKeys("namespace", s.pods[i].Namespace)
			use(len(keys))
		})}.run(b)
	})
}
