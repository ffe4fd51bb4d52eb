package apiserver

import (
	"fmt"
	"net/http"
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/listwatch/listwatch/internal/bubble"
)

var _ = Describe("listing", func() {
	bubble.It("is in order of names and says its version, and items do not say their kind", func() {
		r := inBubble()
		r.configMap("b", "")
		last := r.configMap("a", "")
		list := r.must(200, "GET", configMaps, "")
		Expect(list.names()).To(Equal([]string{"a", "b"}))
		Expect(list.at("kind")).To(Equal("ConfigMapList"))
		Expect(list.at("metadata.resourceVersion")).To(Equal(last))
		Expect(list.object()["items"].([]any)[0]).NotTo(HaveKey("kind"))
	})
	bubble.It("of nothing has an empty list of items", func() {
		Expect(string(inBubble().must(200, "GET", configMaps, "").body)).To(ContainSubstring(`"items":[]`))
	})
	bubble.It("comes in pages of one version", func() {
		r := inBubble()
		for i := range 5 {
			r.configMap(fmt.Sprint("a", i), "")
		}
		first := r.must(200, "GET", configMaps+"?limit=2", "")
		Expect(first.at("metadata.remainingItemCount")).To(BeEquivalentTo(3))
		r.configMap("a9", "")
		second := r.must(200, "GET", fmt.Sprint(configMaps, "?limit=10&continue=", first.at("metadata.continue")), "")
		Expect(second.names()).To(Equal([]string{"a2", "a3", "a4"}))
		Expect(second.at("metadata.resourceVersion")).To(Equal(first.at("metadata.resourceVersion")))
	})
	bubble.It("spans namespaces, or one", func() {
		r := inBubble()
		r.configMap("a", "")
		r.must(201, "POST", "/api/v1/namespaces/kube-system/configmaps", `{"metadata":{"name":"b"}}`)
		Expect(r.must(200, "GET", "/api/v1/configmaps", "").names()).To(Equal([]string{"a", "b"}))
		Expect(r.must(200, "GET", configMaps, "").names()).To(Equal([]string{"a"}))
		Expect(r.must(200, "GET", "/api/v1/configmaps?fieldSelector=metadata.namespace%3Dkube-system", "").names()).To(Equal([]string{"b"}))
		Expect(r.must(200, "GET", "/api/v1/configmaps?fieldSelector=metadata.name%3Da", "").names()).To(Equal([]string{"a"}))
	})
	bubble.It("of one key at an exact version asks the store for that key, as a real server does", func() {
		r := inBubble()
		r.must(200, "GET", "/api/v1/namespaces", "") // so that its cache has the history
		old := r.configMap("a", "")
		r.configMap("b", "")
		exact := "?resourceVersionMatch=Exact&resourceVersion=" + old
		const name, namespace = "metadata.name%3D", "metadata.namespace%3D"
		for path, want := range map[string]struct {
			names  []string
			stored bool
		}{
			configMaps + exact + "&fieldSelector=" + name + "a":                                           {[]string{"a"}, true},
			"/api/v1/configmaps" + exact + "&fieldSelector=" + namespace + "default," + name + "a":        {[]string{"a"}, true},
			"/api/v1/configmaps" + exact + "&fieldSelector=" + namespace + "kube-system," + name + "a":    {[]string{}, true},
			"/api/v1/configmaps" + exact + "&fieldSelector=" + name + "a":                                 {[]string{"a"}, false},
			"/api/v1/namespaces" + exact + "&fieldSelector=" + name + "default":                           {[]string{"default"}, true},
			"/api/v1/namespaces" + exact + "&fieldSelector=" + name + "nowhere":                           {[]string{}, true},
			"/api/v1/namespaces" + exact + "&labelSelector=kubernetes.io/metadata.name%3Ddefault&limit=1": {[]string{"default"}, false},
		} {
			before := r.metric("etcd_requests_total{")
			Expect(r.must(200, "GET", path, "").names()).To(Equal(want.names), path)
			asked := !slices.Equal(before, r.metric("etcd_requests_total{"))
			Expect(asked).To(Equal(want.stored), path)
		}
	})
	bubble.It("selects pods by their node and phase", func() {
		r := inBubble()
		pods := "/api/v1/namespaces/default/pods"
		r.must(201, "POST", pods, `{"metadata":{"name":"p"},"spec":{"nodeName":"n1","containers":[]}}`)
		r.must(201, "POST", pods, `{"metadata":{"name":"q"},"spec":{"containers":[]}}`)
		Expect(r.must(200, "GET", pods+"?fieldSelector=spec.nodeName%3Dn1", "").names()).To(Equal([]string{"p"}))
		Expect(r.must(200, "GET", pods+"?fieldSelector=spec.nodeName%3D", "").names()).To(Equal([]string{"q"}))
		Expect(r.must(200, "GET", pods+"?fieldSelector=status.phase%3DPending", "").names()).To(Equal([]string{"p", "q"}))
		Expect(r.must(400, "GET", pods+"?fieldSelector=spec.foo%3Dn1", "").at("message")).To(Equal("field label not supported: spec.foo"))
	})
	bubble.It("can be reduced to metadata", func() {
		r := inBubble()
		r.configMap("a", "")
		got := r.do("GET", configMaps, "", "Accept", "application/vnd.kubernetes.protobuf;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1")
		Expect(got.code).To(Equal(200))
		list, _, err := metaCodec.Decode(got.body, nil, nil)
		Expect(err).NotTo(HaveOccurred())
		Expect(list.(*metav1.PartialObjectMetadataList).Items[0].Name).To(Equal("a"))
		got = r.do("GET", configMaps, "", "Accept", "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1")
		Expect(got.code).To(Equal(http.StatusNotAcceptable))
		Expect(got.at("message")).To(Equal("you requested PartialObjectMetadata, but the requested object is a list (*core.ConfigMapList)"))
	})
	bubble.It("ahead of the server says so after a while, and when to come again", func() {
		got := inBubble().do("GET", configMaps+"?resourceVersion=99999", "")
		Expect(got.code).To(Equal(http.StatusGatewayTimeout))
		Expect(got.header.Get("Retry-After")).To(Equal("1"))
		Expect(got.at("message")).To(HavePrefix("Timeout: Too large resource version: 99999, current: "))
	})
	DescribeTable("refuses options", func(query, message string) {
		bubble.Run(func() {
			got := inBubble().do("GET", configMaps+"?"+query, "")
			Expect(got.code).To(Equal(http.StatusUnprocessableEntity))
			Expect(got.at("message")).To(Equal(`ListOptions.meta.k8s.io "" is invalid: ` + message))
			Expect(got.at("reason")).To(Equal("Invalid"))
			Expect(got.at("details.group")).To(Equal("meta.k8s.io"))
		})
	},
		Entry("a match without a version", "resourceVersionMatch=Exact",
			"resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided"),
		Entry("a match with a token", "resourceVersionMatch=Exact&resourceVersion=1&continue=x",
			"resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden when continue is provided"),
		Entry("an unknown match", "resourceVersionMatch=Foo&resourceVersion=1",
			`resourceVersionMatch: Unsupported value: "Foo": supported values: "Exact", "NotOlderThan", ""`),
		Entry("exactly zero", "resourceVersionMatch=Exact&resourceVersion=0",
			`resourceVersionMatch: Forbidden: resourceVersionMatch "exact" is forbidden for resourceVersion "0"`),
		Entry("initial events", "sendInitialEvents=true", "sendInitialEvents: Forbidden: sendInitialEvents is forbidden for list"),
	)
	DescribeTable("refuses values", func(query, message string) {
		bubble.Run(func() {
			got := inBubble().do("GET", configMaps+"?"+query, "")
			Expect(got.code).To(Equal(http.StatusBadRequest))
			Expect(got.at("message")).To(Equal(message))
			Expect(got.at("details")).To(BeNil())
		})
	},
		Entry("a limit", "limit=abc", `strconv.ParseInt: parsing "abc": invalid syntax`),
		Entry("a field selector", "fieldSelector=metadata.name%3Da%3Db", "invalid field selector: unescaped character in value: 61"),
		Entry("a token", "limit=1&continue=abc",
			"invalid continue token: continue key is not valid: invalid character 'i' looking for beginning of value"),
		Entry("a version", "resourceVersion=abc",
			`invalid resource version: resourceVersion: Invalid value: "abc": strconv.ParseUint: parsing "abc": invalid syntax`),
	)
})
