package jsonfast

import (
	"encoding/json"
	"math/rand"
	"reflect"
	"testing"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/apitesting/fuzzer"
	metafuzzer "k8s.io/apimachinery/pkg/apis/meta/fuzzer"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	kjson "sigs.k8s.io/json"

	"github.com/listwatch/listwatch/reflector/internal/parts"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// likeClientGo is how client-go decodes.
func likeClientGo(data []byte, into any) error {
	return kjson.UnmarshalCaseSensitivePreserveInts(data, into)
}

// filled is a random object as JSON.
func filled(t testing.TB, element reflect.Type, seed int64) []byte {
	t.Helper()
	object := reflect.New(element).Interface()
	fuzzer.FuzzerFor(fuzzer.MergeFuzzerFuncs(metafuzzer.Funcs), rand.NewSource(seed), scheme.Codecs).Fill(object)
	data, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestEveryBuiltInTypeIsDecodedAsClientGoDoes(t *testing.T) {
	for kind, element := range scheme.Scheme.AllKnownTypes() {
		d := For(element, likeClientGo)
		if _, ok := reflect.New(element).Interface().(metav1.Object); !ok || kind.Version == runtime.APIVersionInternal {
			continue
		}
		if d == nil {
			t.Errorf("%v cannot be decoded by tables", kind)
			continue
		}
		for seed := range int64(3) {
			compare(t, d, element, filled(t, element, seed), true)
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
	got, want := reflect.New(element).Interface(), reflect.New(element).Interface()
	gotErr, wantErr := d.Decode(data, got), likeClientGo(data, want)
	if gotErr != nil && !valid {
		return
	}
	if gotErr != nil || wantErr != nil {
		t.Fatalf("%v: %v, client-go %v\n%s", element, gotErr, wantErr, data)
	}
	clear(data) // of which nothing may have been kept
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%v: %s", element, cmp.Diff(want, got))
	}
}

// odd has what the built-in types have little of.
type odd struct {
	Embedded
	A    int32            `json:"a"`
	B    *int64           `json:"b"`
	C    []byte           `json:"c"`
	D    map[string]any   `json:"d"`
	E    [][]string       `json:"e"`
	F    float64          `json:"f"`
	G    []*bool          `json:"g"`
	H    map[string]inner `json:"h"`
	Skip string           `json:"-"`
	Name string
	I    metav1.Time  `json:"i"`
	J    *metav1.Time `json:"j"`
	K    []inner      `json:"k"`
	L    **string     `json:"l"`
}

type Embedded struct {
	X string `json:"x"`
}

type inner struct {
	Y bool `json:"y"`
}

var oddTexts = []string{
	`{}`, ` { } `, `{"a":1,"b":-5,"c":"aGk=","d":{"x":[1,2.5,{"y":null}]},"e":[["a"],[],null,["b",null]],"f":1.5e3,"g":[true,null,false],"h":{"a":{"y":true}}}`,
	`{"Skip":"x","-":"y","Name":"n","name":"m","X":1,"x":"e"}`, `{"a":null,"b":null,"c":null,"d":null,"e":null,"f":null,"g":null,"h":null,"i":null,"j":null,"k":null,"l":null}`,
	`{"a":2147483647}`, `{"a":2147483648}`, `{"a":-2147483648}`, `{"b":9223372036854775807}`, `{"b":-9223372036854775807}`, `{"b":9223372036854775808}`, `{"b":99999999999999999999}`,
	`{"a":01}`, `{"a":-}`, `{"a":-0}`, `{"a":1.0}`, `{"a":1e1}`, `{"a":"1"}`, `{"a":true}`, `{"a":+1}`, `{"a":1x}`, `{"c":"a"}`, `{"c":"aGk"}`, `{"c":[1]}`, `{"c":""}`, `{"e":{}}`, `{"e":[1]}`,
	`{"g":[tru]}`, `{"g":[true,]}`, `{"g":[,true]}`, `{"k":[{"y":true},null,{"y":1}]}`, `{"k":[{"y":true},{},{"z":[{"a":"\u00zz"}]}]}`, `{"k":[{"y":true},{},{"z":[{"a\n":"\u00e9"}]}]}`,
	`{"i":"2020-01-01T00:00:00Z","j":"2020-01-01T00:00:00Z"}`, `{"i":"no"}`, `{"i":"2020-01-01T00:00:00.5+02:00"}`, `{"i":""}`, `{"i":"2020-01-01T00:00:00\u005a"}`, `{"i":1}`,
	`{"l":"x"}`, `{"x":"a","x":"b"}`, `{"z":1,"z":2,"x":"y"}`, `{"x":"\ud83d\ude00\/"}`, "{\"x\":\"a\tb\"}", "{\"x\":\"\xff\"}",
	`{"x":"a"} x`, `{"x":"a"`, `{"x"}`, `{"x":}`, `{x:1}`, `{"\u0078":"a"}`, `[]`, `null`, ``, `{"x":"a",}`, `{"z":nul}`, `{"z":-}`, `{"z":1.}`, `{"z":[1,2}`, `{"z":"`, `{"z":"\`,
}

func TestOddTextsAndTypesAreDecodedAsClientGoDoes(t *testing.T) {
	element := reflect.TypeFor[odd]()
	d := For(element, likeClientGo)
	for _, text := range oddTexts {
		compare(t, d, element, []byte(text), false)
	}
	accepted := 0
	for _, text := range oddTexts {
		if d.Decode([]byte(text), &odd{}) == nil {
			accepted++
		}
	}
	if accepted < 10 {
		t.Errorf("only %d are accepted", accepted)
	}
}

func TestUnstructuredObjectsAreDecodedAsClientGoDoes(t *testing.T) {
	texts := append([]string{}, oddTexts...)
	for _, number := range []string{"1", "-1", "0", "-0", "1.0", "1e2", "1E400", "9223372036854775807", "9223372036854775808", "-9223372036854775808", "1.5", "01", "-", "1.", "+1"} {
		texts = append(texts, `{"x":[`+number+`]}`, `{"x":`+number)
	}
	for seed := range int64(5) {
		texts = append(texts, string(filled(t, reflect.TypeFor[corev1.Pod](), seed)))
	}
	accepted := 0
	for _, text := range texts {
		got, err := Unstructured([]byte(text))
		if err != nil {
			continue
		}
		accepted++
		var want map[string]any
		if err := likeClientGo([]byte(text), &want); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s\n%v\n%s", text, err, cmp.Diff(want, got))
		}
	}
	if accepted < len(texts)/3 {
		t.Errorf("%d of %d are accepted", accepted, len(texts))
	}
}

func FuzzUnstructuredObjectsAreDecodedAsClientGoDoes(f *testing.F) {
	for _, text := range oddTexts {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := Unstructured(data)
		if err != nil {
			return
		}
		var want map[string]any
		if err := likeClientGo(data, &want); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%q\n%v\n%s", data, err, cmp.Diff(want, got))
		}
	})
}

func TestTypesWithoutPlainNamesAreRefused(t *testing.T) {
	for _, element := range []reflect.Type{
		reflect.TypeFor[metav1.Time](), reflect.TypeFor[string](), reflect.TypeFor[struct{ *Embedded }](),
		reflect.TypeFor[struct {
			A int64 `json:"a,string"`
		}](),
		reflect.TypeFor[struct {
			Embedded
			Y string `json:"x"`
		}](),
	} {
		if For(element, likeClientGo) != nil {
			t.Errorf("%v is accepted", element)
		}
	}
}

func TestDepthIsBounded(t *testing.T) {
	deep := make([]byte, 0, 1<<21)
	deep = append(deep, `{"z":`...)
	for range 1 << 20 {
		deep = append(deep, '[')
	}
	if For(reflect.TypeFor[odd](), likeClientGo).Decode(deep, &odd{}) == nil {
		t.Error("accepted")
	}
}

func FuzzWhatIsAcceptedIsDecodedAsClientGoDoes(f *testing.F) {
	element := reflect.TypeFor[odd]()
	for _, text := range oddTexts {
		f.Add([]byte(text))
	}
	d := For(element, likeClientGo)
	f.Fuzz(func(t *testing.T, data []byte) { compare(t, d, element, data, false) })
}

func BenchmarkPod(b *testing.B) {
	element := reflect.TypeFor[corev1.Pod]()
	var all [][]byte
	for seed := range int64(20) {
		all = append(all, filled(b, element, seed))
	}
	d := For(element, likeClientGo)
	for name, decode := range map[string]func(data []byte, into any) error{
		"client-go": likeClientGo,
		"jsonv2":    func(data []byte, into any) error { return jsonv2.Unmarshal(data, into) },
		"tables":    d.Decode,
		"shared":    d.Sharing(parts.New(32 << 20)).Decode,
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
