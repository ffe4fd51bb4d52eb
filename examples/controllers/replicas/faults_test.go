package main

import (
	"fmt"
	"net/http/httptest"
	"slices"
	"strings"
	"testing/synctest"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/listwatch/listwatch/examples/controllers/internal/configset"
	"github.com/listwatch/listwatch/examples/controllers/internal/ops"
	"github.com/listwatch/listwatch/internal/bubble"
)

var _ = Describe("After a disconnect, the controller", func() {
	for _, history := range []string{"kept", "forgotten"} {
		bubble.It("makes right what has happened meanwhile, once, with history "+history, func() {
			r := newRig()
			r.run(ops.Options{})
			for _, name := range []string{"edited", "deleted", "forced", "again", "same"} {
				r.set(name, 2)
				r.expectSettled(name, 2)
			}

			repair := r.cut()
			r.patch("edited", `{"spec":{"replicas":3}}`)
			r.deleteMap("edited-0")
			r.patchMap("edited-1", `{"data":{"color":"red"}}`)
			r.deleteSet("deleted")
			r.forceDelete("forced")
			r.forceDelete("again")
			r.set("again", 1)
			if history == "forgotten" {
				_, err := r.server.Compact(r.ctx)
				Expect(err).NotTo(HaveOccurred())
			}
			time.Sleep(10 * time.Minute)
			Expect(r.wire.taken()).To(BeEmpty(), "nobody knows")
			repair()
			time.Sleep(5 * time.Minute)

			all := r.wire.taken()
			for name, want := range map[string][]any{
				"edited":  {"+edited-0", "+edited-2", "~edited-1", "~edited/status"},
				"deleted": {"-deleted-1", "-deleted-0", "~deleted"},
				"forced":  {"-forced-0", "-forced-1"},
				"again":   {"-again-0", "-again-1", "~again", "+again-0", "~again/status"},
				"same":    {},
			} {
				// Two watches tell, in either order, and one change after the other: up to
				// two statuses may say what was so in between.
				Expect(butStatuses(of(name, all), 2)).To(ConsistOf(want))
			}
			r.expectComplete("edited", 3)
			r.expectComplete("again", 1)
			r.expectGone("deleted")
			r.expectGone("forced")
			r.quiet()
		})
	}

	bubble.It("finds that its write came through although the answer was lost", func() {
		r := newRig()
		r.run(ops.Options{})
		r.wire.taken()
		r.wire.set(func() { r.wire.lose = "+configmaps/web-1" })
		r.set("web", 3)
		time.Sleep(time.Minute)
		all := r.wire.taken()
		if len(all) == 6 { // that there is a web-0 was told before that there is a web-1
			Expect(all[3]).To(Equal("+configmaps/web-1 Conflict"))
			all = slices.Delete(all, 3, 4)
		}
		Expect(all).To(Equal([]string{
			"~configsets/web", "+configmaps/web-0", "+configmaps/web-1 lost", "+configmaps/web-2", "~configsets/web/status",
		}))
		r.expectComplete("web", 3)
	})

	bubble.It("finds that too while it is not told of anything", func() {
		r := newRig()
		r.run(ops.Options{})
		r.set("web", 1)
		r.expectSettled("web", 1)
		r.wire.set(func() {
			r.wire.lose = "+configmaps/web-1"
			r.wire.meddle = func(write string) {
				if write == "+configmaps/web-1" {
					r.wire.set(func() { r.wire.blind = true })
					r.server.DropWatches()
				}
			}
		})
		r.patch("web", `{"spec":{"replicas":3}}`)
		time.Sleep(10 * time.Minute)
		Expect(r.wire.taken()).To(Equal([]string{
			"+configmaps/web-1 lost", "+configmaps/web-1 Conflict", "+configmaps/web-2", "~configsets/web/status",
		}))
		r.expectComplete("web", 3)
		r.wire.set(func() { r.wire.blind = false })
		r.quiet()
		r.expectComplete("web", 3)
	})

	bubble.It("does not take a cache that lags behind for the truth about orphans", func() {
		r := newRig()
		r.run(ops.Options{})
		r.set("other", 1)
		r.expectSettled("other", 1)
		r.wire.set(func() { r.wire.hidden = configset.Plural })
		r.server.DropWatches()
		synctest.Wait()
		set := r.set("web", 1, func(s *configset.ConfigSet) { s.Finalizers = []string{configset.Finalizer} })
		_, err := r.maps.Create(r.ctx, configset.Child(set, 0), metav1.CreateOptions{}) // so that only this is seen
		Expect(err).NotTo(HaveOccurred())
		time.Sleep(time.Minute)
		Expect(r.wire.taken()).To(Equal([]string{"~configsets/web/status"}), "which it has read by itself")
		r.expectComplete("web", 1)
	})
})

var _ = Describe("When somebody else is faster, the controller", func() {
	bubble.It("decides anew, of what is there now", func() {
		r := newRig()
		r.run(ops.Options{})
		r.set("web", 1)
		r.expectSettled("web", 1)
		meddle := map[string]func(){
			"+configmaps/web-1":      func() { r.patch("web", `{"metadata":{"labels":{"a":"b"}},"spec":{"replicas":2}}`) },
			"~configsets/web/status": func() { r.patch("web", `{"spec":{"replicas":1}}`) },
			"-configmaps/web-1":      func() { r.patchMap("web-1", `{"metadata":{"annotations":{"a":"b"}}}`) },
		}
		r.wire.set(func() {
			r.wire.meddle = func(write string) {
				if do := meddle[write]; do != nil {
					delete(meddle, write) // only one worker has this key
					do()
				}
			}
		})
		r.patch("web", `{"spec":{"replicas":3}}`)
		Expect(r.wire.taken()).To(Equal([]string{
			"+configmaps/web-1", "+configmaps/web-2", "~configsets/web/status Conflict",
			"-configmaps/web-2", "-configmaps/web-1 Conflict", "-configmaps/web-1", "~configsets/web/status",
		}))
		r.expectComplete("web", 1)
		r.quiet()
	})
})

var _ = Describe("A restart", func() {
	bubble.It("of the controller in the middle of a scale-up makes what is missing, and nothing twice", func() {
		r := newRig()
		first := r.run(ops.Options{})
		r.set("web", 2)
		r.expectSettled("web", 2)
		r.wire.set(func() {
			r.wire.lose = "+configmaps/web-5"
			r.wire.meddle = func(write string) {
				if write == "+configmaps/web-5" {
					first.interrupt()
				}
			}
		})
		r.patch("web", `{"spec":{"replicas":10}}`)
		synctest.Wait()
		first.stop()
		r.wire.set(func() { r.wire.meddle = nil })
		begun := r.wire.taken()
		Expect(len(r.served())).To(BeNumerically("<", 10))

		r.run(ops.Options{})
		finished := r.wire.taken()
		Expect(finished).NotTo(ContainElement(ContainSubstring("Conflict")))
		var created []string
		for _, write := range append(begun, finished...) {
			if name, ok := strings.CutPrefix(write, "+configmaps/"); ok {
				created = append(created, name)
			}
		}
		slices.Sort(created)
		Expect(slices.Compact(created)).To(HaveLen(len(created)))
		r.expectComplete("web", 10)
		r.quiet()
	})

	bubble.It("of the controller finds what was deleted and left behind while there was none", func() {
		r := newRig()
		first := r.run(ops.Options{})
		for _, name := range []string{"deleted", "forced", "same"} {
			r.set(name, 2)
			r.expectSettled(name, 2)
		}
		first.stop()
		r.deleteSet("deleted")
		r.forceDelete("forced")
		r.run(ops.Options{})
		all := r.wire.taken()
		Expect(of("deleted", all)).To(Equal([]string{"-deleted-1", "-deleted-0", "~deleted"}))
		Expect(of("forced", all)).To(Equal([]string{"-forced-0", "-forced-1"}))
		Expect(all).To(HaveLen(5))
		r.expectGone("deleted")
		r.expectGone("forced")
	})

	bubble.It("of the server that keeps its data makes nobody write", func() {
		r := newRig()
		r.run(ops.Options{})
		r.set("web", 3)
		r.expectSettled("web", 3)
		list, err := r.maps.List(r.ctx, metav1.ListOptions{})
		Expect(err).NotTo(HaveOccurred())
		Expect(r.server.Restore(r.ctx, list.ResourceVersion)).To(Succeed())
		r.quiet()
		r.patch("web", `{"spec":{"replicas":4}}`)
		Expect(r.wire.taken()).To(Equal(writes("+web-3 ~configsets/web/status")))
		r.expectComplete("web", 4)
	})
})

var _ = Describe("Of two processes of the controller", func() {
	electing := ops.Options{LeaderElect: true, LeaseNamespace: "default", LeaseName: "replicas"}

	bubble.It("one works, and the other takes over where that has ended", func() {
		r := newRig()
		first := r.run(electing)
		r.run(electing)
		r.set("web", 2)
		r.expectSettled("web", 2)
		first.stop()
		r.patch("web", `{"spec":{"replicas":4}}`)
		r.deleteMap("web-0")
		time.Sleep(time.Minute)
		Expect(r.wire.taken()).To(Equal(writes("+web-0 +web-2 +web-3 ~configsets/web/status")))
		r.expectComplete("web", 4)
		r.quiet()
	})

	bubble.It("both are ready, also while the server is out of reach", func() {
		r := newRig()
		working, waiting := r.run(electing), r.run(electing)
		readiness := func(p *process) string {
			answer := httptest.NewRecorder()
			p.diagnostics(electing, ops.NewRegistry()).ServeHTTP(answer, httptest.NewRequest("GET", "/readyz", nil))
			return fmt.Sprint(answer.Code, " ", answer.Body)
		}
		Expect(readiness(working)).To(Equal("200 ok\n"))
		Expect(readiness(waiting)).To(Equal("200 ok, standing by without the lease\n"))
		repair := r.cut()
		time.Sleep(time.Hour) // nobody has the lease
		Expect(readiness(working)).To(Equal("200 ok, standing by without the lease\n"))
		Expect(readiness(waiting)).To(Equal("200 ok, standing by without the lease\n"))
		repair()
		time.Sleep(time.Minute)
		Expect([]string{readiness(working), readiness(waiting)}).To(ConsistOf("200 ok\n", "200 ok, standing by without the lease\n"))
	})

	bubble.It("the one that lost its lease stops, and is there again when the other ends", func() {
		r := newRig()
		r.run(electing)
		r.set("web", 2)
		r.expectSettled("web", 2)
		stranded := r.wire
		r.wire = &wire{}
		r.wire.lead(r.server)
		second := r.run(electing)
		stranded.set(func() { stranded.down = true })
		r.server.DropWatches()
		time.Sleep(time.Minute)
		r.patch("web", `{"spec":{"replicas":3}}`)
		Expect(r.wire.taken()).To(Equal(writes("+web-2 ~configsets/web/status")))
		stranded.set(func() { stranded.down = false })
		time.Sleep(time.Minute)
		second.stop()
		r.patch("web", `{"spec":{"replicas":1}}`)
		time.Sleep(time.Minute)
		Expect(stranded.taken()).To(Equal(writes("-web-2 -web-1 ~configsets/web/status")))
		r.expectComplete("web", 1)
		Expect(r.wire.taken()).To(BeEmpty())
	})
})

var _ = Describe("Without a definition, the controller", func() {
	bubble.It("waits for somebody to install it, if it may not", func() {
		r := newRig()
		p := r.run(ops.Options{}, func(s *settings) { s.install = false })
		r.quiet()
		Expect(ops.Synced(p.setCache, p.childCache)).NotTo(Succeed())
		_, err := configset.Install(r.ctx, r.server.Config())
		Expect(err).NotTo(HaveOccurred())
		r.set("web", 2)
		time.Sleep(10 * time.Second)
		r.expectComplete("web", 2)
		Expect(ops.Synced(p.setCache, p.childCache)).To(Succeed())
	})

	bubble.It("cleans up, and installs it again", func() {
		r := newRig()
		r.run(ops.Options{})
		r.set("web", 2)
		r.expectSettled("web", 2)
		r.undefine()
		time.Sleep(time.Minute)
		Expect(r.wire.taken()).To(ConsistOf(append(writes("-web-1 -web-0 ~configsets/web"), define)))
		Expect(r.served()).To(BeEmpty())
		r.set("web", 1)
		time.Sleep(10 * time.Second)
		r.expectComplete("web", 1)
	})
})

// of are the writes that have to do with a ConfigSet, in short.
func of(name string, all []string) (its []string) {
	for _, write := range all {
		_, object, _ := strings.Cut(write, "/")
		if object == name || strings.HasPrefix(object, name+"-") || strings.HasPrefix(object, name+"/") {
			its = append(its, fmt.Sprintf("%c%s", write[0], object))
		}
	}
	return its
}

// butStatuses leaves out up to n of the writes of a status but the last, whether they
// went through or were made to an old version.
func butStatuses(writes []string, n int) (rest []string) {
	for i, whole := range writes {
		write, _ := strings.CutSuffix(whole, " Conflict")
		if n > 0 && strings.HasSuffix(write, "/status") && slices.Contains(writes[i+1:], write) {
			n--
			continue
		}
		rest = append(rest, whole)
	}
	return rest
}
