package clientgo_test

import (
	"context"
	"runtime"
	"strconv"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"

	"github.com/listwatch/listwatch/informer"
	"github.com/listwatch/listwatch/informer/clientgo"
	"github.com/listwatch/listwatch/reflector"
)

// oneByOne is a watch of one pod, whose events are made before they are needed.
type oneByOne struct {
	events chan watch.Event
	seen   chan struct{}
}

// IsWatchListSemanticsUnSupported says that there are no watch-lists.
func (o *oneByOne) IsWatchListSemanticsUnSupported() bool { return true }

func (o *oneByOne) List(metav1.ListOptions) (kruntime.Object, error) {
	return &corev1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: "1"}, Items: []corev1.Pod{*newPod("n", "a", "1")}}, nil
}

func (o *oneByOne) Watch(metav1.ListOptions) (watch.Interface, error) {
	return watch.NewProxyWatcher(o.events), nil
}

// perEvent is the number of allocations that an informer makes for each of n events of
// one object, with a handler, each event on its own.
func perEvent(n int, start func(ctx context.Context, o *oneByOne)) float64 {
	o := &oneByOne{events: make(chan watch.Event), seen: make(chan struct{})}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { defer close(ended); start(ctx, o) }()
	<-o.seen
	events := make([]watch.Event, n)
	for k := range events {
		events[k] = watch.Event{Type: watch.Modified, Object: newPod("n", "a", strconv.Itoa(k+2))}
	}
	next := func(event watch.Event) {
		o.events <- event
		<-o.seen
	}
	for _, event := range events[:n/2] { // until buffers have their sizes
		next(event)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for _, event := range events[n/2:] {
		next(event)
	}
	runtime.ReadMemStats(&after)
	stop()
	<-ended
	return float64(after.Mallocs-before.Mallocs) / float64(n-n/2)
}

// shared runs what a constructor makes.
func shared(newInformer maker) func(context.Context, *oneByOne) {
	return func(ctx context.Context, o *oneByOne) {
		inf := newInformer(o, &corev1.Pod{}, cache.SharedIndexInformerOptions{Indexers: byNamespace()})
		_, err := inf.AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc: func(any) { o.seen <- struct{}{} }, UpdateFunc: func(_, _ any) { o.seen <- struct{}{} },
		})
		if err != nil {
			panic(err)
		}
		inf.RunWithContext(ctx)
	}
}

func byNamespace() cache.Indexers {
	return cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc}
}

// proper runs an Informer without client-go's interface.
func proper(ctx context.Context, o *oneByOne) {
	inf, err := informer.New(reflector.FromListerWatcher[*corev1.Pod](o), informer.Options[*corev1.Pod]{
		Reflector: reflector.Options{DisableWatchList: true},
	})
	if err != nil {
		panic(err)
	}
	if err := inf.AddIndex(cache.NamespaceIndex, func(pod *corev1.Pod) []string { return []string{pod.Namespace} }); err != nil {
		panic(err)
	}
	if _, err := inf.AddHandler(informer.HandlerFuncs[*corev1.Pod]{
		AddFunc: func(*corev1.Pod, bool) { o.seen <- struct{}{} }, UpdateFunc: func(_, _ *corev1.Pod) { o.seen <- struct{}{} },
	}); err != nil {
		panic(err)
	}
	_ = inf.Run(ctx) // ctx's error
}

func TestAnEventCostsNoMoreAllocationsThanWithAnInformerProper(t *testing.T) {
	t.Setenv("LISTWATCH_DETECT_MUTATIONS", "0") // the detector copies
	const n = 4000
	inner, ours, theirs := perEvent(n, proper), perEvent(n, shared(clientgo.NewSharedIndexInformerWithOptions)), perEvent(n, shared(cache.NewSharedIndexInformerWithOptions))
	t.Logf("allocations for an event: %.2f in an Informer, %.2f behind client-go's interface, %.2f in client-go's", inner, ours, theirs)
	if ours > inner+0.5 {
		t.Errorf("%.2f allocations, %.2f in an Informer: the adapter adds some", ours, inner)
	}
}
