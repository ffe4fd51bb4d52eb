package main

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/listwatch/listwatch/examples/controllers/internal/ops"
	"github.com/listwatch/listwatch/fakeserver"
	"github.com/listwatch/listwatch/internal/bubble"
)

func TestMain(m *testing.M) { bubble.VerifyTestMain(m) }

func TestPodlabeler(t *testing.T) { bubble.RunSpecs(t, "podlabeler") }

// rig is a server and a wire to it for controllers. It lives in a bubble.
type rig struct {
	server *fakeserver.Server
	users  kubernetes.Interface // all others that write; not through the wire
	wire   *wire
}

func newRig() *rig {
	r := &rig{wire: &wire{}}
	r.newServer()
	return r
}

// newServer makes a server that is empty, and has the wire lead there.
func (r *rig) newServer() {
	GinkgoHelper()
	server, err := fakeserver.New(fakeserver.Options{})
	Expect(err).NotTo(HaveOccurred())
	bubble.Cleanup(func() { Expect(server.Close()).To(Succeed()) })
	r.server, r.users = server, kubernetes.NewForConfigOrDie(server.Config())
	r.wire.next.Store(&server.Config().Transport)
}

// wire is the way of a controller to the server.
type wire struct {
	next    atomic.Pointer[http.RoundTripper]
	down    atomic.Bool // nothing gets through
	refuses atomic.Bool // no patch of a pod gets through

	mu      sync.Mutex
	held    chan struct{} // nil, or closed when patches of pods get through again
	late    chan struct{} // nil, or closed when what watches of pods send gets through again
	patches []string      // keys of the pods that were patched, as the server was asked
	events  int           // that were created
}

// RoundTrip implements http.RoundTripper.
func (w *wire) RoundTrip(r *http.Request) (*http.Response, error) {
	parts := strings.Split(r.URL.Path, "/") // "", api, v1, namespaces, NAMESPACE, pods, NAME
	patch := r.Method == http.MethodPatch && len(parts) == 7 && parts[5] == "pods"
	if w.down.Load() || patch && w.refuses.Load() {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
	}
	if err := w.hold(r.Context(), patch); err != nil {
		return nil, err
	}
	w.mu.Lock()
	switch {
	case patch:
		w.patches = append(w.patches, parts[4]+"/"+parts[6])
	case r.Method == http.MethodPost && parts[len(parts)-1] == "events":
		w.events++
	}
	w.mu.Unlock()
	answer, err := (*w.next.Load()).RoundTrip(r)
	if err == nil && r.URL.Path == "/api/v1/pods" && r.URL.Query().Get("watch") == "true" {
		answer.Body = &delayed{ReadCloser: answer.Body, wire: w}
	}
	return answer, err
}

// hold waits while patches are held.
func (w *wire) hold(ctx context.Context, patch bool) error {
	w.mu.Lock()
	held := w.held
	w.mu.Unlock()
	if !patch || held == nil {
		return nil
	}
	select {
	case <-held:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// holdPatches lets no patch through until the returned function is called.
func (w *wire) holdPatches() (release func()) {
	held := make(chan struct{})
	w.mu.Lock()
	defer w.mu.Unlock()
	w.held = held
	return func() { close(held) }
}

// delayed is the body of a watch that may be late.
type delayed struct {
	io.ReadCloser
	wire *wire
}

// Read implements io.Reader.
func (d *delayed) Read(p []byte) (int, error) {
	n, err := d.ReadCloser.Read(p)
	d.wire.mu.Lock()
	late := d.wire.late
	d.wire.mu.Unlock()
	if late != nil {
		<-late
	}
	return n, err
}

// delay has what watches of pods send be late until the returned function is called.
func (w *wire) delay() (deliver func()) {
	late := make(chan struct{})
	w.mu.Lock()
	defer w.mu.Unlock()
	w.late = late
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.late = nil
		close(late)
	}
}

// taken are the keys of the pods that were patched, and the number of events created,
// since the last call, once nothing moves any more.
func (w *wire) taken() (patches []string, events int) {
	synctest.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	patches, events = w.patches, w.events
	w.patches, w.events = nil, 0
	return patches, events
}

// expectPatches expects that since the last call exactly these pods were patched, in
// any order, and an event recorded for each.
func (r *rig) expectPatches(keys ...string) {
	GinkgoHelper()
	patches, events := r.wire.taken()
	Expect(patches).To(ConsistOf(keys))
	Expect(events).To(Equal(len(keys)))
}

// cut breaks all connections of controllers until the returned function is called.
func (r *rig) cut() (repair func()) {
	synctest.Wait()
	r.wire.down.Store(true)
	r.server.DropWatches()
	synctest.Wait()
	return func() { r.wire.down.Store(false) }
}

// start starts the program, and ends it with the spec.
func (r *rig) start(options ops.Options) (p *program, stop func()) {
	GinkgoHelper()
	config := r.server.Config()
	config.Transport = r.wire
	ctx, cancel := context.WithCancel(bubble.Context())
	ctx, log := ops.Log(ctx, GinkgoWriter, options)
	p, err := newProgram(config, options, log)
	Expect(err).NotTo(HaveOccurred())
	ended := make(chan error, 1)
	go func() { ended <- p.lead(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		Expect(<-ended).To(MatchError(context.Canceled))
	})
	bubble.Cleanup(stop)
	synctest.Wait()
	return p, stop
}

// lookAgain has the controller look at a pod for no reason.
func lookAgain(p *program, key string) {
	GinkgoHelper()
	name, err := cache.ParseObjectName(key)
	Expect(err).NotTo(HaveOccurred())
	p.current.Load().queue.Add(name)
	synctest.Wait()
}

// namespace creates a namespace with a team, or changes its team; "" is none.
func (r *rig) namespace(name, team string) {
	GinkgoHelper()
	namespaces := r.users.CoreV1().Namespaces()
	labels := map[string]string{}
	if team != "" {
		labels[teamLabel] = team
	}
	obj, err := namespaces.Get(bubble.Context(), name, metav1.GetOptions{})
	if err == nil {
		obj.Labels = labels
		_, err = namespaces.Update(bubble.Context(), obj, metav1.UpdateOptions{})
	} else {
		_, err = namespaces.Create(bubble.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}, metav1.CreateOptions{})
	}
	Expect(err).NotTo(HaveOccurred())
}

func (r *rig) create(keys ...string) {
	GinkgoHelper()
	for _, key := range keys {
		namespace, name, _ := strings.Cut(key, "/")
		_, err := r.users.CoreV1().Pods(namespace).Create(bubble.Context(), &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "web"}}},
		}, metav1.CreateOptions{})
		Expect(err).NotTo(HaveOccurred())
	}
}

func (r *rig) delete(key string) {
	GinkgoHelper()
	namespace, name, _ := strings.Cut(key, "/")
	now := int64(0)
	Expect(r.users.CoreV1().Pods(namespace).Delete(bubble.Context(), name, metav1.DeleteOptions{GracePeriodSeconds: &now})).To(Succeed())
}

// spoil writes another team to a pod.
func (r *rig) spoil(key string) {
	GinkgoHelper()
	namespace, name, _ := strings.Cut(key, "/")
	_, err := r.users.CoreV1().Pods(namespace).Patch(bubble.Context(), name, types.MergePatchType,
		[]byte(`{"metadata":{"labels":{"`+teamLabel+`":"spoilt"}}}`), metav1.PatchOptions{})
	Expect(err).NotTo(HaveOccurred())
}

// teams are what the server has: the team of each pod.
func (r *rig) teams() map[string]string {
	GinkgoHelper()
	list, err := r.users.CoreV1().Pods("").List(bubble.Context(), metav1.ListOptions{})
	Expect(err).NotTo(HaveOccurred())
	teams := map[string]string{}
	for i := range list.Items {
		teams[cache.MetaObjectToName(&list.Items[i]).String()] = list.Items[i].Labels[teamLabel]
	}
	return teams
}
