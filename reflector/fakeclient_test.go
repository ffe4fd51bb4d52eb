package reflector

import (
	"context"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/kubernetes/scheme"
	metadatafake "k8s.io/client-go/metadata/fake"
	"k8s.io/client-go/tools/cache"
)

// journal is a Sink of any type that writes its calls down by name.
type journal[T Object] struct {
	mu    sync.Mutex
	calls []string
}

func (j *journal[T]) note(parts ...string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.calls = append(j.calls, strings.Join(parts, " "))
}

func (j *journal[T]) BeginReplace(reason string) { j.note("begin", reason) }
func (j *journal[T]) ReplaceItem(obj T)          { j.note("item", obj.GetName()) }
func (j *journal[T]) EndReplace(string)          { j.note("end") }
func (j *journal[T]) AbortReplace()              { j.note("abort") }
func (j *journal[T]) Add(obj T)                  { j.note("add", obj.GetName()) }
func (j *journal[T]) Update(obj T)               { j.note("update", obj.GetName()) }
func (j *journal[T]) Delete(obj T)               { j.note("delete", obj.GetName()) }
func (j *journal[T]) Bookmark(string)            { j.note("bookmark") }

func (j *journal[T]) trace() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return strings.Join(j.calls, ", ")
}

// follow runs a Reflector over source, lets change happen once it is synced,
// and compares what the sink saw. It must be called in a bubble.
func follow[T Object](t *testing.T, source Source[T], change func(ctx context.Context), expected string) Status {
	t.Helper()
	sink := &journal[T]{}
	r, err := New(source, sink, Options{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(quiet())
	done := make(chan struct{})
	go func() { defer close(done); _ = r.Run(ctx) }()
	synctest.Wait()
	change(ctx)
	synctest.Wait()
	status := r.Status()
	cancel()
	<-done
	want(t, "sink", sink.trace(), expected)
	return status
}

// must fails the test for a client's error.
func must[V any](t *testing.T) func(V, error) {
	return func(_ V, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
}

const lifeOfB = "begin initial, item a, end, add b, update b, delete b"

func TestATypedFakeClientIsFollowed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		set := fake.NewClientset(pod("a", ""))
		client := set.CoreV1().Pods("ns")
		lw := cache.ToListWatcherWithWatchListSemantics(&cache.ListWatch{
			ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
				return client.List(ctx, options)
			},
			WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
				return client.Watch(ctx, options)
			},
		}, set)
		status := follow(t, FromListerWatcher[*corev1.Pod](lw), func(ctx context.Context) {
			must[*corev1.Pod](t)(client.Create(ctx, pod("b", ""), metav1.CreateOptions{}))
			must[*corev1.Pod](t)(client.Update(ctx, pod("b", ""), metav1.UpdateOptions{}))
			must[any](t)(nil, client.Delete(ctx, "b", metav1.DeleteOptions{}))
		}, lifeOfB)
		want(t, "watch-lists", status.WatchLists, 0)
	})
}

func TestADynamicFakeClientIsFollowed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		set := dynamicfake.NewSimpleDynamicClient(scheme.Scheme, pod("a", ""))
		client := set.Resource(schema.GroupVersionResource{Version: "v1", Resource: "pods"}).Namespace("ns")
		lw := cache.ToListWatcherWithWatchListSemantics(&cache.ListWatch{
			ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
				return client.List(ctx, options)
			},
			WatchFuncWithContext: client.Watch,
		}, set)
		b := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{"name": "b", "namespace": "ns"}}}
		follow(t, FromListerWatcher[*unstructured.Unstructured](lw), func(ctx context.Context) {
			must[*unstructured.Unstructured](t)(client.Create(ctx, b, metav1.CreateOptions{}))
			must[*unstructured.Unstructured](t)(client.Update(ctx, b, metav1.UpdateOptions{}))
			must[any](t)(nil, client.Delete(ctx, "b", metav1.DeleteOptions{}))
		}, lifeOfB)
	})
}

func TestAMetadataFakeClientIsFollowed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		partial := func(name string) *object {
			return &object{
				TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
				ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name},
			}
		}
		types := metadatafake.NewTestScheme()
		if err := metav1.AddMetaToScheme(types); err != nil {
			t.Fatal(err)
		}
		set := metadatafake.NewSimpleMetadataClient(types, partial("a"))
		client := set.Resource(schema.GroupVersionResource{Version: "v1", Resource: "pods"}).Namespace("ns").(metadatafake.MetadataClient)
		lw := cache.ToListWatcherWithWatchListSemantics(&cache.ListWatch{
			ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
				return client.List(ctx, options)
			},
			WatchFuncWithContext: client.Watch,
		}, set)
		follow(t, FromListerWatcher[*object](lw), func(ctx context.Context) {
			must[*object](t)(client.CreateFake(partial("b"), metav1.CreateOptions{}))
			must[*object](t)(client.UpdateFake(partial("b"), metav1.UpdateOptions{}))
			must[any](t)(nil, client.Delete(ctx, "b", metav1.DeleteOptions{}))
		}, lifeOfB)
	})
}

func TestAReflectorStopsEveryWatchItOpened(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var watchers []*watch.FakeWatcher
		lw := refusing{&cache.ListWatch{
			ListWithContextFunc: func(context.Context, metav1.ListOptions) (runtime.Object, error) {
				return &corev1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: "10"}}, nil
			},
			WatchFuncWithContext: func(context.Context, metav1.ListOptions) (watch.Interface, error) {
				watcher := watch.NewFakeWithChanSize(3, false)
				watcher.Add(pod("a", "11"))
				if len(watchers) == 0 {
					watcher.Add(&corev1.Node{})      // reported and left out
					watcher.Action(watch.Added, nil) // reported, and the watch resumed
				}
				watchers = append(watchers, watcher)
				return watcher, nil
			},
		}}
		follow(t, FromListerWatcher[*corev1.Pod](lw), func(context.Context) {
			<-time.After(3 * time.Second) // the first wait is at most 1.6 s
		}, "begin initial, end, add a, add a")
		want(t, "watches", len(watchers), 2)
		for i, watcher := range watchers {
			if !watcher.IsStopped() {
				t.Errorf("watch %d was not stopped", i)
			}
		}
	})
}
