package main

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	"github.com/listwatch/listwatch/examples/controllers/internal/configset"
	"github.com/listwatch/listwatch/internal/bubble"
)

type writes = map[string]int

// disturbances are what an operator has to live with.
var disturbances = []struct {
	what        string
	leaderElect bool
	do          func(r *rig, meanwhile func())
}{
	{"through cut connections", false, func(r *rig, meanwhile func()) {
		repair := r.cut()
		meanwhile()
		repair()
	}},
	{"through cut connections and a list", false, func(r *rig, meanwhile func()) {
		repair := r.cut()
		meanwhile()
		must(r.server.Compact(bubble.Context()))
		repair()
	}},
	{"through its own end", false, func(r *rig, meanwhile func()) {
		r.end()
		meanwhile()
		r.start()
	}},
	{"through the end of the server, whose objects are kept", false, func(r *rig, meanwhile func()) {
		repair := r.cut()
		meanwhile()
		Expect(r.server.Restore(bubble.Context(), must(r.server.ResourceVersion(bubble.Context())))).To(Succeed())
		repair()
	}},
	{"through the loss of its lease, which ends it", true, func(r *rig, meanwhile func()) {
		repair := r.cut()
		meanwhile()
		Expect(<-r.ended).To(MatchError("leader election lost"))
		r.ended <- nil // for end
		r.end()
		repair()
		r.start()
	}},
}

var _ = Describe("An operator", func() {
	for _, informers := range []string{listwatch, clientGo} {
		bubble.It("makes what is asked for, and writes nothing twice, with informers of "+informers, func() {
			r := newRig(settings{informers: informers})
			r.create("web", 3)
			r.settle()
			Expect(r.world()).To(Equal([]string{"web: Complete, 3 of 3", "web-0 of web", "web-1 of web", "web-2 of web"}))
			Expect(r.wire.taken()).To(Equal(writes{"patch configsets": 1, "post configmaps": 3, "put configsets/status": 1}))
			r.scale("web", 5)
			r.settle()
			Expect(r.wire.taken()).To(Equal(writes{"post configmaps": 2, "put configsets/status": 1}))
			r.lose("web-1")
			r.spoil("web-2")
			r.settle()
			Expect(r.wire.taken()).To(Equal(writes{"post configmaps": 1, "put configmaps": 1}))
			r.scale("web", 2)
			r.settle()
			Expect(r.world()).To(Equal([]string{"web: Complete, 2 of 2", "web-0 of web", "web-1 of web"}))
			Expect(r.wire.taken()).To(Equal(writes{"delete configmaps": 3, "put configsets/status": 1}))
			r.remove("web")
			r.settle()
			Expect(r.world()).To(BeEmpty())
			Expect(r.wire.taken()).To(Equal(writes{"delete configmaps": 2, "patch configsets": 1}))
		})

		for _, disturbance := range disturbances {
			bubble.It("finds out what happened "+disturbance.what+", with informers of "+informers, func() {
				r := newRig(settings{informers: informers, leaderElect: disturbance.leaderElect})
				for _, name := range []string{"gone", "grown", "hurt", "replaced", "same"} {
					r.create(name, 2)
				}
				r.settle()
				r.wire.taken()
				disturbance.do(r, func() {
					r.remove("gone")
					r.scale("grown", 3)
					r.lose("hurt-0")
					r.spoil("hurt-1")
					r.vanish("replaced") // and leaves its ConfigMaps behind
					r.create("replaced", 1)
					r.create("young", 1)
				})
				r.settle()
				Expect(r.world()).To(Equal([]string{
					"grown: Complete, 3 of 3", "hurt: Complete, 2 of 2", "replaced: Complete, 1 of 1", "same: Complete, 2 of 2", "young: Complete, 1 of 1",
					"grown-0 of grown", "grown-1 of grown", "grown-2 of grown", "hurt-0 of hurt", "hurt-1 of hurt",
					"replaced-0 of replaced", "same-0 of same", "same-1 of same", "young-0 of young",
				}))
				Expect(r.wire.taken()).To(Equal(writes{
					"delete configmaps":     2 + 2,         // of gone, orphans of replaced
					"post configmaps":       1 + 1 + 1 + 1, // of grown, hurt, replaced, young
					"put configmaps":        1,             // of hurt
					"patch configsets":      1 + 1 + 1,     // finalizers of gone, replaced, young
					"put configsets/status": 1 + 1 + 1,     // of grown, replaced, young
				}))
				r.end()
				r.start()
				Expect(r.wire.taken()).To(BeEmpty(), "another one has nothing to do")
			})
		}

		bubble.It("leaves alone what is somebody else's, with informers of "+informers, func() {
			r := newRig(settings{informers: informers})
			foreign := &corev1.ConfigMap{ObjectMeta: object("web-0"), Data: map[string]string{"of": "me"}}
			Expect(r.user.Create(bubble.Context(), foreign)).To(Succeed())
			abandoned := &corev1.ConfigMap{ObjectMeta: object("web-1"), Data: map[string]string{"of": "me"}}
			abandoned.Labels = map[string]string{configset.LabelSet: "web"}
			Expect(r.user.Create(bubble.Context(), abandoned)).To(Succeed())
			r.create("web", 2)
			r.settle()
			Expect(r.world()).To(Equal([]string{"web: NameTaken, 1 of 2", "web-0 of me", "web-1 of web"}))
			r.lose("web-0")
			r.settle()
			Expect(r.world()).To(Equal([]string{"web: Complete, 2 of 2", "web-0 of web", "web-1 of web"}))
		})

		bubble.It("is ready while another one has the lease, with informers of "+informers, func() {
			r := newRig(settings{informers: informers, leaderElect: true})
			standby, seen, err := newOperator(bubble.Context(), r.server.Config(), must(r.settings.options(r.server.Config(), GinkgoLogr)))
			Expect(err).NotTo(HaveOccurred())
			ctx, stop := context.WithCancel(context.WithoutCancel(bubble.Context()))
			ended := make(chan error, 1)
			Expect(seen.ready(nil)).NotTo(Succeed())
			go func() { ended <- standby.Start(ctx) }()
			time.Sleep(time.Minute)
			Expect(standby.Elected()).NotTo(BeClosed())
			Expect(seen.ready(nil)).To(Succeed())
			stop()
			Expect(<-ended).To(Succeed())
		})

		bubble.It("is ready while the server is out of reach, with informers of "+informers, func() {
			r := newRig(settings{informers: informers})
			repair := r.cut()
			time.Sleep(time.Hour)
			Expect(r.seen.ready(nil)).To(Succeed())
			repair()
		})

		bubble.It("brings its definition back, with informers of "+informers, func() {
			r := newRig(settings{informers: informers})
			Expect(r.user.Delete(bubble.Context(), configset.Definition())).To(Succeed())
			r.settle()
			r.create("web", 1)
			r.settle()
			Expect(r.world()).To(Equal([]string{"web: Complete, 1 of 1", "web-0 of web"}))
		})
	}
})
