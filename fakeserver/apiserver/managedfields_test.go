package apiserver

import (
	"encoding/json"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/listwatch/listwatch/internal/bubble"
)

func TestTheManagerIsWhoItSaysItIsOrTheProgram(t *testing.T) {
	for _, c := range []struct{ named, agent, want string }{
		{"me", "kubectl/v1.37", "me"},
		{"", "kubectl/v1.37 (linux)", "kubectl"},
		{"", "a program", "a program"},
		{"", "bad\x01name\u200b/1", "badname"},
		{"", strings.Repeat("x", 200) + "/1", strings.Repeat("x", 128)},
		{"", strings.Repeat("é", 100), strings.Repeat("é", 64)},
		{"", "", ""},
	} {
		r := httptest.NewRequest("GET", "/", nil)
		r.Header.Set("User-Agent", c.agent)
		if got := managerOf(&request{Request: r}, c.named); got != c.want {
			t.Errorf("managerOf(%q, agent %q) = %q, want %q", c.named, c.agent, got, c.want)
		}
	}
}

func TestTimesOfManagersAreKeptIfNothingElseChanges(t *testing.T) {
	object := func(data, manager string, at int64) *corev1.ConfigMap {
		stamp := metav1.Unix(at, 0)
		m := &corev1.ConfigMap{Data: map[string]string{"k": data}}
		m.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: manager, Time: &stamp}}
		return m
	}
	for _, c := range []struct {
		name string
		next *corev1.ConfigMap
		want int64
	}{
		{"the same", object("a", "m", 2), 1},
		{"another content", object("b", "m", 2), 2},
		{"another manager", object("a", "n", 2), 2},
		{"no manager", &corev1.ConfigMap{}, 0},
	} {
		if err := keepTimes(c.next, object("a", "m", 1)); err != nil {
			t.Fatal(c.name, err)
		}
		got := int64(0)
		if len(c.next.ManagedFields) > 0 {
			got = c.next.ManagedFields[0].Time.Unix()
		}
		if got != c.want {
			t.Errorf("%s: time %d, want %d", c.name, got, c.want)
		}
	}
}

func TestTrackedObjectsAreConvertedToAnyVersionOfTheirKind(t *testing.T) {
	apps := schema.GroupVersion{Group: "apps", Version: "v1beta2"}
	loose, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&corev1.Event{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Event"}, Message: "text",
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		in     runtime.Object
		target runtime.GroupVersioner
		fails  bool
	}{
		{in: &corev1.Pod{}, target: corev1.SchemeGroupVersion},
		{in: unstructuredOf(loose), target: schema.GroupVersion{Group: "events.k8s.io", Version: "v1"}},
		{in: unstructuredOf(map[string]any{"apiVersion": "apps/v1", "kind": "Deployment"}), target: apps},
		{in: &corev1.Pod{}, target: schema.GroupVersion{Version: "v9"}, fails: true},
		{in: unstructuredOf(map[string]any{"apiVersion": "v1", "kind": "Nothing"}), target: corev1.SchemeGroupVersion, fails: true},
		{in: unstructuredOf(map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "data": 1}), target: corev1.SchemeGroupVersion, fails: true},
	} {
		out, err := versionConverter{}.ConvertToVersion(c.in, c.target)
		if (err != nil) != c.fails {
			t.Errorf("%T to %v: %v", c.in, c.target, err)
		}
		if err == nil && out.GetObjectKind().GroupVersionKind().GroupVersion() != c.target {
			t.Errorf("%T to %v is a %v", c.in, c.target, out.GetObjectKind().GroupVersionKind())
		}
	}
}

var _ = Describe("managed fields", func() {
	bubble.It("belong to who wrote them", func() {
		r := inBubble()
		created := r.do("POST", configMaps+"?fieldManager=one", `{"metadata":{"name":"a","managedFields":[{"manager":"x"}]},"data":{"k":"1"}}`)
		Expect(created.code).To(Equal(201))
		Expect(managers(created)).To(Equal(map[string]string{"one": `{"f:data":{".":{},"f:k":{}}}`}))
		updated := r.do("PUT", configMaps+"/a", `{"metadata":{"name":"a"},"data":{"k":"1","l":"2"}}`, "User-Agent", "two/2")
		Expect(managers(updated)).To(Equal(map[string]string{
			"one": `{"f:data":{".":{},"f:k":{}}}`, "two": `{"f:data":{"f:l":{}}}`,
		}))
	})
	bubble.It("change nothing if only their times would", func() {
		r := inBubble()
		first := r.do("POST", configMaps, `{"metadata":{"name":"a"},"data":{"k":"1"}}`)
		time.Sleep(time.Minute)
		again := r.do("PUT", configMaps+"/a", `{"metadata":{"name":"a"},"data":{"k":"1"}}`)
		Expect(again.at("metadata")).To(Equal(first.at("metadata")))
	})
	bubble.It("of replicas go to who scales", func() {
		r := inBubble()
		const path = "/apis/apps/v1/namespaces/default/deployments"
		r.do("POST", path+"?fieldManager=one", `{"metadata":{"name":"d"},"spec":{"replicas":1,"paused":true}}`)
		scaled := r.do("PATCH", path+"/d/scale?fieldManager=two", `{"spec":{"replicas":2}}`, "Content-Type", "application/merge-patch+json")
		Expect(scaled.at("kind")).To(Equal("Scale"))
		Expect(scaled.at("metadata.managedFields")).To(BeNil())
		scaled = r.do("PUT", path+"/d/scale?fieldManager=three", `{"metadata":{"name":"d"},"spec":{"replicas":2}}`)
		Expect(scaled.code).To(Equal(200))
		got := managers(r.must(200, "GET", path+"/d", ""))
		Expect(got["two"]).To(Equal(`{"f:spec":{"f:replicas":{}}}`))
		Expect(got["one"]).To(ContainSubstring("f:paused"))
		Expect(got["one"]).NotTo(ContainSubstring("f:replicas"))
		Expect(got).NotTo(HaveKey("three"), "it changed nothing")
		applied := r.do("PATCH", path+"/d/scale?fieldManager=four", `{"apiVersion":"autoscaling/v1","kind":"Scale","metadata":{"name":"d"},"spec":{"replicas":3}}`,
			"Content-Type", "application/apply-patch+yaml")
		Expect(applied.code).To(Equal(409))
	})
	bubble.It("are those of the version that was written", func() {
		r := inBubble()
		created := r.do("POST", "/apis/apps/v1beta2/namespaces/default/deployments", `{"metadata":{"name":"d"},"spec":{"replicas":1}}`)
		Expect(created.at("metadata.managedFields")).To(ConsistOf(HaveKeyWithValue("apiVersion", "apps/v1beta2")))
		updated := r.do("PUT", "/apis/apps/v1/namespaces/default/deployments/d", `{"metadata":{"name":"d"},"spec":{"replicas":2}}`)
		Expect(updated.at("metadata.managedFields")).To(ContainElement(HaveKeyWithValue("apiVersion", "apps/v1")))
	})
})

func unstructuredOf(content map[string]any) runtime.Object {
	return &unstructured.Unstructured{Object: content}
}

// managers are the fields of each manager of the object, as text.
func managers(a answer) map[string]string {
	entries, _ := a.at("metadata.managedFields").([]any)
	fields := map[string]string{}
	for _, e := range entries {
		text, _ := json.Marshal(at(e, "fieldsV1"))
		fields[at(e, "manager").(string)] = string(text)
	}
	return fields
}
