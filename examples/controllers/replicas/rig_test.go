package main

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"path"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset/typed/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/gentype"
	"k8s.io/client-go/kubernetes"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/listwatch/listwatch/examples/controllers/internal/configset"
	"github.com/listwatch/listwatch/examples/controllers/internal/ops"
	"github.com/listwatch/listwatch/fakeserver"
	"github.com/listwatch/listwatch/internal/bubble"
)

func TestMain(m *testing.M) { bubble.VerifyTestMain(m) }

func TestReplicas(t *testing.T) { bubble.RunSpecs(t, "replicas") }

// rig is a server, its users, and processes of the controller that reach it over a
// wire of their own. It lives in a bubble.
//
// bubble: made in the bodies of specs
type rig struct {
	ctx    context.Context
	server *fakeserver.Server
	wire   *wire
	// Of all others that write, in one namespace; not through the wire.
	sets *gentype.ClientWithList[*configset.ConfigSet, *configset.ConfigSetList]
	maps typedcorev1.ConfigMapInterface
}

func newRig() *rig {
	r := &rig{ctx: bubble.Context(), wire: &wire{}}
	r.newServer()
	return r
}

// newServer makes a server that is empty, and has the wire lead there.
func (r *rig) newServer() {
	GinkgoHelper()
	server, err := fakeserver.New(fakeserver.Options{})
	Expect(err).NotTo(HaveOccurred())
	bubble.Cleanup(func() { Expect(server.Close()).To(Succeed()) })
	sets, err := configset.NewClient(server.Config())
	Expect(err).NotTo(HaveOccurred())
	r.server, r.sets = server, sets.ConfigSets("default")
	r.maps = kubernetes.NewForConfigOrDie(server.Config()).CoreV1().ConfigMaps("default")
	r.wire.lead(server)
}

// process is one process of the controller.
type process struct {
	*controller
	interrupt context.CancelFunc
	ended     chan error
}

// run starts a process, and waits until it has nothing to do.
func (r *rig) run(options ops.Options, edits ...func(*settings)) *process {
	GinkgoHelper()
	config := r.server.Config()
	config.Wrap(func(http.RoundTripper) http.RoundTripper { return r.wire })
	s := settings{config: config, log: slog.New(slog.NewTextHandler(GinkgoWriter, nil)), install: true}
	for _, edit := range edits {
		edit(&s)
	}
	c, err := newController(s)
	Expect(err).NotTo(HaveOccurred())
	ctx, _ := ops.Log(r.ctx, GinkgoWriter, ops.Options{})
	ctx, interrupt := context.WithCancel(ctx)
	p := &process{controller: c, interrupt: interrupt, ended: make(chan error, 1)}
	client := kubernetes.NewForConfigOrDie(config)
	c.start(ctx)
	go func() {
		defer GinkgoRecover()
		err := ops.Lead(ctx, options, client, c.work)
		c.stop()
		p.ended <- err
	}()
	bubble.Cleanup(p.stop)
	time.Sleep(5 * time.Second)
	synctest.Wait()
	return p
}

// stop interrupts a process and waits for its end. It may be called again.
func (p *process) stop() {
	p.interrupt()
	err := <-p.ended
	p.ended <- err
	Expect(err).To(MatchError(context.Canceled))
}

// set creates a ConfigSet of n children.
func (r *rig) set(name string, n int32, edits ...func(*configset.ConfigSet)) *configset.ConfigSet {
	GinkgoHelper()
	set := &configset.ConfigSet{ObjectMeta: metav1.ObjectMeta{Name: name}}
	set.Spec = configset.ConfigSetSpec{Replicas: &n, Data: map[string]string{"color": "blue"}}
	for _, edit := range edits {
		edit(set)
	}
	created, err := r.sets.Create(r.ctx, set, metav1.CreateOptions{})
	Expect(err).NotTo(HaveOccurred())
	return created
}

// patch merges into a ConfigSet.
func (r *rig) patch(name, with string) {
	GinkgoHelper()
	_, err := r.sets.Patch(r.ctx, name, types.MergePatchType, []byte(with), metav1.PatchOptions{})
	Expect(err).NotTo(HaveOccurred())
}

// patchMap merges into a ConfigMap.
func (r *rig) patchMap(name, with string) {
	GinkgoHelper()
	_, err := r.maps.Patch(r.ctx, name, types.MergePatchType, []byte(with), metav1.PatchOptions{})
	Expect(err).NotTo(HaveOccurred())
}

func (r *rig) deleteMap(name string) {
	GinkgoHelper()
	Expect(r.maps.Delete(r.ctx, name, metav1.DeleteOptions{})).To(Succeed())
}

func (r *rig) deleteSet(name string) {
	GinkgoHelper()
	Expect(r.sets.Delete(r.ctx, name, metav1.DeleteOptions{})).To(Succeed())
}

// undefine deletes the definition, and with it all ConfigSets.
func (r *rig) undefine() {
	GinkgoHelper()
	definitions := apiextensions.NewForConfigOrDie(r.server.Config()).CustomResourceDefinitions()
	Expect(definitions.Delete(r.ctx, configset.DefinitionName, metav1.DeleteOptions{})).To(Succeed())
}

// forceDelete takes finalizers off and deletes.
func (r *rig) forceDelete(name string) {
	GinkgoHelper()
	r.patch(name, `{"metadata":{"finalizers":null}}`)
	r.deleteSet(name)
}

// served are the names of the ConfigMaps that there are, in order.
func (r *rig) served() (names []string) {
	GinkgoHelper()
	list, err := r.maps.List(r.ctx, metav1.ListOptions{})
	Expect(err).NotTo(HaveOccurred())
	for _, m := range list.Items {
		names = append(names, m.Name)
	}
	return names
}

// children are those of a ConfigSet that there are.
func (r *rig) children(set *configset.ConfigSet) (children []*corev1.ConfigMap) {
	GinkgoHelper()
	list, err := r.maps.List(r.ctx, metav1.ListOptions{})
	Expect(err).NotTo(HaveOccurred())
	for i := range list.Items {
		if owner, ok := configset.OwnerOf(&list.Items[i]); ok && owner.Name == set.Name {
			children = append(children, &list.Items[i])
		}
	}
	return children
}

// expectComplete checks that nothing is left to do for a ConfigSet of n children, and
// that its status says so.
func (r *rig) expectComplete(name string, n int) {
	GinkgoHelper()
	set, err := r.sets.Get(r.ctx, name, metav1.GetOptions{})
	Expect(err).NotTo(HaveOccurred())
	children := r.children(set)
	Expect(children).To(HaveLen(n))
	Expect(configset.PlanFor(set, children).Empty()).To(BeTrue())
	_, changed := configset.StatusFor(set, children, nil, time.Now())
	Expect(changed).To(BeFalse(), "status %+v", set.Status)
	Expect(set.Status.Conditions).To(HaveLen(1))
	Expect(set.Status.Conditions[0].Reason).To(Equal(configset.ReasonComplete))
}

// quiet checks that nothing is written in the next hour.
func (r *rig) quiet() {
	GinkgoHelper()
	time.Sleep(time.Hour)
	Expect(r.wire.taken()).To(BeEmpty())
}

// cut breaks every watch and keeps the wire down until the returned function is
// called.
func (r *rig) cut() (repair func()) {
	synctest.Wait()
	r.wire.set(func() { r.wire.down = true })
	r.server.DropWatches()
	synctest.Wait()
	return func() { r.wire.set(func() { r.wire.down = false }) }
}

// wire is the way of the controller to the server. It notes writes.
type wire struct {
	mu     sync.Mutex // guards the rest
	next   http.RoundTripper
	down   bool         // nothing gets through
	blind  bool         // no watch or list gets through
	hidden string       // of this resource, no watch or list
	meddle func(string) // called, if set, before a write gets through
	lose   string       // the write whose answer is lost
	writes []string
}

func (w *wire) set(f func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f()
}

func (w *wire) lead(to *fakeserver.Server) { w.set(func() { w.next = to.Config().Transport }) }

// RoundTrip implements http.RoundTripper.
func (w *wire) RoundTrip(r *http.Request) (*http.Response, error) {
	write := described(r)
	w.mu.Lock()
	next, meddle := w.next, w.meddle
	collection := path.Base(r.URL.Path)
	reads := write == "" && (collection == "configmaps" || collection == configset.Plural)
	refused := w.down || reads && (w.blind || collection == w.hidden)
	lost := write != "" && w.lose == write
	if lost {
		w.lose = ""
	}
	w.mu.Unlock()
	if refused {
		if write != "" {
			w.note(write + " refused")
		}
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
	}
	if write != "" && meddle != nil {
		meddle(write)
	}
	response, err := next.RoundTrip(r)
	switch {
	case write == "" || r.Context().Err() != nil:
	case err != nil:
		w.note(write + " " + err.Error())
	case lost:
		w.note(write + " lost")
		_ = response.Body.Close()
		return nil, errors.New("connection reset by peer")
	case response.StatusCode >= 400:
		w.note(write + " " + http.StatusText(response.StatusCode))
	default:
		w.note(write)
	}
	return response, err
}

func (w *wire) note(write string) { w.set(func() { w.writes = append(w.writes, write) }) }

// described is a write of a ConfigSet, of the definition or of a ConfigMap in words;
// "" for other requests, and for those of the leader election.
func described(r *http.Request) string {
	if r.Method == http.MethodGet || strings.Contains(r.URL.Path, "/leases") {
		return ""
	}
	_, object, namespaced := strings.Cut(r.URL.Path, "/namespaces/default/")
	if !namespaced {
		_, object, _ = strings.Cut(r.URL.Path, "/v1/")
	}
	if object == "configmaps" {
		object += "/" + nameIn(r)
	}
	return map[string]string{http.MethodPost: "+", http.MethodPut: "~", http.MethodDelete: "-"}[r.Method] + object
}

// nameIn is the name of the object in the body of a create. ConfigMaps are sent as
// protobuf, but the name is readable there.
func nameIn(r *http.Request) string {
	body, err := r.GetBody()
	if err != nil {
		return err.Error()
	}
	content, err := io.ReadAll(body)
	if err != nil {
		return err.Error()
	}
	m := &corev1.ConfigMap{}
	if err := decode(content, m); err != nil {
		return err.Error()
	}
	return m.Name
}

// taken are the writes since the last call, once nothing moves any more.
func (w *wire) taken() []string {
	synctest.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	writes := w.writes
	w.writes = nil
	return writes
}
