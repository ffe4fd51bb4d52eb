package endtoend_test

import (
	"context"
	"maps"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing/synctest"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/listwatch/listwatch/fakeserver"
	"github.com/listwatch/listwatch/informer"
	"github.com/listwatch/listwatch/informer/informertest"
	"github.com/listwatch/listwatch/internal/bubble"
	"github.com/listwatch/listwatch/reflector"
)

// rig is a server, a writer, and a wire of its own for the informer, which can
// be taken down and which counts requests. It lives in a bubble.
type rig struct {
	ctx    context.Context
	server *fakeserver.Server
	writer typedcorev1.ConfigMapInterface // namespace default
	reader kubernetes.Interface           // through the wire
	wire   *wire
}

func newRig() *rig { return newRigWith(fakeserver.Options{}) }

func newRigWith(options fakeserver.Options) *rig {
	GinkgoHelper()
	server, err := fakeserver.New(options)
	Expect(err).NotTo(HaveOccurred())
	bubble.Cleanup(func() { Expect(server.Close()).To(Succeed()) })
	r := &rig{ctx: bubble.Context(), server: server, wire: &wire{}}
	r.writer = kubernetes.NewForConfigOrDie(server.Config()).CoreV1().ConfigMaps("default")
	config := server.Config()
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		r.wire.next = next
		return r.wire
	})
	r.reader = kubernetes.NewForConfigOrDie(config)
	return r
}

// wire counts requests by what they are and refuses them while it is down.
type wire struct {
	next http.RoundTripper
	down atomic.Bool

	mu     sync.Mutex
	counts map[string]int
}

func (w *wire) RoundTrip(r *http.Request) (*http.Response, error) {
	query := r.URL.Query()
	kind := "list"
	switch {
	case query.Get("sendInitialEvents") == "true":
		kind = "watch-list"
	case query.Get("watch") == "true":
		kind = "watch"
	}
	if w.down.Load() {
		w.count("refused")
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
	}
	w.count(kind)
	return w.next.RoundTrip(r)
}

func (w *wire) count(kind string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.counts == nil {
		w.counts = map[string]int{}
	}
	w.counts[kind]++
}

// taken are the counts since the last call, without refused requests, once
// nothing moves any more.
func (w *wire) taken() map[string]int {
	synctest.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	counts := w.counts
	w.counts = nil
	delete(counts, "refused")
	return counts
}

// cut breaks every watch and keeps the wire down until the returned function is
// called. It first lets a watch that is being opened be open, for the server
// does not know it before.
func (r *rig) cut() (repair func()) {
	synctest.Wait()
	r.wire.down.Store(true)
	r.server.DropWatches()
	synctest.Wait()
	return func() { r.wire.down.Store(false) }
}

// informer starts one over the ConfigMaps in namespace default. It is stopped,
// and has stopped, when the spec ends.
func (r *rig) informer(options informer.Options[*corev1.ConfigMap]) (*informer.Informer[*corev1.ConfigMap], *informertest.Recorder[*corev1.ConfigMap]) {
	GinkgoHelper()
	return r.informerFrom(reflector.FromREST[*corev1.ConfigMap](r.reader.CoreV1().RESTClient(), "configmaps", "default"), options)
}

// informerFrom is informer over another source.
func (r *rig) informerFrom(source reflector.Source[*corev1.ConfigMap], options informer.Options[*corev1.ConfigMap]) (*informer.Informer[*corev1.ConfigMap], *informertest.Recorder[*corev1.ConfigMap]) {
	GinkgoHelper()
	inf, err := informer.New(source, options)
	Expect(err).NotTo(HaveOccurred())
	handler := &informertest.Recorder[*corev1.ConfigMap]{}
	_, err = handler.Attach(inf)
	Expect(err).NotTo(HaveOccurred())
	ctx, stop := context.WithCancel(r.ctx)
	ended := make(chan error, 1)
	go func() { ended <- inf.Run(ctx) }()
	bubble.Cleanup(func() {
		stop()
		Expect(<-ended).To(Or(Succeed(), MatchError(context.Canceled)))
	})
	Expect(inf.WaitForSync(r.ctx)).To(Succeed())
	return inf, handler
}

func (r *rig) create(name string) *corev1.ConfigMap {
	GinkgoHelper()
	created, err := r.writer.Create(r.ctx, configMap(name), metav1.CreateOptions{})
	Expect(err).NotTo(HaveOccurred())
	return created
}

func (r *rig) update(name, value string) *corev1.ConfigMap {
	GinkgoHelper()
	changed := configMap(name)
	changed.Data = map[string]string{"value": value}
	updated, err := r.writer.Update(r.ctx, changed, metav1.UpdateOptions{})
	Expect(err).NotTo(HaveOccurred())
	return updated
}

func (r *rig) delete(name string) {
	GinkgoHelper()
	Expect(r.writer.Delete(r.ctx, name, metav1.DeleteOptions{})).To(Succeed())
}

// served is what the server itself lists now: resourceVersions by name.
func (r *rig) served() map[string]string {
	GinkgoHelper()
	list, err := r.writer.List(r.ctx, metav1.ListOptions{})
	Expect(err).NotTo(HaveOccurred())
	versions := map[string]string{}
	for _, item := range list.Items {
		versions[item.Name] = item.ResourceVersion
	}
	return versions
}

// cached is the same of an informer's snapshot.
func cached(inf *informer.Informer[*corev1.ConfigMap]) map[string]string {
	versions := map[string]string{}
	for _, object := range inf.Snapshot().All() {
		versions[object.Name] = object.ResourceVersion
	}
	return versions
}

// names are sorted.
func names(versions map[string]string) []string { return slices.Sorted(maps.Keys(versions)) }

func configMap(name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"}}
}
