package apiserver

import (
	"bytes"
	"fmt"
	"strings"
	"sync"
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/listwatch/listwatch/internal/bubble"
)

var podTracking = tracking{kind: corev1.SchemeGroupVersion.WithKind("Pod")}

func patchedPod(mediaType types.PatchType, validation, data string) (*corev1.Pod, *patch, error) {
	live := &corev1.Pod{}
	live.Kind, live.APIVersion, live.Name = "Pod", "v1", "a"
	live.Spec.Containers = []corev1.Container{{Name: "c", Image: "one"}}
	p := &patch{of: podTracking, mediaType: mediaType, data: []byte(data), validation: validation, manager: "m", force: true}
	if err := p.wellFormed(); err != nil {
		return nil, p, err
	}
	if mediaType == types.ApplyYAMLPatchType {
		obj, err := p.apply(live)
		if err != nil {
			return nil, p, err
		}
		return obj.(*corev1.Pod), p, nil
	}
	obj, err := p.patched(live)
	if err != nil {
		return nil, p, err
	}
	return obj.(*corev1.Pod), p, nil
}

func TestPatchesOfAllTypesReachNestedFields(t *testing.T) {
	for mediaType, data := range map[types.PatchType]string{
		types.JSONPatchType:           `[{"op":"replace","path":"/spec/containers/0/image","value":"two"}]`,
		types.MergePatchType:          `{"spec":{"containers":[{"name":"c","image":"two"}]}}`,
		types.StrategicMergePatchType: `{"spec":{"containers":[{"name":"c","image":"two"}]}}`,
		types.ApplyYAMLPatchType:      "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {containers: [{name: c, image: two}]}",
	} {
		pod, _, err := patchedPod(mediaType, "Strict", data)
		if err != nil || len(pod.Spec.Containers) != 1 || pod.Spec.Containers[0].Image != "two" {
			t.Errorf("%s: %+v, %v", mediaType, pod, err)
		}
	}
}

func TestAStrategicPatchAddsToListsThatAMergePatchReplaces(t *testing.T) {
	const data = `{"spec":{"containers":[{"name":"d","image":"two"}]}}`
	for mediaType, want := range map[types.PatchType]int{types.MergePatchType: 1, types.StrategicMergePatchType: 2} {
		pod, _, err := patchedPod(mediaType, "", data)
		if err != nil || len(pod.Spec.Containers) != want {
			t.Errorf("%s: %+v, %v", mediaType, pod, err)
		}
	}
}

func TestPatchesThatCannotBeAppliedSayWhy(t *testing.T) {
	long := "[" + strings.Repeat(`{"op":"test","path":"/kind","value":"Pod"},`, maxPatchOperations)
	for _, c := range []struct {
		mediaType        types.PatchType
		validation, data string
		code             int32
		text             string
	}{
		{types.JSONPatchType, "", `[`, 400, "invalid JSON patch"},
		{types.JSONPatchType, "", `{}`, 400, "[]handlers.jsonPatchOp"},
		{types.JSONPatchType, "Ignore", `{}`, 400, "cannot unmarshal"},
		{types.JSONPatchType, "", `[{"op":"test","path":"/kind","value":"Node"}]`, 422, "the server rejected"},
		{types.JSONPatchType, "", strings.TrimSuffix(long, ",") + "]", 0, ""},
		{types.JSONPatchType, "", long + `{"op":"test","path":"/kind","value":"Pod"}]`, 413, "is 10000, got 10001"},
		{types.JSONPatchType, "Strict", `[{"op":"add","path":"/x","value":1}]`, 422, `unknown field "x"`},
		{types.JSONPatchType, "Strict", `[{"op":"test","path":"/kind","value":"Pod","y":1}]`, 422, `json patch unknown field "[0].y"`},
		{types.MergePatchType, "", `[]`, 400, "error decoding patch"},
		{types.MergePatchType, "", `null`, 400, "Invalid JSON Patch"},
		{types.MergePatchType, "", `{"kind":"Node"}`, 422, "(v1.Node) to (core.Pod)"},
		{types.MergePatchType, "", `{"spec":1}`, 422, "cannot unmarshal number"},
		{types.StrategicMergePatchType, "", `[]`, 400, "cannot unmarshal array"},
		{types.StrategicMergePatchType, "Ignore", `[]`, 400, "cannot unmarshal array"},
		{types.StrategicMergePatchType, "Strict", `{"x":1,"x":2}`, 422, `duplicate field "x", unknown field "x"`},
		{types.StrategicMergePatchType, "", `{"spec":{"nodeName":1}}`, 422, "patch: Invalid value"},
		{types.StrategicMergePatchType, "", `{"spec":{"containers":[{"$patch":"frob"}]}}`, 0, "frob"},
		{types.StrategicMergePatchType, "", `{"spec":{"$retainKeys":[{}]}}`, 400, "malformed strategic merge patch"},
		{types.ApplyYAMLPatchType, "", "a: b: c", 400, "error encoding patch"},
		{types.ApplyYAMLPatchType, "", "kind: Pod", 400, "invalid object type"},
	} {
		_, _, err := patchedPod(c.mediaType, c.validation, c.data)
		var code int32
		text := ""
		if err != nil {
			text = err.Error()
		}
		if known, ok := err.(apierrors.APIStatus); ok {
			code = known.Status().Code
		}
		if code != c.code || !strings.Contains(text, c.text) {
			t.Errorf("%s %.60q: %d %v, want %d %s", c.mediaType, c.data, code, err, c.code, c.text)
		}
	}
}

var _ = Describe("patching", func() {
	send := func(r *rig, query, mediaType, body string) answer {
		return r.do("PATCH", configMaps+"/a"+query, body, "Content-Type", mediaType, "User-Agent", "tester/1")
	}
	bubble.It("loses no write of many at once", func() {
		r := inBubble()
		r.configMap("a", "")
		var all sync.WaitGroup
		for i := range 20 {
			all.Go(func() {
				defer GinkgoRecover()
				got := send(r, "", string(types.MergePatchType), fmt.Sprintf(`{"data":{"k%d":"x"}}`, i))
				Expect(got.code).To(Equal(200), string(got.body))
			})
		}
		all.Wait()
		Expect(r.must(200, "GET", configMaps+"/a", "").at("data")).To(HaveLen(20))
	})
	bubble.It("is refused at another version, and never creates", func() {
		r := inBubble()
		Expect(send(r, "", string(types.MergePatchType), `{}`).code).To(Equal(404))
		r.configMap("a", "")
		Expect(send(r, "", string(types.MergePatchType), `{"metadata":{"resourceVersion":"1"}}`).code).To(Equal(409))
		Expect(send(r, "", string(types.MergePatchType), `{"metadata":{"name":"b"}}`).code).To(Equal(400))
		Expect(send(r, "", "text/plain", `{}`).code).To(Equal(415))
		Expect(send(r, "?force=true", string(types.MergePatchType), `{}`).code).To(Equal(422))
	})
	bubble.It("warns of unknown fields once", func() {
		r := inBubble()
		r.configMap("a", "")
		got := send(r, "", string(types.StrategicMergePatchType), `{"x":1}`)
		Expect(got.code).To(Equal(200))
		Expect(got.header["Warning"]).To(Equal([]string{`299 - "unknown field \"x\""`}))
	})
	bubble.It("tries without writing", func() {
		r := inBubble()
		r.configMap("a", "")
		got := send(r, "?dryRun=All", string(types.MergePatchType), `{"data":{"k":"1"}}`)
		Expect(got.at("data.k")).To(Equal("1"))
		Expect(r.must(200, "GET", configMaps+"/a", "").at("data")).To(BeNil())
	})
	bubble.It("applies: creates, conflicts, forces, gives up", func() {
		r := inBubble()
		apply := func(query, data string) answer {
			return send(r, query, string(types.ApplyYAMLPatchType), "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"+data)
		}
		Expect(apply("", "").code).To(Equal(422), "no manager")
		Expect(apply("?fieldManager=one", "data: {k: x}").code).To(Equal(201))
		Expect(apply("?fieldManager=one", "data: {k: x}").code).To(Equal(200))
		conflict := apply("?fieldManager=two", "data: {k: z}")
		Expect(conflict.code).To(Equal(409))
		Expect(conflict.at("details.causes")).To(ConsistOf(HaveKeyWithValue("reason", "FieldManagerConflict")))
		Expect(apply("?fieldManager=two&force=true", "data: {k: z}").at("data.k")).To(Equal("z"))
		Expect(apply("?fieldManager=two", "").at("data")).To(BeNil())
	})
})

// FuzzPatches: no body makes a patch panic, and what it leads to is still of the
// kind that was patched.
func FuzzPatches(f *testing.F) {
	kinds := []types.PatchType{types.JSONPatchType, types.MergePatchType, types.StrategicMergePatchType, types.ApplyYAMLPatchType}
	for i, seed := range []string{
		`[{"op":"move","from":"/spec","path":"/status"}]`, `{"metadata":{"labels":{"a":null}}}`,
		`{"spec":{"$retainKeys":["x"],"$setElementOrder/containers":[{"name":"c"}],"containers":[{"name":"c","$patch":"delete"}]}}`,
		"apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {containers: [{name: c, ports: [{containerPort: 1}]}]}",
	} {
		f.Add(i, "Strict", []byte(seed))
		f.Add(i, "", []byte(seed))
	}
	f.Fuzz(func(t *testing.T, kind int, validation string, data []byte) {
		if bytes.Contains(data, []byte("&")) && kind == 3 {
			return // anchors make small YAML large
		}
		pod, _, err := patchedPod(kinds[uint(kind)%uint(len(kinds))], validation, string(data))
		if err == nil && pod == nil {
			t.Fatal("neither an object nor an error")
		}
	})
}
