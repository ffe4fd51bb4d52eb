package bench

import (
	"context"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"

	"github.com/listwatch/listwatch/indexer"
	"github.com/listwatch/listwatch/informer"
	"github.com/listwatch/listwatch/reflector"
)

// memoryFeed is a ListerWatcher in memory, without decoding: what is measured is
// the way from the watch channel to the handlers.
type memoryFeed struct {
	list   *metav1.PartialObjectMetadataList
	events chan watch.Event
	made   int // events so far
	// body is how many bytes each version carries, in memory of its own.
	body int
	// decode, if set, is what each event costs before it is there.
	decode func()
}

func newMemoryFeed(n int) *memoryFeed {
	f := &memoryFeed{list: &metav1.PartialObjectMetadataList{}, events: make(chan watch.Event, 128)}
	f.list.ResourceVersion = strconv.Itoa(n)
	for i := range n {
		p := smallPod(i, i/30)
		p.UID = types.UID("uid-" + strconv.Itoa(i))
		p.ResourceVersion = strconv.Itoa(i + 1)
		f.list.Items = append(f.list.Items, *p)
	}
	return f
}

// send makes n modifications, object after object.
func (f *memoryFeed) send(n int) {
	for range n {
		obj := f.list.Items[f.made%len(f.list.Items)]
		f.made++
		obj.ResourceVersion = strconv.Itoa(len(f.list.Items) + f.made)
		if f.body > 0 {
			obj.Annotations = map[string]string{"body": string(make([]byte, f.body))}
		}
		if f.decode != nil {
			f.decode()
		}
		f.events <- watch.Event{Type: watch.Modified, Object: &obj}
	}
}

func (f *memoryFeed) List(metav1.ListOptions) (runtime.Object, error) { return f.list, nil }
func (f *memoryFeed) Watch(metav1.ListOptions) (watch.Interface, error) {
	return memoryWatch{f}, nil
}
func (f *memoryFeed) IsWatchListSemanticsUnSupported() bool { return true }
func (f *memoryFeed) ListWithContext(context.Context, metav1.ListOptions) (runtime.Object, error) {
	return f.list, nil
}
func (f *memoryFeed) WatchWithContext(context.Context, metav1.ListOptions) (watch.Interface, error) {
	return memoryWatch{f}, nil
}

// memoryWatch never ends by itself: an informer that is stopped does not ask for
// more.
type memoryWatch struct{ *memoryFeed }

func (w memoryWatch) Stop()                          {}
func (w memoryWatch) ResultChan() <-chan watch.Event { return w.events }

// calls is what the handlers of a benchmark do: they count down.
type calls struct {
	left atomic.Int64
	done chan struct{}
}

func newCalls() *calls { return &calls{done: make(chan struct{}, 1)} }

func (c *calls) expect(n int64) { c.left.Store(n) }

func (c *calls) update() {
	if c.left.Add(-1) == 0 {
		c.done <- struct{}{}
	}
}

func (c *calls) wait() { <-c.done }

// followed is an informer of either side, running and synced.
type followed struct {
	feed *memoryFeed
	*calls
	// add adds a handler and waits until it is synced; options are for ours.
	add  func(update func(), options ...informer.HandlerOption)
	stop func()
}

// setupOf says what an informer is like.
type setupOf struct {
	objects, handlers int
	// merge lets the queue of ours merge versions, as it does by default.
	merge bool
}

func follow(tb testing.TB, side newSide, s setupOf) *followed {
	tb.Helper()
	f := &followed{feed: newMemoryFeed(s.objects), calls: newCalls()}
	side.as(func() {
		if side.name == newOurs.name {
			f.followOurs(tb, s)
		} else {
			f.followTheirs(tb)
		}
	})
	for range s.handlers {
		f.add(f.update)
	}
	return f
}

func (f *followed) followOurs(tb testing.TB, s setupOf) {
	options := informer.Options[*small]{
		Indexes: map[string]indexer.Func[*small]{"node": func(p *small) []string { return []string{p.GenerateName} }},
	}
	if !s.merge {
		options.MaxPending = 1 << 30 // both sides make the same calls
	}
	inf, err := informer.New(reflector.FromListerWatcher[*small](f.feed), options)
	if err != nil {
		tb.Fatal(err)
	}
	f.add = func(update func(), options ...informer.HandlerOption) {
		reg, err := inf.AddHandler(informer.HandlerFuncs[*small]{UpdateFunc: func(_, _ *small) { update() }}, options...)
		if err != nil {
			tb.Fatal(err)
		}
		<-reg.Synced()
	}
	f.run(func(ctx context.Context) { _ = inf.Run(ctx) })
}

func (f *followed) followTheirs(tb testing.TB) {
	inf := cache.NewSharedIndexInformer(f.feed, &small{}, 0, cache.Indexers{
		"node": func(obj any) ([]string, error) { return []string{obj.(*small).GenerateName}, nil },
	})
	f.add = func(update func(), _ ...informer.HandlerOption) {
		reg, err := inf.AddEventHandler(cache.ResourceEventHandlerFuncs{UpdateFunc: func(_, _ any) { update() }})
		if err != nil {
			tb.Fatal(err)
		}
		<-reg.HasSyncedChecker().Done()
	}
	f.run(inf.RunWithContext)
}

// run runs an informer until stop.
func (f *followed) run(run func(ctx context.Context)) {
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { run(ctx) })
	f.stop = func() {
		cancel()
		running.Wait()
	}
}

// events sends n events and waits until all handlers have seen them.
func (f *followed) events(n, handlers int) {
	f.expect(int64(n) * int64(handlers))
	f.feed.send(n)
	f.wait()
}
