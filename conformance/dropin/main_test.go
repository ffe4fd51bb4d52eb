package dropin

import (
	"context"
	"testing"
	"time"

	"github.com/go-logr/logr"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/listwatch/listwatch/fakeserver"
	"github.com/listwatch/listwatch/informer/clientgo"
	"github.com/listwatch/listwatch/internal/bubble"
)

func TestMain(m *testing.M) {
	ctrllog.SetLogger(logr.Discard())
	// The second handler sleeps if the last error, in another bubble, was a moment ago.
	utilruntime.ErrorHandlers = utilruntime.ErrorHandlers[:1]
	bubble.VerifyTestMain(m)
}

func TestDropIn(t *testing.T) { bubble.RunSpecs(t, "drop-in") }

// must is for calls that cannot fail in a spec.
func must[T any](value T, err error) T {
	GinkgoHelper()
	Expect(err).NotTo(HaveOccurred())
	return value
}

func ptr[T any](value T) *T { return &value }

// maker is a constructor of informers, with whose they are.
type maker struct {
	name string
	make func(cache.ListerWatcher, runtime.Object, time.Duration, cache.Indexers) cache.SharedIndexInformer
}

// makers are the constructors to be compared.
var makers = []maker{
	{"client-go", func(lw cache.ListerWatcher, obj runtime.Object, resync time.Duration, indexers cache.Indexers) cache.SharedIndexInformer {
		return cache.NewSharedIndexInformer(draining{cache.ToListerWatcherWithContext(lw)}, obj, resync, indexers)
	}},
	{"listwatch", clientgo.NewSharedIndexInformer},
}

// draining reads watches to their end after their Stop, for client-go, which leaves
// the goroutine of a watch.Filter behind: that of the metadata client.
type draining struct{ cache.ListerWatcherWithContext }

func (d draining) List(options metav1.ListOptions) (runtime.Object, error) {
	return d.ListWithContext(context.Background(), options)
}

func (d draining) Watch(options metav1.ListOptions) (watch.Interface, error) {
	return d.WatchWithContext(context.Background(), options)
}

func (d draining) WatchWithContext(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	w, err := d.ListerWatcherWithContext.WatchWithContext(ctx, options)
	if err != nil {
		return nil, err
	}
	return drained{w}, nil
}

type drained struct{ watch.Interface }

func (d drained) Stop() {
	d.Interface.Stop()
	go func() {
		for range d.ResultChan() {
		}
	}()
}

// newServer is a server that takes objects in any namespace, and a client of it.
//
// bubble: to be called in one
func newServer() (*fakeserver.Server, kubernetes.Interface) {
	GinkgoHelper()
	server := must(fakeserver.New(fakeserver.Options{AnyNamespace: true, AllVersions: true}))
	bubble.Cleanup(func() { Expect(server.Close()).To(Succeed()) })
	return server, must(kubernetes.NewForConfig(server.Config()))
}
