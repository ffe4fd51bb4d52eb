package main

import (
	"context"
	"fmt"
	"net/http/httptest"
	"strings"
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

var _ = Describe("The end", func() {
	// five pods for two workers
	five := func() (r *rig, stop func(), release func()) {
		r = newRig()
		r.namespace("shop", "web")
		r.create("shop/a", "shop/b", "shop/c", "shop/d", "shop/e")
		release = r.wire.holdPatches()
		_, stop = r.start(ops.Options{})
		r.expectPatches()
		return r, stop, release
	}

	bubble.It("waits for what is in the queue", func() {
		r, stop, release := five()
		time.AfterFunc(grace/2, release)
		began := time.Now()
		stop()
		Expect(time.Since(began)).To(Equal(grace / 2))
		patches, _ := r.wire.taken() // events may be lost in the end
		Expect(patches).To(ConsistOf("shop/a", "shop/b", "shop/c", "shop/d", "shop/e"))
	})

	bubble.It("does not wait for long if the server does not answer", func() {
		r, stop, _ := five()
		began := time.Now()
		stop()
		Expect(time.Since(began)).To(Equal(grace))
		r.expectPatches()
		r.start(ops.Options{}) // which could go on
	})
})

var _ = Describe("Diagnostics", func() {
	bubble.It("show the informers and what was written, as long as the controller runs", func() {
		r := newRig()
		r.namespace("shop", "web")
		r.create("shop/a", "shop/b")
		p, stop := r.start(ops.Options{})
		get := func(path string) (status int, body string) {
			answer := httptest.NewRecorder()
			p.diagnostics().ServeHTTP(answer, httptest.NewRequest("GET", path, nil))
			return answer.Code, answer.Body.String()
		}
		_, body := get("/metrics")
		Expect(body).To(ContainSubstring(`podlabeler_patches_total{result="written"} 2`))
		Expect(body).To(ContainSubstring(`workqueue_adds_total{name="podlabeler"} `))
		Expect(strings.Count(body, "\ninformer_store_resource_version{")).To(Equal(2))
		_, body = get("/informers")
		Expect(body).To(And(ContainSubstring(`"name": "pods.v1"`), ContainSubstring(`"name": "namespaces.v1"`)))
		status, _ := get("/readyz")
		Expect(status).To(Equal(200))

		stop()
		status, body = get("/readyz")
		Expect(status).To(Equal(503))
		Expect(body).To(ContainSubstring("not running"))
		_, body = get("/metrics")
		Expect(body).NotTo(ContainSubstring("\ninformer_store_resource_version{"))
		Expect(body).To(ContainSubstring(`podlabeler_patches_total{result="written"} 2`))
	})
})

var _ = Describe("The demonstration", func() {
	bubble.It("keeps the controller busy, and ends with every pod in order", func() {
		r := newRig()
		p, _ := r.start(ops.Options{})
		ctx, stop := context.WithTimeout(bubble.Context(), time.Minute+time.Second)
		defer stop()
		demo(ctx, r.server.Config(), p.log)
		patches, _ := r.wire.taken()
		Expect(len(patches)).To(BeNumerically(">", 20))
		for key, team := range r.teams() {
			namespace, _, _ := strings.Cut(key, "/")
			obj, err := r.users.CoreV1().Namespaces().Get(bubble.Context(), namespace, metav1.GetOptions{})
			Expect(err).NotTo(HaveOccurred())
			Expect(team).To(Equal(obj.Labels[teamLabel]), key)
		}
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

	bubble.It("of the server that comes back empty leaves nothing behind of what was", func() {
		r := newRig()
		r.namespace("shop", "web")
		r.create("shop/a", "shop/b")
		p, _ := r.start(ops.Options{})
		r.expectPatches("shop/a", "shop/b")

		Expect(r.server.Close()).To(Succeed())
		time.Sleep(time.Minute)
		r.newServer()
		time.Sleep(quiet)
		r.expectPatches()
		Expect(p.current.Load().watched[0].Snapshot().Len()).To(BeZero())
		r.namespace("shop", "sales")
		r.create("shop/a", "shop/c")
		r.expectPatches("shop/a", "shop/c")
		time.Sleep(quiet)
		r.expectPatches()
		Expect(r.teams()).To(Equal(map[string]string{"shop/a": "sales", "shop/c": "sales"}))
	})

	bubble.It("of the server with all that it had costs no patch but of what is new", func() {
		r := newRig()
		r.namespace("shop", "web")
		r.create("shop/a", "shop/b")
		r.start(ops.Options{})
		r.expectPatches("shop/a", "shop/b")

		version, err := r.server.ResourceVersion(bubble.Context())
		Expect(err).NotTo(HaveOccurred())
		Expect(r.server.Restore(bubble.Context(), version)).To(Succeed())
		time.Sleep(quiet)
		r.expectPatches()
		r.create("shop/c")
		r.expectPatches("shop/c")
	})

	bubble.It("of the server from a backup has what was lost done again, once", func() {
		r := newRig()
		r.namespace("shop", "web")
		r.create("shop/a", "shop/b")
		version, err := r.server.ResourceVersion(bubble.Context())
		Expect(err).NotTo(HaveOccurred())
		r.start(ops.Options{})
		r.create("shop/lost")
		r.expectPatches("shop/a", "shop/b", "shop/lost")

		repair := r.cut()
		Expect(r.server.Restore(bubble.Context(), version)).To(Succeed())
		time.Sleep(time.Minute)
		repair()
		Expect(r.teams()).To(Equal(map[string]string{"shop/a": "", "shop/b": ""}))
		time.Sleep(quiet)
		r.expectPatches("shop/a", "shop/b")
		Expect(r.teams()).To(Equal(map[string]string{"shop/a": "web", "shop/b": "web"}))
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
		readiness := func(p *program) string {
			answer := httptest.NewRecorder()
			p.diagnostics().ServeHTTP(answer, httptest.NewRequest("GET", "/readyz", nil))
			return fmt.Sprint(answer.Code, " ", answer.Body)
		}
		Expect(readiness(first)).To(Equal("200 ok\n"))
		Expect(readiness(second)).To(Equal("200 ok, standing by without the lease\n"))
		stop()
		time.Sleep(10 * time.Second)
		Expect(readiness(second)).To(Equal("200 ok\n"))
		repair := r.cut()
		time.Sleep(5 * time.Second)
		Expect(readiness(second)).To(Equal("200 ok\n"), "the caches still answer")
		time.Sleep(time.Hour)
		Expect(readiness(second)).To(Equal("200 ok, standing by without the lease\n"))
		repair()
		time.Sleep(time.Minute)
		Expect(readiness(second)).To(Equal("200 ok\n"))
		r.create("shop/b")
		r.expectPatches("shop/b")
	})
})
