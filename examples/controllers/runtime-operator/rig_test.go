package main

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing/synctest"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/listwatch/listwatch/examples/controllers/internal/configset"
	"github.com/listwatch/listwatch/fakeserver"
	"github.com/listwatch/listwatch/internal/bubble"
)

// must is for calls that cannot fail in a spec.
func must[T any](value T, err error) T {
	GinkgoHelper()
	Expect(err).NotTo(HaveOccurred())
	return value
}

// wire is between an operator and the server. It counts what the operator writes,
// whatever comes of it, and can be cut.
type wire struct {
	mu     sync.Mutex
	down   bool
	writes map[string]int
}

// before is the wire in front of a transport.
func (w *wire) before(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(request *http.Request) (*http.Response, error) {
		if err := w.pass(request); err != nil {
			if request.Body != nil {
				request.Body.Close()
			}
			return nil, err
		}
		return next.RoundTrip(request)
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(request *http.Request) (*http.Response, error) { return f(request) }

func (w *wire) pass(request *http.Request) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.down {
		return syscall.ECONNREFUSED
	}
	// Leases and events are the manager's own.
	if request.Method != http.MethodGet && !strings.Contains(request.URL.Path, "/leases") && !strings.Contains(request.URL.Path, "/events") {
		w.writes[strings.ToLower(request.Method)+" "+resourceIn(request.URL.Path)]++
	}
	return nil
}

// resourceIn is "configmaps" or "configsets/status", say.
func resourceIn(path string) string {
	parts := strings.Split(path, "/")
	for i, part := range parts {
		if part != configset.Plural && part != "configmaps" {
			continue
		}
		if len(parts) > i+2 {
			return part + "/" + parts[i+2]
		}
		return part
	}
	return path
}

// taken are the writes since the last call.
func (w *wire) taken() map[string]int {
	w.mu.Lock()
	defer w.mu.Unlock()
	taken := maps.Clone(w.writes)
	clear(w.writes)
	return taken
}

// rig is a server, the user who writes to it, and operators.
//
// bubble: to be made in one
type rig struct {
	server   *fakeserver.Server
	user     client.Client
	wire     *wire
	settings settings // of operators

	seen  *inside
	stop  context.CancelFunc
	ended chan error
}

// newRig is a rig whose operator runs.
func newRig(s settings) *rig {
	GinkgoHelper()
	s.install = true
	s.metrics, s.probes, s.leaseNamespace, s.leaseName = "0", "0", "default", name
	r := &rig{settings: s, server: must(fakeserver.New(fakeserver.Options{})), wire: &wire{writes: map[string]int{}}}
	bubble.Cleanup(func() { Expect(r.server.Close()).To(Succeed()) })
	must(configset.Install(bubble.Context(), r.server.Config()))
	scheme := must(s.options(r.server.Config(), GinkgoLogr)).Scheme
	Expect(apiextensionsv1.AddToScheme(scheme)).To(Succeed())
	r.user = must(client.New(r.server.Config(), client.Options{Scheme: scheme}))
	r.start()
	bubble.Cleanup(r.end)
	return r
}

// start starts an operator, as a process is that begins anew.
func (r *rig) start() {
	GinkgoHelper()
	config := r.server.Config()
	config.Wrap(r.wire.before)
	mgr, seen, err := newOperator(bubble.Context(), config, must(r.settings.options(config, GinkgoLogr)))
	Expect(err).NotTo(HaveOccurred())
	ctx, stop := context.WithCancel(context.WithoutCancel(bubble.Context()))
	r.seen = seen
	r.stop, r.ended = stop, make(chan error, 1)
	go func() { r.ended <- mgr.Start(ctx) }()
	<-mgr.Elected()
	r.settle()
	Expect(seen.ready(nil)).To(Succeed())
}

// end ends the operator, if one runs.
func (r *rig) end() {
	GinkgoHelper()
	if r.stop == nil {
		return
	}
	r.stop()
	r.stop = nil
	Expect(<-r.ended).NotTo(HaveOccurred())
}

// cut cuts all connections until it is repaired, which takes a minute.
func (r *rig) cut() (repair func()) {
	set := func(down bool) {
		r.wire.mu.Lock()
		defer r.wire.mu.Unlock()
		r.wire.down = down
	}
	set(true)
	r.server.DropWatches()
	synctest.Wait()
	return func() {
		time.Sleep(time.Minute)
		set(false)
	}
}

// settle waits until the operator has nothing to do any more, also after an outage.
func (r *rig) settle() {
	time.Sleep(5 * time.Minute)
	synctest.Wait()
}

func object(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: "default", Name: name}
}

// create creates a ConfigSet.
func (r *rig) create(name string, replicas int32) {
	GinkgoHelper()
	set := &configset.ConfigSet{ObjectMeta: object(name), Spec: configset.ConfigSetSpec{Replicas: &replicas, Data: map[string]string{"of": name}}}
	Expect(r.user.Create(bubble.Context(), set)).To(Succeed())
}

// get reads a ConfigSet.
func (r *rig) get(name string) *configset.ConfigSet {
	GinkgoHelper()
	set := &configset.ConfigSet{}
	Expect(r.user.Get(bubble.Context(), client.ObjectKey{Namespace: "default", Name: name}, set)).To(Succeed())
	return set
}

// scale changes how many ConfigMaps a ConfigSet has.
func (r *rig) scale(name string, replicas int32) {
	GinkgoHelper()
	set := r.get(name)
	set.Spec.Replicas = &replicas
	Expect(r.user.Update(bubble.Context(), set)).To(Succeed())
}

// remove deletes a ConfigSet.
func (r *rig) remove(name string) {
	GinkgoHelper()
	Expect(r.user.Delete(bubble.Context(), &configset.ConfigSet{ObjectMeta: object(name)})).To(Succeed())
}

// vanish deletes a ConfigSet without waiting for what its finalizer waits for. At no
// time is it without finalizer and not deleted, which would ask for a write.
func (r *rig) vanish(name string) {
	GinkgoHelper()
	r.remove(name)
	set := r.get(name)
	set.Finalizers = nil
	Expect(r.user.Update(bubble.Context(), set)).To(Succeed())
}

// spoil writes into a ConfigMap.
func (r *rig) spoil(name string) {
	GinkgoHelper()
	patch := client.RawPatch("application/merge-patch+json", []byte(`{"data":{"of":"somebody else"}}`))
	Expect(r.user.Patch(bubble.Context(), &corev1.ConfigMap{ObjectMeta: object(name)}, patch)).To(Succeed())
}

// lose deletes a ConfigMap.
func (r *rig) lose(name string) {
	GinkgoHelper()
	Expect(r.user.Delete(bubble.Context(), &corev1.ConfigMap{ObjectMeta: object(name)})).To(Succeed())
}

// world is what the server has: ConfigSets with the reason of their condition, and
// ConfigMaps with their data.
func (r *rig) world() []string {
	GinkgoHelper()
	var sets configset.ConfigSetList
	Expect(r.user.List(bubble.Context(), &sets)).To(Succeed())
	var all []string
	for _, set := range sets.Items {
		ready := meta.FindStatusCondition(set.Status.Conditions, configset.ConditionReady)
		Expect(ready).NotTo(BeNil(), set.Name)
		Expect(set.Status.ObservedGeneration).To(Equal(set.Generation), set.Name)
		all = append(all, fmt.Sprintf("%s: %s, %d of %d", set.Name, ready.Reason, set.Status.ReadyReplicas, set.Wanted()))
	}
	var maps corev1.ConfigMapList
	Expect(r.user.List(bubble.Context(), &maps)).To(Succeed())
	for _, m := range maps.Items {
		all = append(all, m.Name+" of "+m.Data["of"])
	}
	return all
}
