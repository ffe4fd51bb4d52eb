package protofast

import (
	"math/rand"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/apitesting/fuzzer"
	metafuzzer "k8s.io/apimachinery/pkg/apis/meta/fuzzer"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/listwatch/listwatch/reflector/internal/parts"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// generated is a type with generated code.
type generated interface {
	Marshal() ([]byte, error)
	Unmarshal([]byte) error
}

// filled is a random object.
func filled(element reflect.Type, seed int64) generated {
	object := reflect.New(element).Interface()
	fuzzer.FuzzerFor(fuzzer.MergeFuzzerFuncs(metafuzzer.Funcs), rand.NewSource(seed), scheme.Codecs).Fill(object)
	return object.(generated)
}

func TestEveryBuiltInTypeIsDecodedAsByItsGeneratedCode(t *testing.T) {
	described := map[string]bool{}
	for kind, element := range scheme.Scheme.AllKnownTypes() {
		if _, ok := reflect.New(element).Interface().(generated); !ok || kind.Version == runtime.APIVersionInternal {
			continue
		}
		d := For(element)
		if d == nil { // some tags are wrong, and some fields are of rare types
			continue
		}
		described[kind.Kind] = true
		for seed := range int64(3) {
			data, err := filled(element, seed).Marshal()
			if err != nil {
				t.Fatal(err)
			}
			compare(t, d, element, data, true)
		}
	}
	for _, kind := range []string{"Pod", "Node", "Secret", "ConfigMap", "Service", "EndpointSlice", "Event", "Lease", "Deployment", "ReplicaSet", "Job"} {
		if !described[kind] {
			t.Errorf("%s is not described by its tags", kind)
		}
	}
}

// decoder is a Decoder or a Sharer.
type decoder interface {
	Decode(data []byte, object any) error
}

// compare decodes both ways. What Decode accepts must be fine and equal, where
// nil is not what is empty.
func compare(t *testing.T, d decoder, element reflect.Type, data []byte, valid bool) {
	t.Helper()
	before := string(data)
	got, want := reflect.New(element).Interface(), reflect.New(element).Interface()
	gotErr, wantErr := d.Decode(data, got), want.(generated).Unmarshal(data)
	if gotErr != nil && !valid {
		return
	}
	if gotErr != nil || wantErr != nil {
		t.Fatalf("%v: %v, by generated code %v", element, gotErr, wantErr)
	}
	clear(data) // of which nothing may have been kept
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%v: %s", element, cmp.Diff(want, got))
	}
	again, err := got.(generated).Marshal()
	if err != nil || valid && string(again) != before && !strings.Contains(element.String(), "List") && len(again) != len(before) {
		t.Errorf("%v: encoded again it has %d bytes, not %d: %v", element, len(again), len(before), err)
	}
}

func TestFieldsInAnyOrderAreDecodedAlike(t *testing.T) {
	element := reflect.TypeFor[corev1.Pod]()
	a, _ := filled(element, 1).Marshal()
	b, _ := filled(element, 2).Marshal()
	data := append(a, b...) // protobuf merges
	got, want := &corev1.Pod{}, &corev1.Pod{}
	if err := For(element).Decode(data, got); err != nil {
		t.Fatal(err)
	}
	if err := want.Unmarshal(data); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Error(cmp.Diff(want, got))
	}
}

func TestATypeWithoutTagsIsRefused(t *testing.T) {
	for _, element := range []reflect.Type{
		reflect.TypeFor[struct{ A string }](), reflect.TypeFor[metav1.Time](), reflect.TypeFor[string](),
		reflect.TypeFor[struct {
			A bool `protobuf:"-"`
		}](),
		reflect.TypeFor[struct {
			A float64 `protobuf:"fixed64,1,opt,name=a"`
		}](),
		reflect.TypeFor[struct {
			A []int32 `protobuf:"varint,1,rep,name=a"`
		}](),
	} {
		if For(element) != nil {
			t.Errorf("%v is accepted", element)
		}
	}
}

func FuzzWhatIsAcceptedIsDecodedAsByGeneratedCode(f *testing.F) {
	element := reflect.TypeFor[corev1.Pod]()
	for seed := range int64(5) {
		data, err := filled(element, seed).Marshal()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	d := For(element)
	f.Fuzz(func(t *testing.T, data []byte) { compare(t, d, element, data, false) })
}

func BenchmarkPod(b *testing.B) {
	element := reflect.TypeFor[corev1.Pod]()
	var all [][]byte
	for seed := range int64(20) {
		data, _ := filled(element, seed).Marshal()
		all = append(all, data)
	}
	d := For(element)
	shared := d.Sharing(parts.New(32 << 20))
	for name, decode := range map[string]func(data []byte, pod *corev1.Pod) error{
		"generated": func(data []byte, pod *corev1.Pod) error { return pod.Unmarshal(data) },
		"tables":    func(data []byte, pod *corev1.Pod) error { return d.Decode(data, pod) },
		"shared":    func(data []byte, pod *corev1.Pod) error { return shared.Decode(data, pod) },
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				if err := decode(all[i%len(all)], &corev1.Pod{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
