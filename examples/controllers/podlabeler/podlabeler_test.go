package main

import (
	"net/http/httptest"
	"testing/synctest"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/listwatch/listwatch/examples/controllers/internal/ops"
	"github.com/listwatch/listwatch/internal/bubble"
)

// quiet is a time in which everything that was tried again is over.
const quiet = 5 * time.Minute

var _ = Describe("The controller", func() {
	bubble.It("labels each pod once, and again when its namespace or its label changes", func() {
		r := newRig()
		r.namespace("shop", "web")
		r.create("shop/a", "shop/b", "default/c")
		r.start(ops.Options{})
		Expect(r.teams()).To(Equal(map[string]string{"shop/a": "web", "shop/b": "web", "default/c": ""}))
		r.expectPatches("shop/a", "shop/b")

		r.create("shop/d")
		r.expectPatches("shop/d")
		r.namespace("shop", "sales")
		r.expectPatches("shop/a", "shop/b", "shop/d")
		r.spoil("shop/b")
		r.spoil("default/c")
		r.expectPatches("shop/b", "default/c")
		Expect(r.teams()).To(Equal(map[string]string{"shop/a": "sales", "shop/b": "sales", "shop/d": "sales", "default/c": ""}))
		r.namespace("shop", "")
		r.expectPatches("shop/a", "shop/b", "shop/d")
		time.Sleep(quiet)
		r.expectPatches()
		Expect(r.teams()).To(Equal(map[string]string{"shop/a": "", "shop/b": "", "shop/d": "", "default/c": ""}))
	})

	bubble.It("tells of each change by an event about the pod", func() {
		r := newRig()
		r.namespace("shop", "web")
		r.create("shop/a")
		r.start(ops.Options{})
		synctest.Wait()
		list, err := r.users.EventsV1().Events("shop").List(bubble.Context(), metav1.ListOptions{})
		Expect(err).NotTo(HaveOccurred())
		Expect(list.Items).To(HaveLen(1))
		event := list.Items[0]
		Expect(event.Regarding.Kind + " " + event.Regarding.Name).To(Equal("Pod a"))
		Expect(event.Reason).To(Equal("TeamChanged"))
		Expect(event.ReportingController).To(Equal(name))
		Expect(event.Note).To(Equal(`Belongs to team "web", as namespace shop does`))
	})

	bubble.It("reads its own writes: it does not repeat one of which the cache has not heard", func() {
		r := newRig()
		r.namespace("shop", "web")
		r.create("shop/a")
		p, _ := r.start(ops.Options{})
		r.expectPatches("shop/a")

		deliver := r.wire.delay()
		r.namespace("shop", "sales")
		r.expectPatches("shop/a")
		for range 10 {
			lookAgain(p, "shop/a")
		}
		r.expectPatches()
		// Back to what the cache believes: it must not be believed.
		r.namespace("shop", "web")
		r.expectPatches("shop/a")
		Expect(r.teams()).To(Equal(map[string]string{"shop/a": "web"}))
		deliver()
		time.Sleep(quiet)
		r.expectPatches()
		Expect(p.current.Load().pods.Len()).To(BeZero(), "the cache has caught up")
	})

	bubble.It("does not write to another pod that took the name", func() {
		r := newRig()
		r.namespace("shop", "web")
		r.create("shop/a")
		p, _ := r.start(ops.Options{})
		r.expectPatches("shop/a")

		deliver := r.wire.delay()
		r.delete("shop/a")
		r.namespace("shop", "sales")
		patches, events := r.wire.taken() // of one that is no more
		Expect(patches).To(Equal([]string{"shop/a"}))
		Expect(events).To(BeZero())
		r.create("shop/a")
		lookAgain(p, "shop/a")
		time.Sleep(quiet)
		patches, events = r.wire.taken() // of one that is another
		Expect(patches).To(Equal([]string{"shop/a"}))
		Expect(events).To(BeZero())
		Expect(r.teams()).To(Equal(map[string]string{"shop/a": ""}))
		deliver()
		r.expectPatches("shop/a")
		Expect(r.teams()).To(Equal(map[string]string{"shop/a": "sales"}))
	})

	bubble.It("tries again what the server did not take, until it does", func() {
		r := newRig()
		r.namespace("shop", "web")
		r.create("shop/a", "shop/b")
		r.wire.refuses.Store(true)
		r.start(ops.Options{})
		time.Sleep(quiet)
		r.expectPatches()
		r.wire.refuses.Store(false)
		time.Sleep(lastRetry)
		r.expectPatches("shop/a", "shop/b")
		time.Sleep(quiet)
		r.expectPatches()
	})
})

var _ = Describe("A disconnect", func() {
	for _, history := range []struct {
		name      string
		forgotten bool
	}{{"with the history kept", false}, {"with the history forgotten", true}} {
		bubble.It("costs the patches of what changed meanwhile and no other, "+history.name, func() {
			r := newRig()
			r.namespace("shop", "web")
			r.namespace("bank", "money")
			r.create("shop/kept", "shop/deleted", "shop/recreated", "bank/a", "bank/b")
			r.start(ops.Options{})
			r.expectPatches("shop/kept", "shop/deleted", "shop/recreated", "bank/a", "bank/b")

			// Two informers come back one after the other: in a namespace that has
			// changed, the pods must not have, or a patch may be in vain.
			repair := r.cut()
			r.delete("shop/deleted")
			r.delete("shop/recreated")
			r.create("shop/recreated", "shop/new")
			r.spoil("shop/kept")
			r.namespace("bank", "audit")
			if history.forgotten {
				_, err := r.server.Compact(bubble.Context())
				Expect(err).NotTo(HaveOccurred())
			}
			time.Sleep(quiet)
			r.expectPatches()
			repair()
			time.Sleep(quiet)
			Expect(r.teams()).To(Equal(map[string]string{
				"shop/kept": "web", "shop/recreated": "web", "shop/new": "web", "bank/a": "audit", "bank/b": "audit",
			}))
			r.expectPatches("shop/kept", "shop/recreated", "shop/new", "bank/a", "bank/b")
		})
	}
})

var _ = Describe("A restart", func() {
	bubble.It("of the controller writes what changed meanwhile and nothing else", func() {
		r := newRig()
		r.namespace("shop", "web")
		r.create("shop/a", "shop/b")
		_, stop := r.start(ops.Options{})
		r.expectPatches("shop/a", "shop/b")
		stop()
		_, stop = r.start(ops.Options{})
		time.Sleep(quiet)
		r.expectPatches()
		stop()
		r.spoil("shop/b")
		r.create("shop/c")
		r.start(ops.Options{})
		time.Sleep(quiet)
		r.expectPatches("shop/b", "shop/c")
	})
})

var _ = Describe("Of several processes", func() {
	bubble.It("one works, and the next goes on when that ends, without writing anything again", func() {
		r := newRig()
		r.namespace("shop", "web")
		r.create("shop/a")
		electing := ops.Options{LeaderElect: true, LeaseNamespace: "default", LeaseName: name}
		first, stop := r.start(electing)
		second, _ := r.start(electing)
		r.expectPatches("shop/a")
		time.Sleep(quiet)
		Expect(first.current.Load()).NotTo(BeNil())
		Expect(second.current.Load()).To(BeNil())
		readiness := func(p *program) int {
			answer := httptest.NewRecorder()
			p.diagnostics().ServeHTTP(answer, httptest.NewRequest("GET", "/readyz", nil))
			return answer.Code
		}
		Expect(readiness(first)).To(Equal(200))
		Expect(readiness(second)).To(Equal(503))
		stop()
		time.Sleep(10 * time.Second)
		Expect(readiness(second)).To(Equal(200))
		r.create("shop/b")
		r.expectPatches("shop/b")
	})
})
