package apiserver

import (
	"bytes"
	"net/http"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	"github.com/listwatch/listwatch/internal/bubble"
)

const deployments = "/apis/apps/v1/namespaces/default/deployments"

const deployment = `{"metadata":{"name":"d"},"spec":{"replicas":2,"selector":{"matchLabels":{"a":"b"}},
	"template":{"metadata":{"labels":{"a":"b"}}}}}`

// edited is a body with a replacement made in it.
func edited(a answer, old, replacement string) string {
	Expect(string(a.body)).To(ContainSubstring(old))
	return strings.ReplaceAll(string(a.body), old, replacement)
}

var _ = Describe("creating", func() {
	bubble.It("answers 201 with what the server sets", func() {
		r := inBubble()
		created := r.must(201, "POST", configMaps, `{"metadata":{"name":"a"},"data":{"k":"v"}}`)
		Expect(created.header.Get("Content-Type")).To(Equal("application/json"))
		Expect(created.at("kind")).To(Equal("ConfigMap"))
		Expect(created.at("apiVersion")).To(Equal("v1"))
		Expect(created.at("metadata.namespace")).To(Equal("default"))
		Expect(created.at("metadata.uid")).To(HaveLen(36))
		Expect(created.at("metadata.creationTimestamp")).To(Equal("2000-01-01T00:00:00Z"))
		Expect(created.at("metadata.generation")).To(BeNil())
		read := r.must(200, "GET", configMaps+"/a", "")
		Expect(read.body).To(Equal(created.body))
	})
	bubble.It("counts generations where there is a spec and a status, which it ignores", func() {
		r := inBubble()
		created := r.must(201, "POST", deployments, strings.Replace(deployment, `"spec"`, `"status":{"replicas":9},"spec"`, 1))
		Expect(created.at("metadata.generation")).To(BeEquivalentTo(1))
		Expect(created.at("status.replicas")).To(BeNil())
	})
	bubble.It("generates names", func() {
		r := inBubble()
		created := r.must(201, "POST", configMaps, `{"metadata":{"generateName":"a-"}}`)
		Expect(created.at("metadata.name")).To(MatchRegexp("^a-[a-z0-9]{5}$"))
	})
	bubble.It("gives nothing away in a dry run", func() {
		r := inBubble()
		Expect(r.must(201, "POST", configMaps+"?dryRun=All", `{"metadata":{"name":"a"}}`).at("metadata.resourceVersion")).To(BeNil())
		r.must(404, "GET", configMaps+"/a", "")
	})
	DescribeTable("refuses", func(code int, path, body, message string) {
		bubble.Run(func() {
			r := inBubble()
			r.configMap("taken", "")
			Expect(r.must(code, "POST", path, body).at("message")).To(Equal(message))
		})
	},
		Entry("a name that is taken", 409, configMaps, `{"metadata":{"name":"taken"}}`, `configmaps "taken" already exists`),
		Entry("no name", 422, configMaps, `{}`, `ConfigMap "" is invalid: metadata.name: Required value: name or generateName is required`),
		Entry("a namespace that is not there", 404, "/api/v1/namespaces/x/configmaps", `{"metadata":{"name":"a"}}`, `namespaces "x" not found`),
		Entry("another namespace", 400, configMaps, `{"metadata":{"name":"a","namespace":"x"}}`,
			"the namespace of the provided object does not match the namespace sent on the request"),
		Entry("another kind", 400, configMaps, `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"a"}}`,
			`Secret in version "v1" cannot be handled as a ConfigMap: converting (v1.Secret) to (core.ConfigMap): unknown conversion`),
		Entry("half a body", 400, configMaps, `{`,
			"the object provided is unrecognized (must be of type ConfigMap): couldn't get version/kind; json parse error: unexpected end of JSON input ({)"),
		Entry("unknown fields when asked to", 400, configMaps+"?fieldValidation=Strict", `{"metadata":{"name":"a"},"foo":1}`,
			`ConfigMap in version "v1" cannot be handled as a ConfigMap: strict decoding error: unknown field "foo"`),
		Entry("a request that is not under a namespace", 405, "/api/v1/configmaps", `{}`,
			"the server does not allow this method on the requested resource"),
	)
	bubble.It("refuses a body beyond the limit with 413", func() {
		r := newRig(bubble.TB(), Options{BodyLimit: 100})
		got := r.do("POST", configMaps, `{"metadata":{"name":"a"},"data":{"k":"`+strings.Repeat("x", 100)+`"}}`)
		Expect(got.code).To(Equal(http.StatusRequestEntityTooLarge))
		Expect(got.at("reason")).To(Equal("RequestEntityTooLarge"))
		Expect(got.at("message")).To(ContainSubstring("limit is 100"))
	})
	bubble.It("does not look for the namespace when told so", func() {
		r := newRig(bubble.TB(), Options{AnyNamespace: true})
		r.must(201, "POST", "/api/v1/namespaces/anywhere/configmaps", `{"metadata":{"name":"a"}}`)
	})
	bubble.It("warns of unknown fields", func() {
		r := inBubble()
		got := r.must(201, "POST", configMaps, `{"metadata":{"name":"a"},"foo":1}`)
		Expect(got.header.Get("Warning")).To(Equal(`299 - "unknown field \"foo\""`))
	})
	bubble.It("understands YAML and protobuf, and answers in them", func() {
		r := inBubble()
		got := r.do("POST", configMaps, "metadata:\n  name: yam\n", "Content-Type", "application/yaml", "Accept", "application/yaml")
		Expect(got.code).To(Equal(201), "%s", got.body)
		Expect(string(got.body)).To(HavePrefix("apiVersion: v1\nkind: ConfigMap\n"))

		object := &corev1.ConfigMap{Data: map[string]string{"k": "v"}}
		object.Name = "p"
		object.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMap"))
		var body bytes.Buffer
		Expect(protobufCodec.Encode(object, &body)).To(Succeed())
		proto := formatProtobuf.String()
		got = r.do("POST", configMaps, body.String(), "Content-Type", proto, "Accept", proto)
		Expect(got.code).To(Equal(201), "%s", got.body)
		back, _, err := protobufCodec.Decode(got.body, nil, nil)
		Expect(err).NotTo(HaveOccurred())
		Expect(back.(*corev1.ConfigMap).Data).To(Equal(object.Data))
	})
})

var _ = Describe("updating", func() {
	bubble.It("writes only over the version that it was made from", func() {
		r := inBubble()
		r.configMap("a", "")
		first := r.must(200, "GET", configMaps+"/a", "")
		second := r.must(200, "PUT", configMaps+"/a", edited(first, `"metadata":{`, `"data":{"k":"1"},"metadata":{`))
		Expect(second.at("metadata.resourceVersion")).NotTo(Equal(first.at("metadata.resourceVersion")))
		conflict := r.must(409, "PUT", configMaps+"/a", string(first.body))
		Expect(conflict.at("message")).To(Equal(`Operation cannot be fulfilled on configmaps "a": the object has been modified; ` +
			`please apply your changes to the latest version and try again`))
		Expect(conflict.at("reason")).To(Equal("Conflict"))
	})
	bubble.It("writes unconditionally without a version, and nothing when nothing changes", func() {
		r := inBubble()
		version := r.configMap("a", `,"labels":{"x":"1"}`)
		same := r.must(200, "PUT", configMaps+"/a", `{"metadata":{"name":"a","labels":{"x":"1"}}}`)
		Expect(same.at("metadata.resourceVersion")).To(Equal(version))
		changed := r.must(200, "PUT", configMaps+"/a", `{"metadata":{"name":"a"}}`)
		Expect(changed.at("metadata.resourceVersion")).NotTo(Equal(version))
		Expect(changed.at("metadata.labels")).To(BeNil())
		Expect(changed.at("metadata.uid")).To(Equal(same.at("metadata.uid")))
	})
	bubble.It("creates what is missing only where a real server does", func() {
		r := inBubble()
		r.must(404, "PUT", configMaps+"/a", `{"metadata":{"name":"a"}}`)
		lease := "/apis/coordination.k8s.io/v1/namespaces/default/leases/l"
		r.must(201, "PUT", lease, `{"metadata":{"name":"l"}}`)
		refused := r.must(422, "PUT", lease, `{"metadata":{"name":"l"}}`)
		Expect(refused.at("message")).To(ContainSubstring("metadata.resourceVersion"))
	})
	DescribeTable("refuses", func(code int, body, message string) {
		bubble.Run(func() {
			r := inBubble()
			r.configMap("a", "")
			Expect(r.must(code, "PUT", configMaps+"/a", body).at("message")).To(HavePrefix(message))
		})
	},
		Entry("another name", 400, `{"metadata":{"name":"b"}}`, "the name of the object (b) does not match the name on the URL (a)"),
		Entry("another namespace", 400, `{"metadata":{"name":"a","namespace":"b"}}`,
			"the namespace of the object (b) does not match the namespace on the request (default)"),
		Entry("another uid", 409, `{"metadata":{"name":"a","uid":"1"}}`,
			`Operation cannot be fulfilled on configmaps "a": StorageError: invalid object, Code: 4, Key: /registry/configmaps/default/a`),
		Entry("a deletion by hand", 422, `{"metadata":{"name":"a","deletionTimestamp":"2001-01-01T00:00:00Z"}}`,
			`ConfigMap "a" is invalid: metadata.deletionTimestamp`),
	)
})

var _ = Describe("subresources", func() {
	bubble.It("status changes the status and no more", func() {
		r := inBubble()
		r.must(201, "POST", deployments, deployment)
		got := r.must(200, "PUT", deployments+"/d/status",
			`{"metadata":{"name":"d","labels":{"l":"1"}},"spec":{"replicas":9},"status":{"replicas":3}}`)
		Expect(got.at("spec.replicas")).To(BeEquivalentTo(2))
		Expect(got.at("status.replicas")).To(BeEquivalentTo(3))
		Expect(got.at("metadata.generation")).To(BeEquivalentTo(1))
		got = r.must(200, "PUT", deployments+"/d", edited(got, `"replicas":2`, `"replicas":5`))
		Expect(got.at("metadata.generation")).To(BeEquivalentTo(2))
		Expect(got.at("status.replicas")).To(BeEquivalentTo(3))
		got = r.must(200, "PUT", deployments+"/d", edited(got, `"replicas":3`, `"replicas":4`))
		Expect(got.at("status.replicas")).To(BeEquivalentTo(3))
	})
	bubble.It("scale shows and sets the replicas", func() {
		r := inBubble()
		r.must(201, "POST", deployments, deployment)
		scale := r.must(200, "GET", deployments+"/d/scale", "")
		Expect(scale.at("kind")).To(Equal("Scale"))
		Expect(scale.at("apiVersion")).To(Equal("autoscaling/v1"))
		Expect(scale.at("spec.replicas")).To(BeEquivalentTo(2))
		Expect(scale.at("status.selector")).To(Equal("a=b"))
		set := r.must(200, "PUT", deployments+"/d/scale", edited(scale, `"spec":{"replicas":2}`, `"spec":{"replicas":4}`))
		Expect(set.at("spec.replicas")).To(BeEquivalentTo(4))
		r.must(409, "PUT", deployments+"/d/scale", string(scale.body))
		negative := r.must(422, "PUT", deployments+"/d/scale", `{"metadata":{"name":"d"},"spec":{"replicas":-1}}`)
		Expect(negative.at("message")).To(Equal(`Scale.autoscaling "d" is invalid: spec.replicas: Invalid value: -1: ` +
			`must be greater than or equal to 0`))
		Expect(r.must(200, "GET", deployments+"/d", "").at("metadata.generation")).To(BeEquivalentTo(2))
	})
	bubble.It("scale of an old version has its selector elsewhere", func() {
		r := inBubble()
		extensions := "/apis/extensions/v1beta1/namespaces/default/deployments"
		r.must(201, "POST", extensions, deployment)
		old := r.must(200, "GET", extensions+"/d/scale", "")
		Expect(old.at("apiVersion")).To(Equal("extensions/v1beta1"))
		Expect(old.at("status.targetSelector")).To(Equal("a=b"))
	})
	bubble.It("are 404 where there are none", func() {
		r := inBubble()
		r.configMap("a", "")
		r.must(404, "GET", configMaps+"/a/status", "")
		r.must(404, "GET", configMaps+"/a/scale", "")
		r.must(405, "GET", "/api/v1/namespaces/default/finalize", "")
	})
})
