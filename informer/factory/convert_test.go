package factory

import (
	"fmt"
	"runtime"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// somePod is a pod of about the size of most.
func somePod() *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: "default", Name: "web", UID: "u1", ResourceVersion: "1", Labels: map[string]string{}, Annotations: map[string]string{},
	}}
	for k := range 8 {
		pod.Labels[fmt.Sprint("label-", k)], pod.Annotations[fmt.Sprint("annotation-", k)] = "value", "some longer value"
	}
	for k := range 2 {
		container := corev1.Container{Name: fmt.Sprint("c", k), Image: "registry.example.com/web:1"}
		for n := range 12 {
			container.Env = append(container.Env, corev1.EnvVar{Name: fmt.Sprint("NAME_", n), Value: "value"})
		}
		pod.Spec.Containers = append(pod.Spec.Containers, container)
		pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, corev1.ContainerStatus{Name: container.Name, Image: container.Image})
	}
	return pod
}

func TestAConversionIsKeptAsLongAsSomebodyUsesIt(t *testing.T) {
	c := &conversions{kind: corev1.SchemeGroupVersion.WithKind("Pod")}
	pod := somePod()
	first := c.of(pod)
	if again := c.of(pod); again != first {
		t.Error("two readers got two objects")
	}
	newer := pod.DeepCopy()
	newer.ResourceVersion = "2"
	if c.of(newer) == first {
		t.Error("a newer version got the conversion of an older one")
	}
	bare := pod.DeepCopy()
	bare.ResourceVersion = ""
	if once, again := c.of(bare), c.of(bare); once == again {
		t.Error("objects without a version are taken for the same")
	}
	runtime.KeepAlive(first)
	held := func() int {
		c.mu.Lock()
		defer c.mu.Unlock()
		return len(c.made)
	}
	for k := 0; held() > 0; k++ { // cleanups run some time after a collection
		if k == 10_000 {
			t.Fatalf("%d conversions are kept that nobody uses", held())
		}
		runtime.GC()
		runtime.Gosched()
	}
}

func BenchmarkConversion(b *testing.B) {
	pod := somePod()
	b.Run("metadata", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			runtime.KeepAlive(metadataOf(pod))
		}
	})
	c := &conversions{kind: corev1.SchemeGroupVersion.WithKind("Pod")}
	b.Run("unstructured", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			runtime.KeepAlive(c.convert(pod))
		}
	})
	used := c.of(pod)
	b.Run("unstructured, in use", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			runtime.KeepAlive(c.of(pod))
		}
	})
	runtime.KeepAlive(used)
}
