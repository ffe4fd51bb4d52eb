package main

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/listwatch/listwatch/examples/controllers/internal/ops"
	"github.com/listwatch/listwatch/internal/bubble"
)

var _ = Describe("Where the server's history went back, the controller", func() {
	bubble.It("goes on from what a backup had", func() {
		r := newRig()
		r.run(ops.Options{})
		r.set("web", 3)
		r.expectSettled("web", 3)
		list, err := r.maps.List(r.ctx, metav1.ListOptions{})
		Expect(err).NotTo(HaveOccurred())
		r.patch("web", `{"spec":{"replicas":1}}`)
		r.set("later", 2)
		time.Sleep(time.Minute)
		r.wire.taken()
		Expect(r.server.Restore(r.ctx, list.ResourceVersion)).To(Succeed())
		time.Sleep(5 * time.Minute)
		// All of the backup fits together. But one cache notices before the other, and
		// between what one has of the future and the other of the past there are gaps, and
		// the server refuses what is made of them.
		Expect(len(r.wire.taken())).To(BeNumerically("<=", 40))
		r.expectComplete("web", 3)
		r.expectGone("later")
		r.quiet()
		r.deleteMap("web-1")
		r.set("later", 1)
		time.Sleep(time.Minute)
		Expect(r.wire.taken()).To(ConsistOf(append(writes("+web-1"), "~configsets/later", "+configmaps/later-0", "~configsets/later/status")))
		r.expectComplete("web", 3)
		r.expectComplete("later", 1)
	})
	bubble.It("installs it where the server came back empty", func() {
		r := newRig()
		r.run(ops.Options{})
		r.set("web", 2)
		r.expectSettled("web", 2)
		old := r.server
		r.wire.set(func() { r.wire.down = true })
		Expect(old.Close()).To(Succeed())
		time.Sleep(time.Minute)
		r.newServer()
		r.wire.set(func() { r.wire.down = false })
		time.Sleep(10 * time.Minute)
		Expect(r.wire.taken()).To(ContainElement(define))
		Expect(r.served()).To(BeEmpty())
		r.set("web", 1)
		time.Sleep(10 * time.Second)
		Expect(r.wire.taken()).To(Equal(writes("~configsets/web +web-0 ~configsets/web/status")))
		r.expectComplete("web", 1)
		r.quiet()
	})
})
