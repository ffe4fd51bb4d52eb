package main

import (
	"encoding/json"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/listwatch/listwatch/examples/controllers/internal/configset"
	"github.com/listwatch/listwatch/examples/controllers/internal/ops"
	"github.com/listwatch/listwatch/internal/bubble"
)

func decode(content []byte, m *corev1.ConfigMap) error {
	if json.Valid(content) {
		return json.Unmarshal(content, m)
	}
	_, _, err := scheme.Codecs.UniversalDeserializer().Decode(content, nil, m)
	return err
}

// writes are those that a text names.
func writes(text string) []string {
	return strings.Fields(strings.ReplaceAll(text, "web-", "configmaps/web-"))
}

const define = "+customresourcedefinitions"

var _ = Describe("The controller of ConfigSets", func() {
	bubble.It("installs the definition and creates children, with one write for each thing", func() {
		r := newRig()
		r.run(ops.Options{})
		Expect(r.wire.taken()).To(Equal([]string{define}))
		r.set("web", 3)
		Expect(r.wire.taken()).To(Equal(writes("~configsets/web +web-0 +web-1 +web-2 ~configsets/web/status")))
		r.expectComplete("web", 3)
		for _, child := range r.children(&configset.ConfigSet{ObjectMeta: metav1.ObjectMeta{Name: "web"}}) {
			Expect(child.OwnerReferences).To(HaveLen(1))
			Expect(*child.OwnerReferences[0].Controller).To(BeTrue())
			Expect(*child.OwnerReferences[0].BlockOwnerDeletion).To(BeTrue())
		}
		r.quiet()
	})

	bubble.It("scales up, and down from the highest", func() {
		r := newRig()
		r.run(ops.Options{})
		r.set("web", 1)
		r.expectSettled("web", 1)
		r.patch("web", `{"spec":{"replicas":3}}`)
		Expect(r.wire.taken()).To(Equal(writes("+web-1 +web-2 ~configsets/web/status")))
		r.expectComplete("web", 3)
		r.patch("web", `{"spec":{"replicas":1}}`)
		Expect(r.wire.taken()).To(Equal(writes("-web-2 -web-1 ~configsets/web/status")))
		r.expectComplete("web", 1)
		r.patch("web", `{"spec":{"replicas":0}}`)
		Expect(r.wire.taken()).To(Equal(writes("-web-0 ~configsets/web/status")))
		r.expectComplete("web", 0)
		r.quiet()
	})

	bubble.It("brings new data to all children", func() {
		r := newRig()
		r.run(ops.Options{})
		r.set("web", 2)
		r.expectSettled("web", 2)
		r.patch("web", `{"spec":{"data":{"color":"green"}}}`)
		Expect(r.wire.taken()).To(Equal(writes("~web-0 ~web-1 ~configsets/web/status")))
		r.expectComplete("web", 2)
		r.quiet()
	})

	for _, hand := range []struct {
		does string
		do   func(*rig)
		want string
	}{
		{"edits a child", func(r *rig) { r.patchMap("web-1", `{"data":{"color":"red"}}`) }, "~web-1"},
		{"deletes a child", func(r *rig) { r.deleteMap("web-1") }, "+web-1"},
		{"takes labels off", func(r *rig) { r.patchMap("web-1", `{"metadata":{"labels":null}}`) }, "~web-1"},
		{"takes an owner off", func(r *rig) { r.patchMap("web-1", `{"metadata":{"ownerReferences":null}}`) },
			"+web-1 Conflict ~web-1"},
		{"makes a child immutable and wrong", func(r *rig) { r.patchMap("web-1", `{"immutable":true,"data":{"color":"red"}}`) }, "-web-1 +web-1"},
		{"adds what is none of our business", func(r *rig) { r.patchMap("web-1", `{"metadata":{"annotations":{"a":"b"}}}`) }, ""},
		{"makes one more child", func(r *rig) {
			set, err := r.sets.Get(r.ctx, "web", metav1.GetOptions{})
			Expect(err).NotTo(HaveOccurred())
			_, err = r.maps.Create(r.ctx, configset.Child(set, 7), metav1.CreateOptions{})
			Expect(err).NotTo(HaveOccurred())
		}, "-web-7"},
		{"writes the status", func(r *rig) {
			set, err := r.sets.Get(r.ctx, "web", metav1.GetOptions{})
			Expect(err).NotTo(HaveOccurred())
			set.Status.ReadyReplicas = 77
			_, err = r.sets.UpdateStatus(r.ctx, set, metav1.UpdateOptions{})
			Expect(err).NotTo(HaveOccurred())
		}, "~configsets/web/status"},
		{"takes the finalizer off", func(r *rig) { r.patch("web", `{"metadata":{"finalizers":null}}`) }, "~configsets/web"},
	} {
		bubble.It("repairs with no more than that what somebody by hand breaks who "+hand.does, func() {
			r := newRig()
			r.run(ops.Options{})
			r.set("web", 3)
			r.expectSettled("web", 3)
			hand.do(r)
			Expect(strings.Join(r.wire.taken(), " ")).To(Equal(strings.Join(writes(hand.want), " ")))
			r.expectComplete("web", 3)
			r.quiet()
		})
	}

	bubble.It("removes the children of a ConfigSet, then its own finalizer", func() {
		r := newRig()
		r.run(ops.Options{})
		r.set("web", 2)
		r.expectSettled("web", 2)
		r.deleteSet("web")
		Expect(r.wire.taken()).To(Equal(writes("-web-1 -web-0 ~configsets/web")))
		r.expectGone("web")
		r.quiet()
	})

	bubble.It("waits for a child that others keep", func() {
		r := newRig()
		r.run(ops.Options{})
		r.set("web", 2)
		r.expectSettled("web", 2)
		r.patchMap("web-0", `{"metadata":{"finalizers":["example.com/theirs"]}}`)
		Expect(r.wire.taken()).To(BeEmpty())
		r.deleteSet("web")
		Expect(r.wire.taken()).To(Equal(writes("-web-1 -web-0")))
		r.quiet()
		r.patchMap("web-0", `{"metadata":{"finalizers":null}}`)
		Expect(r.wire.taken()).To(Equal(writes("~configsets/web")))
		r.expectGone("web")
	})

	bubble.It("finds the orphans of a ConfigSet that was deleted by force", func() {
		r := newRig()
		r.run(ops.Options{})
		r.set("web", 2)
		r.expectSettled("web", 2)
		r.wire.set(func() {
			r.wire.meddle = func(string) { r.wire.set(func() { r.wire.meddle = nil }); r.deleteSet("web") }
		})
		r.patch("web", `{"metadata":{"finalizers":null}}`)
		Expect(r.wire.taken()).To(Equal(append([]string{"~configsets/web Not Found"}, writes("-web-0 -web-1")...)))
		r.expectGone("web")
		r.quiet()
	})

	bubble.It("keeps its hands off what belongs to others, says so, and does not hurry", func() {
		r := newRig()
		r.run(ops.Options{})
		foreign := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "web-1"}, Data: map[string]string{"of": "somebody"}}
		_, err := r.maps.Create(r.ctx, foreign, metav1.CreateOptions{})
		Expect(err).NotTo(HaveOccurred())
		r.wire.taken()
		r.set("web", 3)
		time.Sleep(time.Hour)
		all := r.wire.taken()
		first := append(writes("~configsets/web +web-0"), "+configmaps/web-1 Conflict")
		Expect(all[:5]).To(Equal(append(first, writes("+web-2 ~configsets/web/status")...)))
		Expect(len(all)).To(BeNumerically("<", 140), "a try each half minute")
		Expect(all[5:]).To(HaveEach("+configmaps/web-1 Conflict"))
		set, err := r.sets.Get(r.ctx, "web", metav1.GetOptions{})
		Expect(err).NotTo(HaveOccurred())
		Expect(set.Status.ReadyReplicas).To(BeEquivalentTo(2))
		Expect(set.Status.Conditions[0].Reason).To(Equal(configset.ReasonNameTaken))

		r.deleteMap("web-1")
		time.Sleep(lastRetry)
		Expect(r.wire.taken()).To(Equal(writes("+web-1 ~configsets/web/status")))
		r.expectComplete("web", 3)
	})

	bubble.It("says what the server refuses", func() {
		r := newRig()
		r.run(ops.Options{})
		r.set("web", 2, func(s *configset.ConfigSet) { s.Spec.Data = map[string]string{"no key": "x"} })
		time.Sleep(time.Minute)
		set, err := r.sets.Get(r.ctx, "web", metav1.GetOptions{})
		Expect(err).NotTo(HaveOccurred())
		Expect(set.Status.Conditions[0].Reason).To(Equal(configset.ReasonFailed))
		Expect(set.Status.Conditions[0].Message).To(ContainSubstring("no key"))
		r.wire.taken()
		time.Sleep(time.Hour)
		Expect(r.wire.taken()).To(HaveEach("+configmaps/web-0 Unprocessable Entity"))
		r.patch("web", `{"spec":{"data":{"no key":null,"key":"x"}}}`)
		synced := writes("+web-0 +web-1 ~configsets/web/status")
		Expect(r.wire.taken()).To(Equal(synced), "at once")
		r.expectComplete("web", 2)
	})
})

// expectSettled is expectComplete, and forgets what was written.
func (r *rig) expectSettled(name string, n int) {
	GinkgoHelper()
	r.wire.taken()
	r.expectComplete(name, n)
}

// expectGone checks that nothing is left of a ConfigSet.
func (r *rig) expectGone(name string) {
	GinkgoHelper()
	list, err := r.sets.List(r.ctx, metav1.ListOptions{})
	Expect(err).NotTo(HaveOccurred())
	for _, set := range list.Items {
		Expect(set.Name).NotTo(Equal(name))
	}
	Expect(r.children(&configset.ConfigSet{ObjectMeta: metav1.ObjectMeta{Name: name}})).To(BeEmpty())
}
