package clientgo_test

import (
	"context"
	"fmt"
	"reflect"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/listwatch/listwatch/fakeserver"
	"github.com/listwatch/listwatch/informer/clientgo"
	"github.com/listwatch/listwatch/internal/bubble"
)

func TestMain(m *testing.M) {
	// The second handler sleeps if the last error, in another bubble, was a moment ago.
	utilruntime.ErrorHandlers = utilruntime.ErrorHandlers[:1]
	cache.SetInformerMetricsProvider(ofProcess)
	bubble.VerifyTestMain(m)
}

func TestClientGo(t *testing.T) { bubble.RunSpecs(t, "clientgo") }

// must is for calls that cannot fail in a spec.
func must[T any](value T, err error) T {
	GinkgoHelper()
	Expect(err).NotTo(HaveOccurred())
	return value
}

// maker is client-go's constructor, or ours.
type maker func(cache.ListerWatcher, runtime.Object, cache.SharedIndexInformerOptions) cache.SharedIndexInformer

// both has f describe the same of client-go's informer and of ours.
func both(f func(newInformer maker)) {
	Describe("by client-go", func() { f(cache.NewSharedIndexInformerWithOptions) })
	Describe("by listwatch", func() { f(clientgo.NewSharedIndexInformerWithOptions) })
}

// rig is a server, a client, and informers of both makes.
//
// bubble: made inside one
type rig struct {
	server *fakeserver.Server
	client kubernetes.Interface
	make   maker
	refuse atomic.Pointer[func(verb string) error] // asked before requests, if set
}

func newRig(newInformer maker) *rig {
	GinkgoHelper()
	server := must(fakeserver.New(fakeserver.Options{}))
	bubble.Cleanup(func() { Expect(server.Close()).To(Succeed()) })
	return &rig{server: server, client: must(kubernetes.NewForConfig(server.Config())), make: newInformer}
}

// pods makes an informer of all pods.
func (r *rig) pods(options cache.SharedIndexInformerOptions) cache.SharedIndexInformer {
	if options.Indexers == nil {
		options.Indexers = cache.Indexers{} // client-go writes to it
	}
	return r.make(r.listWatch(), &corev1.Pod{}, options)
}

func (r *rig) listWatch() cache.ListerWatcher {
	asked := func(verb string) error {
		if refuse := r.refuse.Load(); refuse != nil {
			return (*refuse)(verb)
		}
		return nil
	}
	return &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			if err := asked("list"); err != nil {
				return nil, err
			}
			return r.client.CoreV1().Pods("").List(ctx, o)
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			verb := "watch"
			if o.SendInitialEvents != nil {
				verb = "watch-list"
			}
			if err := asked(verb); err != nil {
				return nil, err
			}
			return r.client.CoreV1().Pods("").Watch(ctx, o)
		},
	}
}

// run runs an informer until the function that it returns is called.
func run(inf cache.SharedInformer) (stop func()) {
	ctx, cancel := context.WithCancel(bubble.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		inf.RunWithContext(ctx)
	}()
	stop = func() {
		cancel()
		<-ended
	}
	bubble.Cleanup(stop)
	synctest.Wait()
	return stop
}

// everyInformer asks a generated factory for the informers of all types.
func everyInformer(factory informers.SharedInformerFactory) {
	groups := reflect.ValueOf(factory)
	for i := range groups.NumMethod() {
		if out := groups.Type().Method(i).Type; out.NumIn() != 1 || out.NumOut() != 1 || out.Out(0).Name() != "Interface" {
			continue
		}
		versions := groups.Method(i).Call(nil)[0].Elem()
		for j := range versions.NumMethod() {
			version := versions.Method(j).Call(nil)[0].Elem()
			for k := range version.NumMethod() {
				version.Method(k).Call(nil)[0].Elem().MethodByName("Informer").Call(nil)
			}
		}
	}
}

// create makes a pod, and returns it.
func (r *rig) create(name string, labels map[string]string) *corev1.Pod {
	GinkgoHelper()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, Labels: labels},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}},
	}
	return must(r.client.CoreV1().Pods("default").Create(bubble.Context(), pod, metav1.CreateOptions{}))
}

// label changes a pod.
func (r *rig) label(name, value string) {
	GinkgoHelper()
	pods := r.client.CoreV1().Pods("default")
	pod := must(pods.Get(bubble.Context(), name, metav1.GetOptions{}))
	pod.Labels = map[string]string{"app": value}
	must(pods.Update(bubble.Context(), pod, metav1.UpdateOptions{}))
}

func (r *rig) delete(name string) {
	GinkgoHelper()
	now := int64(0)
	Expect(r.client.CoreV1().Pods("default").Delete(bubble.Context(), name, metav1.DeleteOptions{GracePeriodSeconds: &now})).To(Succeed())
}

// offline has f happen while no watch is open and none can be resumed.
func (r *rig) offline(f func()) {
	GinkgoHelper()
	r.refuse.Store(ptr(func(string) error { return fmt.Errorf("no way") }))
	r.server.DropWatches()
	synctest.Wait()
	f()
	r.create("filler", nil)
	must(r.server.Compact(bubble.Context()))
	r.refuse.Store(nil)
	time.Sleep(2 * time.Minute)
	synctest.Wait()
}

// recorder is a handler that writes down what it is told.
type recorder struct {
	onAdd func(obj any) // called in the middle of adds, if set

	mu    sync.Mutex
	calls []string
}

func describe(obj any) string {
	if gone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		return "unseen " + gone.Key + " was " + describe(gone.Obj)
	}
	meta, ok := obj.(metav1.Object)
	if !ok {
		return fmt.Sprintf("%T", obj)
	}
	if app := meta.GetLabels()["app"]; app != "" {
		return meta.GetName() + "=" + app
	}
	return meta.GetName()
}

func (r *recorder) note(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls = append(r.calls, fmt.Sprintf(format, args...))
}

func (r *recorder) OnAdd(obj any, initial bool) {
	if r.onAdd != nil {
		r.onAdd(obj)
	}
	if initial {
		r.note("initial %s", describe(obj))
		return
	}
	r.note("add %s", describe(obj))
}

func (r *recorder) OnUpdate(old, obj any) { r.note("update %s to %s", describe(old), describe(obj)) }
func (r *recorder) OnDelete(obj any)      { r.note("delete %s", describe(obj)) }

// take returns the calls since the last take, when nothing moves any more.
func (r *recorder) take() []string {
	synctest.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	calls := r.calls
	r.calls = nil
	return calls
}
