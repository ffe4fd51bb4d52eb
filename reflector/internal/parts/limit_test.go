package parts_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"runtime"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/listwatch/listwatch/reflector/internal/jsonfast"
	"github.com/listwatch/listwatch/reflector/internal/parts"
	"github.com/listwatch/listwatch/reflector/internal/protofast"
)

// affine has a large part, and one within it that other pods have too.
func affine(outer, inner string) *corev1.Pod {
	terms := make([]corev1.PodAffinityTerm, 60)
	terms[0].TopologyKey = inner
	return &corev1.Pod{Spec: corev1.PodSpec{Affinity: &corev1.Affinity{
		PodAffinity:     &corev1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: terms},
		PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{TopologyKey: outer}}},
	}}}
}

// heap is how much is alive.
func heap() int {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

// Inner parts come first, are found in outer ones that are used ever after, and
// forgotten themselves.
func TestPartsOfPartsStayWithinTheLimitWhenTheyAreForgotten(t *testing.T) {
	const limit = 1 << 20
	element := reflect.TypeFor[corev1.Pod]()
	for name, codec := range map[string]struct {
		encode func(pod *corev1.Pod) ([]byte, error)
		decode func(data []byte, pod any) error
	}{
		"protobuf": {(*corev1.Pod).Marshal, protofast.For(element).Sharing(parts.New(limit)).Decode},
		"JSON": {
			func(pod *corev1.Pod) ([]byte, error) { return json.Marshal(pod) },
			jsonfast.For(element, func(data []byte, into any) error { return json.Unmarshal(data, into) }).Sharing(parts.New(limit)).Decode,
		},
	} {
		t.Run(name, func(t *testing.T) {
			decode := func(outer, inner any) {
				data, err := codec.encode(affine(fmt.Sprint(outer), fmt.Sprint(inner)))
				if err == nil {
					err = codec.decode(data, &corev1.Pod{})
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			decode("", "") // what decoders make once
			before := heap()
			for i := range 300 {
				for n := range 3 {
					decode(fmt.Sprint("once ", n), i)
				}
				for range 2 {
					decode("often", i)
				}
				if i%10 == 0 {
					for k := range i {
						decode("often", k)
					}
				}
			}
			if alive := heap() - before; alive > limit*5/4 {
				t.Errorf("%d KB are alive, the limit is %d KB", alive>>10, limit>>10)
			}
			runtime.KeepAlive(codec)
		})
	}
}
