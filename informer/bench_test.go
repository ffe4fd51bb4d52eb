package informer

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"

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

// send makes n modifications, spread over all objects, and returns the version
// of the last.
func (f *feed) send(n int) {
	for k := range n {
		obj := f.list.Items[k%benchObjects]
		obj.ResourceVersion = strconv.Itoa(benchObjects + 1 + k)
		f.events <- watch.Event{Type: watch.Modified, Object: &obj}
	}
}

// counter says when a handler has seen all updates.
type counter struct {
	left int
	done *sync.WaitGroup
}

func (c *counter) update() {
	if c.left--; c.left == 0 {
		c.done.Done()
	}
}

func byNamespace(obj *thing) []string { return []string{obj.Namespace} }

// BenchmarkUpdates takes modifications of 1000 objects through one index to a
// number of handlers; an operation is one event that all handlers have seen.
// Merging is off, so that both sides make the same calls.
func BenchmarkUpdates(b *testing.B) {
	for _, handlers := range []int{1, 10, 100} {
		b.Run(fmt.Sprintf("handlers=%d/listwatch", handlers), func(b *testing.B) { benchListwatch(b, handlers) })
		b.Run(fmt.Sprintf("handlers=%d/client-go", handlers), func(b *testing.B) { benchClientGo(b, handlers) })
	}
}

func benchListwatch(b *testing.B, handlers int) {
	from := newFeed()
	inf, err := New(reflector.FromListerWatcher[*thing](from), Options[*thing]{
		Indexes: map[string]indexer.Func[*thing]{"namespace": byNamespace}, MaxPending: 1 << 30,
	})
	if err != nil {
		b.Fatal(err)
	}
	var seen, stopped sync.WaitGroup
	for range handlers {
		c := &counter{left: b.N, done: &seen}
		seen.Add(1)
		if _, err := inf.AddHandler(HandlerFuncs[*thing]{UpdateFunc: func(_, _ *thing) { c.update() }}); err != nil {
			b.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(b.Context())
	stopped.Go(func() { _ = inf.Run(ctx) })
	if err := inf.WaitForSync(ctx); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	b.ResetTimer()
	from.send(b.N)
	seen.Wait()
	b.StopTimer()
	cancel()
	stopped.Wait()
}

func benchClientGo(b *testing.B, handlers int) {
	from := newFeed()
	inf := cache.NewSharedIndexInformer(from, &thing{}, 0, cache.Indexers{
		"namespace": func(obj any) ([]string, error) { return byNamespace(obj.(*thing)), nil },
	})
	var seen, stopped sync.WaitGroup
	var synced []cache.InformerSynced
	for range handlers {
		c := &counter{left: b.N, done: &seen}
		seen.Add(1)
		reg, err := inf.AddEventHandler(cache.ResourceEventHandlerFuncs{UpdateFunc: func(_, _ any) { c.update() }})
		if err != nil {
			b.Fatal(err)
		}
		synced = append(synced, reg.HasSynced)
	}
	ctx, cancel := context.WithCancel(b.Context())
	stopped.Go(func() { inf.RunWithContext(ctx) })
	if !cache.WaitForCacheSync(ctx.Done(), synced...) {
		b.Fatal("not synced")
	}
	b.ReportAllocs()
	b.ResetTimer()
	from.send(b.N)
	seen.Wait()
	b.StopTimer()
	cancel()
	stopped.Wait()
}
