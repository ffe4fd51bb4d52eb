package informer

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"

	"github.com/listwatch/listwatch/deltafifo"
	"github.com/listwatch/listwatch/indexer"
	"github.com/listwatch/listwatch/reflector"
)

const benchObjects = 1000

// feed is a ListerWatcher in memory, without decoding: what is measured is the
// way from the watch channel to the handlers.
type feed struct {
	list   *metav1.PartialObjectMetadataList
	events chan watch.Event
	stop   sync.Once
}

func newFeed() *feed {
	f := &feed{list: &metav1.PartialObjectMetadataList{}, events: make(chan watch.Event, 128)}
	f.list.ResourceVersion = strconv.Itoa(benchObjects)
	for k := range benchObjects {
		f.list.Items = append(f.list.Items, *newThing(fmt.Sprintf("ns-%d/object-%d", k%10, k), fmt.Sprint("uid-", k), int64(k+1)))
	}
	return f
}

func (f *feed) List(metav1.ListOptions) (runtime.Object, error)   { return f.list, nil }
func (f *feed) Watch(metav1.ListOptions) (watch.Interface, error) { return f, nil }
func (f *feed) IsWatchListSemanticsUnSupported() bool             { return true }
func (f *feed) Stop()                                             { f.stop.Do(func() { close(f.events) }) }
func (f *feed) ResultChan() <-chan watch.Event                    { return f.events }
func (f *feed) ListWithContext(context.Context, metav1.ListOptions) (runtime.Object, error) {
	return f.list, nil
}
func (f *feed) WatchWithContext(context.Context, metav1.ListOptions) (watch.Interface, error) {
	return f, nil
}

// send makes n modifications, the first of them the k-th, spread over all
// objects.
func (f *feed) send(k, n int) {
	for end := k + n; k < end; k++ {
		obj := f.list.Items[k%benchObjects]
		obj.ResourceVersion = strconv.Itoa(benchObjects + 1 + k)
		f.events <- watch.Event{Type: watch.Modified, Object: &obj}
	}
}

// round tells when all handlers have seen what was sent.
type round struct {
	handlers int64
	each     bool // events go one by one: the next when all have seen the last
	left     atomic.Int64
	seen     chan struct{}
}

func (r *round) update() {
	if r.left.Add(-1) == 0 {
		r.seen <- struct{}{}
	}
}

// run sends n events through from and waits until all handlers have seen them.
func (r *round) run(b *testing.B, from *feed) {
	b.ReportAllocs()
	b.ResetTimer()
	if r.each {
		for k := range b.N {
			r.left.Store(r.handlers)
			from.send(k, 1)
			<-r.seen
		}
	} else {
		r.left.Store(r.handlers * int64(b.N))
		from.send(0, b.N)
		<-r.seen
	}
	b.StopTimer()
}

func byNamespace(obj *thing) []string { return []string{obj.Namespace} }

// BenchmarkUpdates takes modifications of 1000 objects through one index to a
// number of handlers, as fast as they go; an operation is one event that all
// handlers have seen. Merging is off, so that both sides make the same calls.
func BenchmarkUpdates(b *testing.B) { benchBoth(b, false) }

// BenchmarkLatency is BenchmarkUpdates with one event on the way at a time.
func BenchmarkLatency(b *testing.B) { benchBoth(b, true) }

func benchBoth(b *testing.B, each bool) {
	for _, handlers := range []int64{1, 10, 100} {
		newRound := func() *round { return &round{handlers: handlers, each: each, seen: make(chan struct{})} }
		b.Run(fmt.Sprintf("handlers=%d/listwatch", handlers), func(b *testing.B) { benchListwatch(b, newRound()) })
		b.Run(fmt.Sprintf("handlers=%d/client-go", handlers), func(b *testing.B) { benchClientGo(b, newRound()) })
	}
}

func benchListwatch(b *testing.B, r *round) {
	from := newFeed()
	inf, err := New(reflector.FromListerWatcher[*thing](from), Options[*thing]{
		Indexes: map[string]indexer.Func[*thing]{"namespace": byNamespace}, MaxPending: 1 << 30,
	})
	if err != nil {
		b.Fatal(err)
	}
	var regs []*Registration
	for range r.handlers {
		reg, err := inf.AddHandler(HandlerFuncs[*thing]{UpdateFunc: func(_, _ *thing) { r.update() }})
		if err != nil {
			b.Fatal(err)
		}
		regs = append(regs, reg)
	}
	var running sync.WaitGroup
	ctx, cancel := context.WithCancel(b.Context())
	running.Go(func() { _ = inf.Run(ctx) })
	for _, reg := range regs {
		<-reg.Synced()
	}
	r.run(b, from)
	cancel()
	running.Wait()
}

func benchClientGo(b *testing.B, r *round) {
	from := newFeed()
	inf := cache.NewSharedIndexInformer(from, &thing{}, 0, cache.Indexers{
		"namespace": func(obj any) ([]string, error) { return byNamespace(obj.(*thing)), nil },
	})
	var synced []cache.InformerSynced
	for range r.handlers {
		reg, err := inf.AddEventHandler(cache.ResourceEventHandlerFuncs{UpdateFunc: func(_, _ any) { r.update() }})
		if err != nil {
			b.Fatal(err)
		}
		synced = append(synced, reg.HasSynced)
	}
	var running sync.WaitGroup
	ctx, cancel := context.WithCancel(b.Context())
	running.Go(func() { inf.RunWithContext(ctx) })
	if !cache.WaitForCacheSync(ctx.Done(), synced...) {
		b.Fatal("not synced")
	}
	r.run(b, from)
	cancel()
	running.Wait()
}

// BenchmarkUnchangedList compares a list of 100000 objects with a cache that has
// them already.
func BenchmarkUnchangedList(b *testing.B) {
	index, err := indexer.New(indexer.Options[*thing]{})
	if err != nil {
		b.Fatal(err)
	}
	var changes []indexer.Change[*thing]
	var items []deltafifo.Item[*thing]
	for k := range 100_000 {
		obj := newThing(fmt.Sprintf("ns/object-%06d", k), fmt.Sprint("uid-", k), int64(k+1))
		changes = append(changes, indexer.Change[*thing]{Key: keyOf(obj), Object: obj})
		items = append(items, deltafifo.Item[*thing]{Key: keyOf(obj), Object: obj.DeepCopy()})
	}
	snapshot := index.Apply(changes, "1")
	batch := deltas{{Type: deltafifo.Replaced, ResourceVersion: "2", Replacement: &deltafifo.Replacement[*thing]{Items: items}}}
	var d differ[*thing]
	b.ReportAllocs()
	for b.Loop() {
		if out := d.diff(snapshot, batch, false); len(out.notices) > 0 {
			b.Fatalf("%d notices, want none", len(out.notices))
		}
	}
}
