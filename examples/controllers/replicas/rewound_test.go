package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
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

	for _, electing := range []bool{false, true} {
		bubble.It(fmt.Sprintf("installs it, once, where the server came back empty and is past where it was, leader election: %v", electing), func() {
			r := newRig()
			p := r.run(ops.Options{LeaderElect: electing, LeaseNamespace: "default", LeaseName: "replicas"})
			r.set("web", 2)
			r.expectSettled("web", 2)
			old, before := r.server, version(r)
			r.wire.set(func() { r.wire.down = true })
			Expect(old.Close()).To(Succeed())
			time.Sleep(20 * time.Second)
			r.newServer()
			for n := 0; version(r) <= before; n++ {
				_, err := r.maps.Create(r.ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("other-", n)}}, metav1.CreateOptions{})
				Expect(err).NotTo(HaveOccurred())
			}
			r.wire.taken()
			r.wire.set(func() { r.wire.down = false })
			time.Sleep(2 * time.Minute)
			// The cache of ConfigMaps has children of before, until it notices: orphans now.
			Expect(slices.DeleteFunc(r.wire.taken(), func(write string) bool {
				return strings.HasPrefix(write, "-") && strings.HasSuffix(write, " Not Found")
			})).To(Equal([]string{define}))
			Expect(p.setCache.Status().Synced).To(BeTrue())
			r.set("web", 1)
			time.Sleep(time.Minute)
			Expect(r.wire.taken()).To(Equal(writes("~configsets/web +web-0 ~configsets/web/status")))
			r.expectComplete("web", 1)
		})
	}
})

// version is where the history of the server is.
func version(r *rig) uint64 {
	GinkgoHelper()
	version, err := r.server.ResourceVersion(r.ctx)
	Expect(err).NotTo(HaveOccurred())
	number, err := strconv.ParseUint(version, 10, 64)
	Expect(err).NotTo(HaveOccurred())
	return number
}
