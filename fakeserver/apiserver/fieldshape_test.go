package apiserver

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apiresource "k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

func TestAShapeHasTheFieldsButNotTheirValues(t *testing.T) {
	for _, c := range []struct{ data, want string }{
		{`{}`, `{}`},
		{`{"a":"x","b":1,"c":true,"d":null,"e":{"f":"\"}"}}`, `{"a":.,"b":.,"c":.,"d":null,"e":{"f":.}}`},
		{`{"a":["x",{"name":"y"}],"b":"z"}`, `{"a":["x",{"name":"y"}],"b":.}`},
		{`{"a":[],"b":[[1]],"c":2}`, `{"a":[],"b":[[1]],"c":.}`},
		{`{"a,]}":"b\\"}`, `{"a,]}":.}`},
	} {
		if got := shapeOf([]byte(c.data)); string(got) != c.want {
			t.Errorf("%s: %s, want %s", c.data, got, c.want)
		}
	}
}

// randomPod has few shapes and many values.
func randomPod(r *rand.Rand) *corev1.Pod {
	word := func() string { return fmt.Sprint("w", r.IntN(3)) }
	maybe := func(do func()) {
		if r.IntN(2) == 0 {
			do()
		}
	}
	pod := &corev1.Pod{}
	pod.Kind, pod.APIVersion, pod.Name = "Pod", "v1", fmt.Sprint("p", r.Int())
	maybe(func() { pod.Labels = map[string]string{word(): fmt.Sprint(r.Int())} })
	maybe(func() { pod.Annotations = map[string]string{word(): fmt.Sprint(r.Int()), word(): ""} })
	maybe(func() { pod.Finalizers = []string{word()} })
	maybe(func() { pod.Spec.NodeName = word() })
	maybe(func() { pod.Spec.SecurityContext = &corev1.PodSecurityContext{} })
	maybe(func() { pod.Spec.Tolerations = []corev1.Toleration{{Key: word()}} })
	maybe(func() { pod.Spec.NodeSelector = map[string]string{word(): word()} })
	maybe(func() {
		pod.OwnerReferences = []metav1.OwnerReference{{Name: word(), UID: "1"}}
	})
	for range r.IntN(3) {
		c := corev1.Container{Name: fmt.Sprint("c", len(pod.Spec.Containers)), Image: word()}
		maybe(func() { c.Ports = []corev1.ContainerPort{{ContainerPort: int32(80 + r.IntN(2)), Protocol: "TCP"}} })
		maybe(func() { c.Env = []corev1.EnvVar{{Name: word(), Value: word()}} })
		maybe(func() { c.Args = []string{word(), word()} })
		maybe(func() { c.Resources.Requests = corev1.ResourceList{"cpu": apiresource.MustParse("1")} })
		maybe(func() {
			get := &corev1.HTTPGetAction{Port: intstr.FromInt32(1)}
			c.LivenessProbe = &corev1.Probe{ProbeHandler: corev1.ProbeHandler{HTTPGet: get}}
		})
		pod.Spec.Containers = append(pod.Spec.Containers, c)
	}
	maybe(func() { pod.Status.Phase = "Running" })
	return pod
}

// The oracle is what is kept of nothing.
func TestFieldsByShapeAreThoseOfTheObject(t *testing.T) {
	seed := rand.Uint64()
	t.Log("seed", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	of := tracking{kind: corev1.SchemeGroupVersion.WithKind("Pod")}
	for range 500 {
		pod := randomPod(r)
		got, want := pod.DeepCopy(), pod.DeepCopy()
		empty := &corev1.Pod{TypeMeta: pod.TypeMeta}
		if err := trackNew(of, pod.DeepCopy(), got, "m"); err != nil {
			t.Fatal(err)
		}
		if err := trackFields(of, empty, pod.DeepCopy(), want, "m"); err != nil {
			t.Fatal(err)
		}
		for _, p := range []*corev1.Pod{got, want} {
			for i := range p.ManagedFields {
				p.ManagedFields[i].Time = nil
			}
		}
		a, _ := json.Marshal(got)
		b, _ := json.Marshal(want)
		if string(a) != string(b) {
			t.Fatalf("got  %s\nwant %s", a, b)
		}
	}
}

func TestManagedFieldsThatWereSentAreNotKeptByShape(t *testing.T) {
	of := tracking{kind: corev1.SchemeGroupVersion.WithKind("ConfigMap")}
	for _, manager := range []string{"one", "two"} {
		sent := &corev1.ConfigMap{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}}
		sent.ManagedFields = []metav1.ManagedFieldsEntry{{
			Manager: "other", Operation: "Update", APIVersion: "v1", FieldsType: "FieldsV1",
			FieldsV1: metav1.NewFieldsV1(`{"f:data":{}}`),
		}}
		want := sent.DeepCopy()
		got := sent.DeepCopy()
		if err := trackNew(of, sent.DeepCopy(), got, manager); err != nil {
			t.Fatal(err)
		}
		if err := trackFields(of, &corev1.ConfigMap{TypeMeta: sent.TypeMeta}, sent.DeepCopy(), want, manager); err != nil {
			t.Fatal(err)
		}
		a, _ := json.Marshal(got)
		b, _ := json.Marshal(want)
		if string(a) != string(b) {
			t.Errorf("%s: got  %s\nwant %s", manager, a, b)
		}
	}
}

func FuzzShapes(f *testing.F) {
	f.Add([]byte(`{"a":["x",{"name":"y\\\""}],"b":null,"c":-1.5e3}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var value any
		if json.Unmarshal(data, &value) != nil {
			return
		}
		compact, err := json.Marshal(value)
		if err != nil {
			return
		}
		if shape := shapeOf(compact); len(shape) > len(compact) {
			t.Fatalf("%s is longer than %s", shape, compact)
		}
	})
}
