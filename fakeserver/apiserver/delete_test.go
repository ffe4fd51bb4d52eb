package apiserver

import (
	"fmt"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/listwatch/listwatch/internal/bubble"
)

var _ = Describe("deleting", func() {
	bubble.It("answers with a Status that names the object", func() {
		r := inBubble()
		r.configMap("a", "")
		got := r.must(200, "DELETE", configMaps+"/a", "")
		Expect(got.at("kind")).To(Equal("Status"))
		Expect(got.at("status")).To(Equal("Success"))
		Expect(got.at("details.name")).To(Equal("a"))
		Expect(got.at("details.kind")).To(Equal("configmaps"))
		Expect(got.at("details.uid")).To(HaveLen(36))
		r.must(404, "DELETE", configMaps+"/a", "")
	})
	bubble.It("waits for finalizers, whoever removes them", func() {
		r := inBubble()
		r.configMap("a", `,"finalizers":["example.com/f"]`)
		marked := r.must(200, "DELETE", configMaps+"/a", "")
		Expect(marked.at("kind")).To(Equal("ConfigMap"))
		Expect(marked.at("metadata.deletionTimestamp")).To(Equal("2000-01-01T00:00:00Z"))
		Expect(marked.at("metadata.deletionGracePeriodSeconds")).To(BeEquivalentTo(0))
		again := r.must(200, "DELETE", configMaps+"/a", "")
		Expect(again.body).To(Equal(marked.body))
		Expect(r.must(409, "POST", configMaps, `{"metadata":{"name":"a"}}`).at("message")).
			To(Equal(`object is being deleted: configmaps "a" already exists`))
		last := r.must(200, "PUT", configMaps+"/a", edited(marked, `"finalizers":["example.com/f"]`, `"finalizers":[]`))
		Expect(last.at("metadata.resourceVersion")).To(Equal(marked.at("metadata.resourceVersion")))
		r.must(404, "GET", configMaps+"/a", "")
	})
	bubble.It("checks preconditions", func() {
		r := inBubble()
		r.configMap("a", "")
		got := r.must(409, "DELETE", configMaps+"/a", `{"preconditions":{"resourceVersion":"1"}}`)
		Expect(got.at("message")).To(HavePrefix(`Operation cannot be fulfilled on ConfigMap "a": the ResourceVersion in the precondition (1)`))
		got = r.must(409, "DELETE", configMaps+"/a", `{"apiVersion":"v1","kind":"DeleteOptions","preconditions":{"uid":"u"}}`)
		Expect(got.at("message")).To(ContainSubstring("the UID in the precondition (u) does not match the UID in record"))
	})
	bubble.It("takes its options under any version, as they are sent by clients of the resource's own", func() {
		r := inBubble()
		for n, version := range []string{"v1", "meta.k8s.io/v1", "apps/v1", "example.com/v1"} {
			name := fmt.Sprint("a", n)
			r.configMap(name, "")
			got := r.must(409, "DELETE", configMaps+"/"+name, `{"apiVersion":"`+version+`","kind":"DeleteOptions","preconditions":{"uid":"u"}}`)
			Expect(got.at("message")).To(ContainSubstring("the UID in the precondition (u) does not match the UID in record"))
			r.must(200, "DELETE", configMaps+"/"+name, `{"apiVersion":"`+version+`","kind":"DeleteOptions"}`)
		}
		r.must(400, "DELETE", configMaps+"/a", `{"apiVersion":"v1","kind":"ConfigMap"}`)
		r.must(400, "DELETE", configMaps+"/a", `{"apiVersion":"v1","kind":"DeleteOptions","preconditions":1}`)
	})
	DescribeTable("leaves dependents to a collector", func(query string, finalizers ...any) {
		bubble.Run(func() {
			r := inBubble()
			r.configMap("a", "")
			got := r.must(200, "DELETE", configMaps+"/a?"+query, "")
			if len(finalizers) == 0 {
				Expect(got.at("kind")).To(Equal("Status"))
				return
			}
			Expect(got.at("metadata.finalizers")).To(Equal(finalizers))
		})
	},
		Entry("in the foreground", "propagationPolicy=Foreground", "foregroundDeletion"),
		Entry("orphaned", "propagationPolicy=Orphan", "orphan"),
		Entry("orphaned the old way", "orphanDependents=true", "orphan"),
		Entry("in the background", "propagationPolicy=Background"),
		Entry("as it is usual", ""),
	)
	bubble.It("gives pods that run somewhere their time", func() {
		r := inBubble()
		pods := "/api/v1/namespaces/default/pods"
		r.must(201, "POST", pods, `{"metadata":{"name":"idle"},"spec":{"containers":[]}}`)
		Expect(r.must(200, "DELETE", pods+"/idle", "").at("metadata.deletionGracePeriodSeconds")).To(BeEquivalentTo(0))
		r.must(404, "GET", pods+"/idle", "")
		r.must(201, "POST", pods, `{"metadata":{"name":"p"},"spec":{"containers":[],"nodeName":"n"}}`)
		Expect(r.must(200, "DELETE", pods+"/p", "").at("metadata.deletionTimestamp")).To(Equal("2000-01-01T00:00:30Z"))
		shorter := r.must(200, "DELETE", pods+"/p?gracePeriodSeconds=10", "")
		Expect(shorter.at("metadata.deletionTimestamp")).To(Equal("2000-01-01T00:00:10Z"))
		longer := r.must(200, "DELETE", pods+"/p?gracePeriodSeconds=60", "")
		Expect(longer.body).To(Equal(shorter.body))
		r.must(200, "DELETE", pods+"/p?gracePeriodSeconds=0", "")
		r.must(404, "GET", pods+"/p", "")
	})
	bubble.It("of a collection answers with what was there", func() {
		r := inBubble()
		r.configMap("a", `,"labels":{"x":"1"}`)
		r.configMap("b", "")
		r.configMap("c", `,"labels":{"x":"1"}`)
		Expect(r.must(200, "DELETE", configMaps+"?labelSelector=x%3D1", "").names()).To(Equal([]string{"a", "c"}))
		Expect(r.must(200, "GET", configMaps, "").names()).To(Equal([]string{"b"}))
		r.must(405, "DELETE", "/api/v1/configmaps", "")
		r.must(405, "DELETE", "/api/v1/namespaces", "")
	})
	bubble.It("does nothing in a dry run", func() {
		r := inBubble()
		r.configMap("a", "")
		r.must(200, "DELETE", configMaps+"/a?dryRun=All", "")
		r.must(200, "DELETE", configMaps+"?dryRun=All", "")
		r.must(200, "GET", configMaps+"/a", "")
	})
})

var _ = Describe("namespaces", func() {
	bubble.It("are there from the start", func() {
		r := inBubble()
		Expect(r.must(200, "GET", "/api/v1/namespaces", "").names()).
			To(Equal([]string{"default", "kube-node-lease", "kube-public", "kube-system"}))
	})
	bubble.It("are adopted when the store has them already", func() {
		r := inBubble()
		before := r.must(200, "GET", "/api/v1/namespaces/default", "")
		second, err := New(Options{Store: r.store})
		Expect(err).NotTo(HaveOccurred())
		defer second.Close()
		Expect((&rig{Server: second}).must(200, "GET", "/api/v1/namespaces/default", "").body).To(Equal(before.body))
	})
	bubble.It("terminate until they are finalized", func() {
		r := inBubble()
		created := r.must(201, "POST", "/api/v1/namespaces", `{"metadata":{"name":"n"}}`)
		Expect(created.at("status.phase")).To(Equal("Active"))
		Expect(created.at("spec.finalizers")).To(Equal([]any{"kubernetes"}))
		Expect(created.at("metadata.labels")).To(Equal(map[string]any{"kubernetes.io/metadata.name": "n"}))
		terminating := r.must(200, "DELETE", "/api/v1/namespaces/n", "")
		Expect(terminating.at("status.phase")).To(Equal("Terminating"))
		Expect(terminating.at("metadata.deletionGracePeriodSeconds")).To(BeNil())
		refused := r.must(403, "POST", "/api/v1/namespaces/n/configmaps", `{"metadata":{"name":"a"}}`)
		Expect(refused.at("message")).To(Equal(`configmaps "a" is forbidden: unable to create new content in namespace n because it is being terminated`))
		body := strings.Replace(string(terminating.body), `"finalizers":["kubernetes"]`, `"finalizers":[]`, 1)
		r.must(200, "PUT", "/api/v1/namespaces/n", body)
		r.must(200, "GET", "/api/v1/namespaces/n", "")
		r.must(200, "PUT", "/api/v1/namespaces/n/finalize", body)
		r.must(404, "GET", "/api/v1/namespaces/n", "")
	})
})
