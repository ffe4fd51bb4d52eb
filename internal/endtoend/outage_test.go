package endtoend_test

import (
	"testing/synctest"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	"github.com/listwatch/listwatch/informer"
	"github.com/listwatch/listwatch/informer/informertest"
	"github.com/listwatch/listwatch/internal/bubble"
	"github.com/listwatch/listwatch/reflector"
)

// both ways in which an informer may list.
var listings = []struct {
	name    string
	options reflector.Options
	relist  map[string]int // the requests of a relist after a 410 at the watch
}{
	{"by watch-list", reflector.Options{}, map[string]int{"watch": 1, "watch-list": 1}},
	{"by list", reflector.Options{DisableWatchList: true}, map[string]int{"watch": 2, "list": 1}},
}

var _ = Describe("An outage of the connection", func() {
	for _, listing := range listings {
		options := informer.Options[*corev1.ConfigMap]{Reflector: listing.options}

		bubble.It("hides no delete and no recreation from a resumed watch, "+listing.name, func() {
			r := newRig()
			r.create("deleted")
			r.create("recreated")
			inf, handler := r.informer(options)
			handler.ExpectExactly(bubble.TB(), informertest.Added("default/deleted"), informertest.Added("default/recreated"))
			r.wire.taken()

			repair := r.cut()
			r.delete("deleted")
			r.delete("recreated")
			r.create("recreated")
			time.Sleep(10 * time.Second)
			synctest.Wait()
			handler.ExpectNone(bubble.TB(), nil) // nothing can arrive while the wire is down
			repair()

			Eventually(func() map[string]string { return cached(inf) }, "2m").Should(Equal(r.served()))
			Expect(names(cached(inf))).To(Equal([]string{"recreated"}))
			handler.ExpectExactly(bubble.TB(), informertest.InOrder(
				informertest.Deleted("default/deleted").Exact(true), informertest.Deleted("default/recreated").Exact(true), informertest.Added("default/recreated"))...)
			Expect(r.wire.taken()).To(Equal(map[string]int{"watch": 1, "list": 1}), "it resumes, and a list of one item says that the server is the same")
			Expect(inf.Status().Reflector.Lists+inf.Status().Reflector.WatchLists).To(Equal(int64(1)), "the first one")
		})

		bubble.It("hides no delete and no recreation from a relist, "+listing.name, func() {
			r := newRig()
			r.create("deleted")
			r.create("kept")
			r.create("recreated")
			inf, handler := r.informer(options)
			handler.ExpectExactly(bubble.TB(), informertest.Added("default/deleted"), informertest.Added("default/kept"), informertest.Added("default/recreated"))
			r.wire.taken()

			repair := r.cut()
			r.delete("deleted")
			r.delete("recreated")
			r.create("recreated")
			_, err := r.server.Compact(r.ctx)
			Expect(err).NotTo(HaveOccurred())
			time.Sleep(10 * time.Second)
			repair()

			Eventually(func() map[string]string { return cached(inf) }, "2m").Should(Equal(r.served()))
			Expect(names(cached(inf))).To(Equal([]string{"kept", "recreated"}))
			handler.ExpectExactly(bubble.TB(),
				informertest.Deleted("default/deleted").Exact(false), informertest.Deleted("default/recreated").Exact(false), informertest.Added("default/recreated"))
			Expect(inf.Status().Reflector.Relists).NotTo(BeEmpty())
		})

		bubble.It("that outlives the server's history costs one relist and leaves it in step, "+listing.name, func() {
			r := newRig()
			for _, name := range []string{"a", "b", "c"} {
				r.create(name)
			}
			inf, handler := r.informer(options)
			handler.ExpectExactly(bubble.TB(), informertest.Added("default/a"), informertest.Added("default/b"), informertest.Added("default/c"))
			r.wire.taken()

			repair := r.cut()
			r.update("a", "changed meanwhile")
			r.delete("b")
			_, err := r.server.Compact(r.ctx)
			Expect(err).NotTo(HaveOccurred())
			repair()
			Eventually(func() map[string]string { return cached(inf) }, "2m").Should(Equal(r.served()))
			r.update("c", "changed afterwards")
			Eventually(func() map[string]string { return cached(inf) }).Should(Equal(r.served()))
			time.Sleep(3 * time.Minute)

			Expect(r.wire.taken()).To(Equal(listing.relist), "one watch that gets 410, one relist, and the watch after it")
			handler.ExpectExactly(bubble.TB(), informertest.Updated("default/a"), informertest.Deleted("default/b").Exact(false), informertest.Updated("default/c"))
		})
	}
})
