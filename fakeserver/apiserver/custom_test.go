package apiserver

import (
	"net/http"
	"strings"
	"sync"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/listwatch/listwatch/internal/bubble"
)

const (
	definitionsPath = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
	widgetsPath     = "/apis/example.com/v1/namespaces/default/widgets"
)

// definitionOf is one with a schema of its spec; more is added to names.
func definitionOf(name, more, properties string) string {
	kind := strings.ToUpper(name[:1]) + name[1:]
	return `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"` + name + `s.example.com"},
		"spec":{"group":"example.com","scope":"Namespaced","names":{"plural":"` + name + `s","kind":"` + kind + `"` + more + `},
		"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","properties":{
		"spec":{"type":"object","properties":{` + properties + `}}}}}}]}}`
}

func widgetOf(name, spec string) string {
	return `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"` + name + `"},"spec":` + spec + `}`
}

// condition is the status and reason of a condition of a definition.
func (r *rig) condition(name, kind string) string {
	GinkgoHelper()
	conditions, _ := r.must(200, "GET", definitionsPath+"/"+name, "").at("status.conditions").([]any)
	for _, c := range conditions {
		if at(c, "type") == kind {
			return at(c, "status").(string) + " " + at(c, "reason").(string)
		}
	}
	return ""
}

var _ = Describe("Custom resources", func() {
	bubble.It("are served again, with their objects, by the next server of the same store", func() {
		first := inBubble()
		first.must(201, "POST", definitionsPath, definitionOf("widget", "", `"n":{"type":"integer"}`))
		created := first.must(201, "POST", widgetsPath, widgetOf("a", `{"n":1}`))
		first.Close()

		second := newRig(bubble.TB(), Options{Store: first.store})
		got := second.must(200, "GET", widgetsPath+"/a", "")
		Expect(got.object()).To(Equal(created.object()))
		Expect(second.condition("widgets.example.com", "Established")).To(Equal("True InitialNamesAccepted"))
	})

	bubble.It("wait for their names until nobody else has them", func() {
		r := inBubble()
		r.must(201, "POST", definitionsPath, definitionOf("widget", "", ""))
		r.must(201, "POST", definitionsPath, definitionOf("gadget", `,"shortNames":["widget"]`, ""))
		Expect(r.condition("gadgets.example.com", "NamesAccepted")).To(Equal("False ShortNamesConflict"))
		Expect(r.condition("gadgets.example.com", "Established")).To(Equal("False NotAccepted"))
		r.must(404, "GET", "/apis/example.com/v1/namespaces/default/gadgets", "")

		r.must(200, "DELETE", definitionsPath+"/widgets.example.com", "")
		Expect(r.condition("gadgets.example.com", "Established")).To(Equal("True InitialNamesAccepted"))
		r.must(200, "GET", "/apis/example.com/v1/namespaces/default/gadgets", "")
	})

	bubble.It("are JSON and YAML, and protobuf only where they are reduced to metadata", func() {
		r := inBubble()
		r.must(201, "POST", definitionsPath, definitionOf("widget", "", ""))
		r.must(201, "POST", widgetsPath, widgetOf("a", `{}`))
		const protobuf = "application/vnd.kubernetes.protobuf"
		for accept, want := range map[string]int{
			"": 200, "application/yaml": 200, protobuf: 406, protobuf + ",application/json": 200,
			protobuf + ";as=PartialObjectMetadata;g=meta.k8s.io;v=v1": 200,
		} {
			Expect(r.do("GET", widgetsPath+"/a", "", "Accept", accept).code).To(Equal(want), accept)
		}
		sent := r.do("POST", widgetsPath, "k8s\x00", "Content-Type", protobuf)
		Expect(sent.code).To(Equal(http.StatusUnsupportedMediaType))
		Expect(sent.at("message")).To(HaveSuffix("accepted media types include: application/json, application/yaml"))
		yaml := r.do("POST", widgetsPath, "apiVersion: example.com/v1\nkind: Widget\nmetadata:\n  name: b\n", "Content-Type", "application/yaml")
		Expect(yaml.code).To(Equal(http.StatusCreated), "%s", yaml.body)
	})

	bubble.It("refuse unknown fields if they are asked to, and else warn and prune", func() {
		r := inBubble()
		r.must(201, "POST", definitionsPath, definitionOf("widget", "", `"n":{"type":"integer"}`))
		body := widgetOf("a", `{"n":1,"m":2}`)
		refused := r.must(400, "POST", widgetsPath+"?fieldValidation=Strict", body)
		Expect(refused.at("message")).To(ContainSubstring(`strict decoding error: unknown field "spec.m"`))
		warned := r.do("POST", widgetsPath, body)
		Expect(warned.header.Get("Warning")).To(Equal(`299 - "unknown field \"spec.m\""`))
		Expect(warned.at("spec")).To(Equal(map[string]any{"n": 1.0}))
		Expect(r.do("POST", widgetsPath+"?fieldValidation=Ignore", widgetOf("b", `{"m":2}`)).header.Get("Warning")).To(BeEmpty())
		dry := r.must(201, "POST", widgetsPath+"?dryRun=All", widgetOf("c", `{"n":3}`))
		Expect(dry.at("spec")).To(Equal(map[string]any{"n": 3.0}))
		r.must(404, "GET", widgetsPath+"/c", "")
	})

	bubble.It("let pass what was invalid before and does not change", func() {
		r := inBubble()
		r.must(201, "POST", definitionsPath, definitionOf("widget", "", `"n":{"type":"integer"},"m":{"type":"integer"}`))
		r.must(201, "POST", widgetsPath, widgetOf("a", `{"n":10}`))
		patch := `[{"op":"add","path":"/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/n/maximum","value":5}]`
		Expect(r.do("PATCH", definitionsPath+"/widgets.example.com", patch, "Content-Type", "application/json-patch+json").code).To(Equal(200))
		merge := func(spec string) int {
			return r.do("PATCH", widgetsPath+"/a", `{"spec":`+spec+`}`, "Content-Type", "application/merge-patch+json").code
		}
		Expect(merge(`{"m":1}`)).To(Equal(200))
		Expect(merge(`{"n":11}`)).To(Equal(422))
		Expect(merge(`{"n":4}`)).To(Equal(200))
		Expect(merge(`{"n":10}`)).To(Equal(422))
	})

	bubble.It("need a resourceVersion to be replaced", func() {
		r := inBubble()
		r.must(201, "POST", definitionsPath, definitionOf("widget", "", `"n":{"type":"integer"}`))
		created := r.must(201, "POST", widgetsPath, widgetOf("a", `{"n":1}`))
		refused := r.must(422, "PUT", widgetsPath+"/a", widgetOf("a", `{"n":2}`))
		Expect(refused.at("message")).To(ContainSubstring("metadata.resourceVersion: Invalid value: 0: must be specified for an update"))
		replaced := strings.Replace(widgetOf("a", `{"n":2}`), `"name"`, `"resourceVersion":"`+created.at("metadata.resourceVersion").(string)+`","name"`, 1)
		r.must(200, "PUT", widgetsPath+"/a", replaced)
		r.must(409, "PUT", widgetsPath+"/a", replaced)
	})

	bubble.It("are not served where their definition is refused", func() {
		r := inBubble()
		r.must(422, "POST", definitionsPath, strings.Replace(definitionOf("widget", "", ""), `"Namespaced"`, `"Nowhere"`, 1))
		r.must(201, "POST", definitionsPath+"?dryRun=All", definitionOf("widget", "", ""))
		r.must(404, "GET", "/apis/example.com", "")
	})

	bubble.It("answer in order while their definition comes, changes and goes", func() {
		r := inBubble()
		var using sync.WaitGroup
		done := make(chan struct{})
		for i, request := range []func() answer{
			func() answer { return r.do("GET", widgetsPath, "") },
			func() answer { return r.do("GET", widgetsPath+"?watch=true&timeoutSeconds=1", "") },
			func() answer {
				return r.do("POST", widgetsPath, `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"generateName":"w"}}`)
			},
			func() answer { return r.do("DELETE", widgetsPath, "") },
			func() answer { return r.do("GET", "/apis/example.com/v1", "") },
		} {
			using.Go(func() {
				defer GinkgoRecover()
				for {
					select {
					case <-done:
						return
					default:
					}
					got := request()
					Expect(got.code).To(BeElementOf(200, 201, 403, 404), "request %d: %s", i, got.body)
				}
			})
		}
		patch := `[{"op":"add","path":"/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/m","value":{"type":"integer"}}]`
		for range 10 {
			r.must(201, "POST", definitionsPath, definitionOf("widget", "", `"n":{"type":"integer"}`))
			Expect(r.do("PATCH", definitionsPath+"/widgets.example.com", patch, "Content-Type", "application/json-patch+json").code).To(Equal(200))
			r.must(200, "DELETE", definitionsPath+"/widgets.example.com", "")
			r.must(404, "GET", definitionsPath+"/widgets.example.com", "")
		}
		close(done)
		using.Wait()
	})
})
