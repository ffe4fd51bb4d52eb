package endtoend_test

import (
	"fmt"
	"net/http"
	"sync/atomic"
	"testing/synctest"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/listwatch/listwatch/fakeserver"
	"github.com/listwatch/listwatch/informer"
	"github.com/listwatch/listwatch/informer/informertest"
	"github.com/listwatch/listwatch/internal/bubble"
	"github.com/listwatch/listwatch/reflector"
)

// address is where one server may take another's place.
type address struct {
	server atomic.Pointer[http.RoundTripper]
}

func (a *address) RoundTrip(r *http.Request) (*http.Response, error) {
	return (*a.server.Load()).RoundTrip(r)
}

// between puts the address between the wire and the rig's server.
func (a *address) between(r *rig) {
	server := r.wire.next
	a.server.Store(&server)
	r.wire.next = a
}

// moveIn puts a new server, without history, at the address of the rig's. The
// old one ends with the spec.
func (a *address) moveIn(r *rig) {
	GinkgoHelper()
	server, err := fakeserver.New(fakeserver.Options{})
	Expect(err).NotTo(HaveOccurred())
	bubble.Cleanup(func() { Expect(server.Close()).To(Succeed()) })
	transport, err := rest.TransportFor(server.Config())
	Expect(err).NotTo(HaveOccurred())
	a.server.Store(&transport)
	r.server = server
	r.writer = kubernetes.NewForConfigOrDie(server.Config()).CoreV1().ConfigMaps("default")
}

// oldServer is one with three objects and some history.
//
// bubble: it lives in the spec's.
func oldServer() (*rig, *address) {
	r, place := newRig(), &address{}
	for _, name := range []string{"a", "b", "c"} {
		r.create(name)
	}
	for range 10 {
		r.update("a", time.Now().String())
		time.Sleep(time.Second)
	}
	place.between(r)
	return r, place
}

// sources are the ways to read ConfigMaps.
var sources = map[string]func(kubernetes.Interface) reflector.Source[*corev1.ConfigMap]{
	"FromREST": func(client kubernetes.Interface) reflector.Source[*corev1.ConfigMap] {
		return reflector.FromREST[*corev1.ConfigMap](client.CoreV1().RESTClient(), "configmaps", "default")
	},
	"FromListerWatcher": func(client kubernetes.Interface) reflector.Source[*corev1.ConfigMap] {
		configMaps := client.CoreV1().ConfigMaps("default")
		return reflector.FromListerWatcher[*corev1.ConfigMap](listerWatcher[*corev1.ConfigMapList](configMaps, selection{namespace: "default"}))
	},
}

var _ = Describe("A server", func() {
	for _, listing := range listings {
		for name, source := range sources {
			options := informer.Options[*corev1.ConfigMap]{Reflector: listing.options}
			begin := func() (*rig, *address, *informer.Informer[*corev1.ConfigMap], *informertest.Recorder[*corev1.ConfigMap]) {
				r, place := oldServer()
				inf, handler := r.informerFrom(source(r.reader), options)
				handler.ExpectExactly(bubble.TB(), informertest.Added("default/a"), informertest.Added("default/b"), informertest.Added("default/c"))
				return r, place, inf, handler
			}

			bubble.It("that is replaced by an empty one is noticed within seconds, "+listing.name+", "+name, func() {
				r, place, inf, handler := begin()
				repair := r.cut()
				time.Sleep(5 * time.Second)
				place.moveIn(r)
				r.create("b")
				r.create("new")
				repair()
				Eventually(func() map[string]string { return cached(inf) }, "40s").Should(Equal(r.served()))
				handler.ExpectExactly(bubble.TB(), informertest.Deleted("default/a").Exact(false), informertest.Deleted("default/b").Exact(false),
					informertest.Deleted("default/c").Exact(false), informertest.Added("default/b"), informertest.Added("default/new"))
				status := inf.Status().Reflector
				Expect(status.Relists).To(HaveKeyWithValue(reflector.RelistRewound, int64(1)))
				Expect(status.Rewinds).To(Equal(int64(1)))
				r.create("later")
				Eventually(func() map[string]string { return cached(inf) }).Should(Equal(r.served()))
			})

			bubble.It("that is replaced by one soon to pass its version is noticed as well, "+listing.name+", "+name, func() {
				r, place, inf, _ := begin()
				repair := r.cut()
				time.Sleep(5 * time.Second)
				place.moveIn(r)
				repair()
				for i := range 30 { // the old one's version was 18
					r.create(fmt.Sprint("new-", i))
					time.Sleep(time.Second)
				}
				Eventually(func() map[string]string { return cached(inf) }).Should(Equal(r.served()))
				Expect(inf.Status().Reflector.Relists).To(HaveKeyWithValue(reflector.RelistRewound, int64(1)))
			})

			bubble.It("that is replaced so fast that no request fails is noticed as well, "+listing.name+", "+name, func() {
				r, place, inf, handler := begin()
				old := r.server
				synctest.Wait() // for the watch
				place.moveIn(r)
				old.DropWatches() // FromListerWatcher is shown an orderly end
				r.create("new")
				Eventually(func() map[string]string { return cached(inf) }, "30s").Should(Equal(r.served()))
				handler.ExpectExactly(bubble.TB(), informertest.Deleted("default/a").Exact(false), informertest.Deleted("default/b").Exact(false),
					informertest.Deleted("default/c").Exact(false), informertest.Added("default/new"))
				Expect(inf.Status().Reflector.Relists).To(HaveKeyWithValue(reflector.RelistRewound, int64(1)))
			})

			bubble.It("that comes back with its history is asked once, and not listed, "+listing.name+", "+name, func() {
				r, _, inf, handler := begin()
				r.wire.taken()
				repair := r.cut()
				time.Sleep(5 * time.Second)
				repair()
				time.Sleep(40 * time.Second)
				synctest.Wait()
				Expect(inf.Status().Reflector.Probes).To(Equal(int64(1)))
				Expect(r.wire.taken()).To(Equal(map[string]int{"watch": 1, "list": 1}), "the watch resumes, and a list of one item")
				handler.ExpectNone(bubble.TB(), nil)
				r.create("later")
				Eventually(func() map[string]string { return cached(inf) }).Should(Equal(r.served()))
				Expect(r.wire.taken()).To(BeEmpty(), "by the same watch")
			})
		}
	}

	bubble.It("that is replaced without a word is noticed after two watches", func() {
		r, place := newRig(), &address{}
		r.create("a")
		place.between(r)
		inf, _ := r.informer(informer.Options[*corev1.ConfigMap]{})
		place.moveIn(r) // the old one serves the watch that it has to its end
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		Expect(names(cached(inf))).To(Equal([]string{"a"}))
		time.Sleep(21 * time.Minute)
		synctest.Wait()
		Expect(cached(inf)).To(BeEmpty())
		Expect(inf.Status().Reflector.Relists).To(HaveKeyWithValue(reflector.RelistRewound, int64(1)))
	})
})
