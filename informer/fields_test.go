package informer

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestChangedFieldsAreNamedAsInJSON(t *testing.T) {
	for want, change := range map[string]func(*corev1.Pod){
		"":                           func(*corev1.Pod) {},
		"spec.nodeName":              func(p *corev1.Pod) { p.Spec.NodeName = "n2" },
		"metadata.labels[app]":       func(p *corev1.Pod) { p.Labels["app"] = "y" },
		"metadata.labels[a.b/c]":     func(p *corev1.Pod) { p.Labels["a.b/c"] = "y" },
		"metadata.labels[gone]":      func(p *corev1.Pod) { delete(p.Labels, "gone") },
		"metadata.annotations":       func(p *corev1.Pod) { p.Annotations = map[string]string{} },
		"spec.containers[1].image":   func(p *corev1.Pod) { p.Spec.Containers[1].Image = "i" },
		"spec.containers":            func(p *corev1.Pod) { p.Spec.Containers = p.Spec.Containers[:1] },
		"spec.priority":              func(p *corev1.Pod) { p.Spec.Priority = nil },
		"spec.hostNetwork":           func(p *corev1.Pod) { p.Spec.HostNetwork = true },
		"kind":                       func(p *corev1.Pod) { p.Kind = "Pod" },
		"metadata.creationTimestamp": func(p *corev1.Pod) { p.CreationTimestamp.Time = p.CreationTimestamp.Add(1) },
		"spec.containers[0].resources.requests[cpu]": func(p *corev1.Pod) {
			p.Spec.Containers[0].Resources.Requests["cpu"] = resource.MustParse("2")
		},
	} {
		was := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Labels: map[string]string{"app": "x", "gone": "x"}, CreationTimestamp: metav1.NewTime(time.Unix(1, 0)),
			},
			Spec: corev1.PodSpec{Priority: new(int32), Containers: []corev1.Container{{Resources: corev1.ResourceRequirements{
				Requests: corev1.ResourceList{"cpu": resource.MustParse("1")}}}, {}}},
		}
		is := was.DeepCopy()
		change(is)
		got := changedFields(was, is)
		if want == "" && got != nil || want != "" && (len(got) == 0 || got[0] != want && got[0] != want+"[0]") {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestChangedFieldsOfUnstructuredObjectsAreNamedAlike(t *testing.T) {
	was := &unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"name": "a", "labels": map[string]any{"a.b/c": "x", "app": "x"}},
		"spec":     map[string]any{"list": []any{int64(1), map[string]any{"x": math.Pi}}, "same": true},
	}}
	is := was.DeepCopy()
	is.SetLabels(map[string]string{"a.b/c": "y", "app": "y"})
	is.Object["spec"].(map[string]any)["list"].([]any)[1].(map[string]any)["x"] = 1.0
	is.Object["status"] = "new"
	want := []string{"metadata.labels.app", "metadata.labels[a.b/c]", "spec.list[1].x", "status"}
	if diff := cmp.Diff(want, changedFields(was, is)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestAtMostEightFieldsAreNamed(t *testing.T) {
	is := newThing("a", "u", 1)
	for k := range 20 {
		metav1.SetMetaDataLabel(&is.ObjectMeta, fmt.Sprint("l", k), "x")
	}
	was := newThing("a", "u", 1)
	was.Labels = map[string]string{}
	if got := changedFields(was, is); len(got) != maxFields || !slices.IsSorted(got) {
		t.Errorf("got %q", got)
	}
}

func TestNotANumberDoesNotCountAsChanged(t *testing.T) {
	type odd struct{ F float64 }
	if got := changedFields(&odd{math.NaN()}, &odd{math.NaN()}); len(got) > 0 {
		t.Errorf("got %q", got)
	}
}

// fill gives v random contents, and almost no zero values.
func fill(r *rand.Rand, v reflect.Value, depth int) {
	switch {
	case v.Type() == reflect.TypeFor[metav1.Time]():
		v.Set(reflect.ValueOf(metav1.NewTime(time.Unix(r.Int64N(1e9), 0))))
		return
	case v.Type() == reflect.TypeFor[resource.Quantity]():
		v.Set(reflect.ValueOf(*resource.NewQuantity(r.Int64N(1e9), resource.DecimalSI)))
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		if depth > 0 {
			v.Set(reflect.New(v.Type().Elem()))
			fill(r, v.Elem(), depth-1)
		}
	case reflect.Struct:
		for k := range v.NumField() {
			if v.Type().Field(k).IsExported() {
				fill(r, v.Field(k), depth)
			}
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), min(depth, r.IntN(3)), 4))
		for k := range v.Len() {
			fill(r, v.Index(k), depth-1)
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for range min(depth, r.IntN(3)) {
			key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
			fill(r, key, depth-1)
			fill(r, value, depth-1)
			v.SetMapIndex(key, value)
		}
	case reflect.String:
		v.SetString(fmt.Sprint("s", r.IntN(1000)))
	case reflect.Bool:
		v.SetBool(r.IntN(2) == 0)
	default:
		switch {
		case v.CanInt():
			v.SetInt(r.Int64N(100))
		case v.CanUint():
			v.SetUint(r.Uint64N(100))
		case v.CanFloat():
			v.SetFloat(r.Float64())
		}
	}
}

// mutate changes one thing somewhere in v; false if there was nothing to change
// where it looked.
func mutate(r *rand.Rand, v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			v.Set(reflect.New(v.Type().Elem()))
			return true
		}
		if r.IntN(5) == 0 && v.CanSet() {
			v.SetZero()
			return true
		}
		return mutate(r, v.Elem())
	case reflect.Struct:
		field := r.IntN(v.NumField())
		if v.Type() == reflect.TypeFor[metav1.Time]() {
			v.Set(reflect.ValueOf(metav1.NewTime(v.Interface().(metav1.Time).Add(time.Second))))
			return true
		}
		return v.Type().Field(field).IsExported() && mutate(r, v.Field(field))
	case reflect.Slice:
		if v.Len() > 0 && r.IntN(2) == 0 {
			return mutate(r, v.Index(r.IntN(v.Len())))
		}
		v.Set(reflect.Append(v, reflect.New(v.Type().Elem()).Elem()))
		return true
	case reflect.Map:
		if v.IsNil() {
			v.Set(reflect.MakeMap(v.Type()))
			return true
		}
		if v.Len() > 0 {
			v.SetMapIndex(v.MapKeys()[0], reflect.Value{})
			return true
		}
		v.SetMapIndex(reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem())
		return true
	case reflect.String:
		v.SetString(v.String() + "x")
	case reflect.Bool:
		v.SetBool(!v.Bool())
	default:
		switch {
		case v.CanInt():
			v.SetInt(v.Int() ^ 1)
		case v.CanUint():
			v.SetUint(v.Uint() ^ 1)
		case v.CanFloat():
			v.SetFloat(v.Float() + 1)
		default:
			return false
		}
	}
	return true
}

func TestEveryMutationIsFoundAndNothingElse(t *testing.T) {
	found := 0
	for seed := range uint64(400) {
		r := rand.New(rand.NewPCG(seed, 7))
		pod := &corev1.Pod{}
		fill(r, reflect.ValueOf(pod).Elem(), 2)
		was, ok := deepCopy(pod)
		if fields := changedFields(was, pod); !ok || len(fields) > 0 {
			t.Fatalf("seed %d: a copy differs in %q", seed, fields)
		}
		if !mutate(r, reflect.ValueOf(pod).Elem()) {
			continue
		}
		found++
		if fields := changedFields(was, pod); len(fields) != 1 {
			t.Errorf("seed %d: one change is reported as %q:\n%s", seed, fields, cmp.Diff(was, pod))
		}
	}
	if found < 200 {
		t.Errorf("only %d mutations were tried", found)
	}
}
