package protofast

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"sync"
	"testing"
	"unsafe"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/listwatch/listwatch/reflector/internal/parts"
)

func TestEveryBuiltInTypeIsSharedWithTheResultOfItsGeneratedCode(t *testing.T) {
	table := parts.New(1 << 20)
	for kind, element := range scheme.Scheme.AllKnownTypes() {
		if _, ok := reflect.New(element).Interface().(generated); !ok || kind.Version == runtime.APIVersionInternal {
			continue
		}
		d := For(element)
		if d == nil {
			continue
		}
		shared := d.Sharing(table)
		for seed := range int64(2) {
			data, err := filled(element, seed).Marshal()
			if err != nil {
				t.Fatal(err)
			}
			for range 3 { // the parts are new, come again, and are found
				compare(t, shared, element, append([]byte{}, data...), true)
			}
		}
	}
}

func TestAPartHasTheSizeOfAllThatItRefersTo(t *testing.T) {
	for kind, element := range scheme.Scheme.AllKnownTypes() {
		if _, ok := reflect.New(element).Interface().(generated); !ok || kind.Version == runtime.APIVersionInternal {
			continue
		}
		d := For(element)
		if d == nil {
			continue
		}
		table := parts.New(64 << 20)
		whole := &field{op: opPointer, elem: element, size: element.Size(), sub: d.root}
		data, err := filled(element, 1).Marshal()
		if err != nil {
			t.Fatal(err)
		}
		for i := range 3 { // from the third time on, parts of the part are found
			part, err := (&state{table: table}).remember(whole, data, 0)
			if err != nil {
				t.Fatal(err)
			}
			least := int(element.Size()) + parts.SizeBehind(reflect.NewAt(element, part.Value).Elem())
			if part.Size < least || i == 0 && part.Size > least+len(data) {
				t.Errorf("%v: %d bytes, of %d with %d of protobuf", element, part.Size, least, len(data))
			}
			if err := d.Sharing(table).Decode(data, reflect.New(element).Interface()); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// replica is one of the pods of a deployment.
func replica(name string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: "default", Labels: map[string]string{"app": "a label of all replicas"},
			OwnerReferences: []metav1.OwnerReference{{Kind: "ReplicaSet", Name: "web"}},
			ManagedFields:   []metav1.ManagedFieldsEntry{{Manager: name, FieldsV1: metav1.NewFieldsV1(`{"f:a":{},"f:b":{}}`)}},
		},
		Spec: corev1.PodSpec{
			NodeName:        "a-node-with-a-long-name.internal",
			SecurityContext: &corev1.PodSecurityContext{SupplementalGroups: []int64{5}},
			Containers: []corev1.Container{{
				Name: "of " + name, Args: []string{"-v", "-x"},
				Resources: corev1.ResourceRequirements{Limits: corev1.ResourceList{"cpu": resource.MustParse("1")}},
			}},
		},
	}
}

// decoded are replicas as a Sharer decodes them.
func decoded(t *testing.T, names ...string) (pods []*corev1.Pod) {
	t.Helper()
	shared := For(reflect.TypeFor[corev1.Pod]()).Sharing(parts.New(1 << 20))
	for _, name := range names {
		data, err := replica(name).Marshal()
		if err != nil {
			t.Fatal(err)
		}
		pod := &corev1.Pod{}
		if err := shared.Decode(data, pod); err != nil {
			t.Fatal(err)
		}
		clear(data)
		pods = append(pods, pod)
	}
	return pods
}

func TestEqualPartsAreSharedAfterAWhile(t *testing.T) {
	var names []string
	for i := range 200 { // the table may confuse two parts while it is small
		names = append(names, fmt.Sprint("pod-", i))
	}
	all := decoded(t, names...)
	pods := []*corev1.Pod{all[0], all[198], all[199]}
	for name, part := range map[string]func(p *corev1.Pod) unsafe.Pointer{
		"labels":         func(p *corev1.Pod) unsafe.Pointer { return reflect.ValueOf(p.Labels).UnsafePointer() },
		"owners":         func(p *corev1.Pod) unsafe.Pointer { return unsafe.Pointer(&p.OwnerReferences[0]) },
		"managed fields": func(p *corev1.Pod) unsafe.Pointer { return unsafe.Pointer(p.ManagedFields[0].FieldsV1) },
		"node":           func(p *corev1.Pod) unsafe.Pointer { return unsafe.Pointer(unsafe.StringData(p.Spec.NodeName)) },
		"security":       func(p *corev1.Pod) unsafe.Pointer { return unsafe.Pointer(p.Spec.SecurityContext) },
		"arguments":      func(p *corev1.Pod) unsafe.Pointer { return unsafe.Pointer(&p.Spec.Containers[0].Args[0]) },
		"limits": func(p *corev1.Pod) unsafe.Pointer {
			return reflect.ValueOf(p.Spec.Containers[0].Resources.Limits).UnsafePointer()
		},
	} {
		if first, second, third := part(pods[0]), part(pods[1]), part(pods[2]); first == second || second != third {
			t.Errorf("%s are at %v, %v and %v", name, first, second, third)
		}
	}
	if &pods[1].Spec.Containers[0] == &pods[2].Spec.Containers[0] {
		t.Error("what differs is shared")
	}
	if list := pods[1].OwnerReferences; len(list) != cap(list) {
		t.Error("appending to a slice would write to that of others")
	}
}

func TestAFieldThatComesTwiceIsNotMergedIntoWhatIsShared(t *testing.T) {
	shared := For(reflect.TypeFor[corev1.Pod]()).Sharing(parts.New(1 << 20))
	data, _ := replica("a").Marshal()
	other, _ := (&corev1.Pod{Spec: corev1.PodSpec{SecurityContext: &corev1.PodSecurityContext{RunAsNonRoot: new(bool)}}}).Marshal()
	for range 4 {
		pod := &corev1.Pod{}
		if err := shared.Decode(data, pod); err != nil || pod.Spec.SecurityContext.RunAsNonRoot != nil {
			t.Fatalf("%v, %v", pod.Spec.SecurityContext, err)
		}
		if shared.Decode(append(append([]byte{}, data...), other...), &corev1.Pod{}) == nil {
			t.Error("accepted")
		}
	}
}

// Random walk: versions of pods, some of whose parts differ, in a table that is too
// small for them, by several goroutines.
func TestSharingIsSeenInNothing(t *testing.T) {
	element := reflect.TypeFor[corev1.Pod]()
	d := For(element)
	shared := d.Sharing(parts.New(256 << 10))
	var all sync.WaitGroup
	for seed := range uint64(3) {
		all.Go(func() {
			random := rand.New(rand.NewPCG(seed, 1))
			for range 50 {
				pod := filled(element, int64(random.IntN(5))).(*corev1.Pod)
				other := filled(element, int64(random.IntN(5))).(*corev1.Pod)
				if random.IntN(2) == 0 {
					pod.ObjectMeta = other.ObjectMeta
				}
				if random.IntN(2) == 0 {
					pod.Spec.Containers = other.Spec.Containers
				}
				if random.IntN(2) == 0 {
					pod.Status = other.Status
				}
				data, err := pod.Marshal()
				if err != nil {
					t.Error(err)
				}
				compare(t, shared, element, data, true)
			}
		})
	}
	all.Wait()
}

func FuzzSharingIsSeenInNothing(f *testing.F) {
	element := reflect.TypeFor[corev1.Pod]()
	for seed := range int64(5) {
		data, err := filled(element, seed).Marshal()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	d := For(element)
	f.Fuzz(func(t *testing.T, data []byte) {
		shared := d.Sharing(parts.New(1 << 20))
		for range 3 {
			compare(t, shared, element, append([]byte{}, data...), false)
		}
	})
}
