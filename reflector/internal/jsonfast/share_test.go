package jsonfast

import (
	"encoding/json"
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

func TestEveryBuiltInTypeIsSharedWithTheResultOfClientGo(t *testing.T) {
	table := parts.New(1 << 20)
	for kind, element := range scheme.Scheme.AllKnownTypes() {
		if _, ok := reflect.New(element).Interface().(metav1.Object); !ok || kind.Version == runtime.APIVersionInternal {
			continue
		}
		shared := For(element, likeClientGo).Sharing(table)
		for seed := range int64(2) {
			data := filled(t, element, seed)
			for range 3 { // the parts are new, come again, and are found
				compare(t, shared, element, append([]byte{}, data...), true)
			}
		}
	}
}

func TestOddTextsAndTypesAreSharedWithTheResultOfClientGo(t *testing.T) {
	element := reflect.TypeFor[odd]()
	d := For(element, likeClientGo)
	shared := d.Sharing(parts.New(1 << 20))
	for range 4 {
		for _, text := range oddTexts {
			compare(t, shared, element, []byte(text), false)
			if alone := d.Decode([]byte(text), &odd{}); (alone == nil) != (shared.Decode([]byte(text), &odd{}) == nil) {
				t.Errorf("%s is not decoded when shared, alone %v", text, alone)
			}
		}
	}
}

// sized checks the size of a part that is all of data.
func sized(t *testing.T, element reflect.Type, data []byte) {
	t.Helper()
	d, table := For(element, likeClientGo), parts.New(64<<20)
	whole := &node{op: opPointer, typ: reflect.PointerTo(element), elem: d.root}
	for i := range 3 { // from the third time on, parts of the part are found
		p := parser{data: data, sharing: sharing{table: table, containers: locate(nil, data)}}
		part := p.remember(whole, string(data))
		if part == nil {
			t.Fatalf("%s is refused", data)
		}
		least := int(element.Size()) + parts.SizeBehind(reflect.NewAt(element, part.Value).Elem())
		if part.Size < least || i == 0 && part.Size > least+len(data) {
			t.Errorf("%v: %d bytes, of %d with %d of JSON", element, part.Size, least, len(data))
		}
		if err := d.Sharing(table).Decode(data, reflect.New(element).Interface()); err != nil {
			t.Fatal(err)
		}
	}
}

func TestAPartHasTheSizeOfAllThatItRefersTo(t *testing.T) {
	for kind, element := range scheme.Scheme.AllKnownTypes() {
		if _, ok := reflect.New(element).Interface().(metav1.Object); ok && kind.Version != runtime.APIVersionInternal {
			sized(t, element, filled(t, element, 1))
		}
	}
}

func TestAPartHasItsJSONAndWhatIsNotPartOfThat(t *testing.T) {
	for data, apart := range map[string]int{
		`{"c":"aGFsbG8hIGhhbGxvIQ=="}`: 15, `{"name":"\u0061 text","Name":"\n\n\n\n\n\n\n\n"}`: 8, `{"Name":"a text"}`: 0,
	} {
		element := reflect.TypeFor[odd]()
		p := parser{data: []byte(data), sharing: sharing{table: parts.New(1 << 20), containers: locate(nil, []byte(data))}}
		part := p.remember(&node{op: opPointer, elem: For(element, likeClientGo).root}, data)
		if want := int(element.Size()) + len(data) + apart; part.Size != want {
			t.Errorf("%s: %d bytes, want %d", data, part.Size, want)
		}
	}
}

// replica is one of the pods of a deployment.
func replica(name string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Labels: map[string]string{"app": "a label of all replicas"},
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

func TestEqualPartsAreSharedAfterAWhile(t *testing.T) {
	shared := For(reflect.TypeFor[corev1.Pod](), likeClientGo).Sharing(parts.New(1 << 20))
	var pods []*corev1.Pod
	for i := range 200 { // the table may confuse two parts while it is small
		data, err := json.Marshal(replica(fmt.Sprint("pod-", i)))
		if err != nil {
			t.Fatal(err)
		}
		pod := &corev1.Pod{}
		if err := shared.Decode(data, pod); err != nil {
			t.Fatal(err)
		}
		pods = append(pods, pod)
	}
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
		if first, second, third := part(pods[0]), part(pods[198]), part(pods[199]); first == second || second != third {
			t.Errorf("%s are at %v, %v and %v", name, first, second, third)
		}
	}
	if &pods[198].Spec.Containers[0] == &pods[199].Spec.Containers[0] {
		t.Error("what differs is shared")
	}
	if list := pods[199].OwnerReferences; len(list) != cap(list) {
		t.Error("appending to a slice would write to that of others")
	}
}

// Random walk: versions of pods, some of whose parts differ, in a table that is too
// small for them, by several goroutines.
func TestSharingIsSeenInNothing(t *testing.T) {
	element := reflect.TypeFor[corev1.Pod]()
	shared := For(element, likeClientGo).Sharing(parts.New(256 << 10))
	var all sync.WaitGroup
	for seed := range uint64(3) {
		all.Go(func() {
			random := rand.New(rand.NewPCG(seed, 1))
			for range 50 {
				var members, others map[string]json.RawMessage
				for _, into := range []*map[string]json.RawMessage{&members, &others} {
					if err := json.Unmarshal(filled(t, element, int64(random.IntN(5))), into); err != nil {
						t.Error(err)
					}
				}
				for _, name := range []string{"metadata", "spec", "status"} {
					if random.IntN(2) == 0 {
						members[name] = others[name]
					}
				}
				data, err := json.Marshal(members)
				if err != nil {
					t.Error(err)
				}
				compare(t, shared, element, data, true)
			}
		})
	}
	all.Wait()
}

func TestContainersAreLocated(t *testing.T) {
	for text, want := range map[string][]container{
		`{}`:                         {{2, 1}},
		`{"a":[1,{"]":"}"}],"b":{}}`: {{26, 4}, {18, 3}, {17, 3}, {25, 4}},
		`{"a\"]":"\\"}`:              {{13, 1}},
	} {
		if got := locate(nil, []byte(text)); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
	for _, text := range []string{``, `1`, `{`, `}`, `{}}`, `{"`, `{"\`, `{"a`, `[[]`} {
		if got := locate(nil, []byte(text)); got != nil {
			t.Errorf("%s: %v", text, got)
		}
	}
}

func TestSpecialBytesAreFoundWhereverTheyAre(t *testing.T) {
	for length := range 20 {
		for at := range length + 1 {
			for c := range 256 {
				data := make([]byte, length)
				for i := range data {
					data[i] = 'a' + byte(i)<<3 | byte(i)<<7 // of all kinds, not special
				}
				want := length
				for i := range data {
					if special[data[i]] {
						want = min(want, i)
					}
				}
				if at < length {
					data[at] = byte(c)
					want = length
					for i := length - 1; i >= 0; i-- {
						if special[data[i]] {
							want = i
						}
					}
				}
				if got := plain(data, 0); got != want {
					t.Fatalf("in %q it is at %d, want %d", data, got, want)
				}
			}
		}
	}
}

func FuzzSharingIsSeenInNothing(f *testing.F) {
	element := reflect.TypeFor[odd]()
	for _, text := range oddTexts {
		f.Add([]byte(text))
	}
	d := For(element, likeClientGo)
	f.Fuzz(func(t *testing.T, data []byte) {
		shared := d.Sharing(parts.New(1 << 20))
		for range 3 {
			compare(t, shared, element, append([]byte{}, data...), false)
		}
	})
}
