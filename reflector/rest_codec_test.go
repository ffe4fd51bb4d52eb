package reflector

import (
	"bytes"
	"encoding/json"
	"maps"
	"math/rand"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/apitesting/fuzzer"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metafuzzer "k8s.io/apimachinery/pkg/apis/meta/fuzzer"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kjsonserializer "k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/listwatch/listwatch/reflector/internal/wire"
)

// kinds are the built-in kinds of objects with metadata.
func kinds() []schema.GroupVersionKind {
	var all []schema.GroupVersionKind
	for kind, element := range scheme.Scheme.AllKnownTypes() {
		if _, ok := reflect.New(element).Interface().(Object); ok && kind.Version != runtime.APIVersionInternal {
			all = append(all, kind)
		}
	}
	slices.SortFunc(all, func(a, b schema.GroupVersionKind) int { return strings.Compare(a.String(), b.String()) })
	return all
}

// filled is a random object of kind.
func filled(t testing.TB, kind schema.GroupVersionKind, seed int64) Object {
	t.Helper()
	filler := fuzzer.FuzzerFor(fuzzer.MergeFuzzerFuncs(metafuzzer.Funcs), rand.NewSource(seed), scheme.Codecs)
	object, err := scheme.Scheme.New(kind)
	if err != nil {
		t.Fatal(err)
	}
	filler.Fill(object)
	object.GetObjectKind().SetGroupVersionKind(kind)
	return object.(Object)
}

// clientGo decodes an event's object as a client of client-go does.
func clientGo(data []byte) (runtime.Object, error) {
	decoder := scheme.Codecs.WithoutConversion().DecoderToVersion(scheme.Codecs.UniversalDeserializer(), nil)
	return runtime.Decode(decoder, data)
}

func encode(t testing.TB, encoder runtime.Encoder, object runtime.Object) []byte {
	t.Helper()
	var buffer bytes.Buffer
	if err := encoder.Encode(object, &buffer); err != nil {
		t.Fatal(err)
	}
	return buffer.Bytes()
}

var (
	jsonEncoder  = kjsonserializer.NewSerializerWithOptions(kjsonserializer.DefaultMetaFactory, scheme.Scheme, scheme.Scheme, kjsonserializer.SerializerOptions{})
	protoEncoder = protobuf.NewSerializer(scheme.Scheme, scheme.Scheme)
)

func same(t *testing.T, what string, got, want any) {
	t.Helper()
	if !apiequality.Semantic.DeepEqual(got, want) {
		t.Errorf("%s differs from client-go's: %s", what, cmp.Diff(want, got))
	}
}

func TestObjectsOfEveryKindAreDecodedAsClientGoDoes(t *testing.T) {
	for _, kind := range kinds() {
		t.Run(kind.String(), func(t *testing.T) {
			var c *codec[Object]
			for round := range int64(8) {
				object := filled(t, kind, min(round, 4))
				if round == 0 {
					c = codecOf[Object](reflect.TypeOf(object).Elem())
				} else if round == 4 {
					c.share(1 << 20) // the same from now on: new, again, and found
				}

				text := bytes.TrimSpace(encode(t, jsonEncoder, object))
				expected, err := clientGo(text)
				if err != nil {
					t.Fatal(err)
				}
				got, err := c.fromJSON(text, nil)
				if err != nil {
					t.Fatalf("%v\n%s", err, text)
				}
				same(t, "JSON", got, expected)
				peeks(t, "JSON", got)(wire.PeekJSON(text))

				if !c.proto {
					continue
				}
				envelope := encode(t, protoEncoder, object)
				if expected, err = clientGo(envelope); err != nil {
					t.Fatal(err)
				}
				if got, err = c.fromEnvelope(envelope); err != nil {
					t.Fatal(err)
				}
				same(t, "protobuf", got, expected)
				unknown, err := wire.SplitUnknown(envelope)
				if err != nil {
					t.Fatal(err)
				}
				peeks(t, "protobuf", got)(wire.PeekProto(unknown.Raw))
			}
		})
	}
}

// peeks compares what was peeked with what an object is.
func peeks(t *testing.T, what string, object Object) func(id wire.Identity, ok bool) {
	return func(id wire.Identity, ok bool) {
		t.Helper()
		if !ok { // the names are random, and some are written with escapes
			return
		}
		want(t, what+" key", string(id.Key(nil)), keyOf(object))
		want(t, what+" UID", string(id.UID), string(object.GetUID()))
		want(t, what+" version", string(id.ResourceVersion), object.GetResourceVersion())
	}
}

func TestManagedFieldsAreDroppedAndNothingElse(t *testing.T) {
	for _, kind := range kinds() {
		for seed := range int64(2) {
			object := filled(t, kind, seed)
			if len(object.GetManagedFields()) == 0 {
				object.SetManagedFields([]metav1.ManagedFieldsEntry{{Manager: "m", FieldsV1: metav1.NewFieldsV1(`{"f:x":{"}":{}}}`)}})
			}
			c := codecOf[Object](reflect.TypeOf(object).Elem())
			text := bytes.TrimSpace(encode(t, jsonEncoder, object))
			expected, err := c.fromJSON(text, nil)
			if err != nil {
				t.Fatal(err)
			}
			expected.SetManagedFields(nil)
			stripped := wire.WithoutManagedFieldsJSON(nil, text)
			if !json.Valid(stripped) {
				t.Fatalf("%v: %s", kind, stripped)
			}
			got, err := c.fromJSON(stripped, nil)
			if err != nil {
				t.Fatal(err)
			}
			same(t, kind.String()+" as JSON", got, expected)
			if !c.proto {
				continue
			}
			unknown, err := wire.SplitUnknown(encode(t, protoEncoder, object))
			if err != nil {
				t.Fatal(err)
			}
			if expected, err = c.fromProto(unknown.Raw); err != nil {
				t.Fatal(err)
			}
			expected.SetManagedFields(nil)
			if got, err = c.fromProto(wire.WithoutManagedFieldsProto(nil, unknown.Raw)); err != nil {
				t.Fatal(err)
			}
			same(t, kind.String()+" as protobuf", got, expected)
		}
	}
}

// oddities are objects as no server of Kubernetes writes them, but as
// client-go reads them, or not.
var oddities = []string{
	`{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a","name":"b"}}`,
	`{"kind":"Pod","apiVersion":"v1","Metadata":{"name":"a"},"metadata":{"Name":"b"}}`,
	`{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a","labels":{"a":"1"},"labels":{"b":"2"}}}`,
	`{"kind":"Pod","apiVersion":"v1","metadata":null,"spec":null,"status":{"phase":null,"conditions":null}}`,
	`{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a","creationTimestamp":null,"deletionTimestamp":"2020-01-01T00:00:00Z"}}`,
	`{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a","creationTimestamp":"yesterday"}}`,
	`{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a","generation":1.0}}`,
	`{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a","generation":1e2}}`,
	`{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a","generation":99999999999999999999}}`,
	`{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a","generation":"1"}}`,
	`{"kind":"Pod","apiVersion":"v1","metadata":{"name":5}}`,
	`{"kind":"Pod","apiVersion":"v1","metadata":{"name":"` + "\xff\xfe" + `"}}`,
	`{"kind":"Pod","apiVersion":"v1","metadata":{"name":"\ud800"}}`,
	`{"kind":"Pod","apiVersion":"v1","metadata":{"name":"\ud83d\ude00","labels":{"\u0061":"\/"}}}`,
	"{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"a\tb\"}}",
	`{"kind":"Pod","apiVersion":"v1","unknown":{"a":[1,{"b":null}]},"metadata":{"name":"a"}}`,
	`{"kind":"Pod","apiVersion":"v1","spec":{"containers":[{"name":"a"},null,{"name":"c"}],"nodeSelector":{"a":null}}}`,
	`{"kind":"Pod","apiVersion":"v1","spec":{"containers":[{"name":"a"}],"containers":[{"image":"b"}]}}`,
	`{"kind":"Pod","apiVersion":"v1","spec":{"containers":{}}}`,
	`{"kind":"Pod","apiVersion":"v1","spec":{"terminationGracePeriodSeconds":30,"hostNetwork":true,"priority":-0}}`,
	`{"kind":"Pod","apiVersion":"v1","spec":{"containers":[{"resources":{"limits":{"cpu":1,"memory":"1Gi"}}}]}}`,
	`{"kind":"Pod","apiVersion":"v1","spec":{"containers":[{"resources":{"limits":{"cpu":"x"}}}]}}`,
	`{"kind":"Pod","apiVersion":"v1"} `,
	`{"kind":"Pod","apiVersion":"v1"}}`,
	`{"kind":"Pod","apiVersion":"v1"`,
	`{"kind":"Pod","apiVersion":"v1",}`,
	`{"kind":"Pod"}`, `{"apiVersion":"v1"}`, `{}`, `null`, ``, `[]`, `"Pod"`,
	`{"kind":"Node","apiVersion":"v1","metadata":{"name":"a"}}`,
	`{"kind":"Nobody","apiVersion":"v9"}`,
	`{"kind":"Table","apiVersion":"meta.k8s.io/v1"}`,
	`{"kind":"Status","apiVersion":"v1","code":500}`,
}

// compareWithClientGo decodes data both ways.
func compareWithClientGo(t *testing.T, data []byte) {
	t.Helper()
	expected, err := clientGo(data)
	pod, isPod := expected.(*corev1.Pod)
	got, gotErr := newCodec[*corev1.Pod]().fromJSON(data, nil)
	switch {
	case (err == nil && isPod) != (gotErr == nil):
		t.Errorf("%q\nclient-go: %v %T\nhere: %v", data, err, expected, gotErr)
	case gotErr == nil:
		same(t, string(data), got, pod)
	}
}

func TestOddJSONIsReadAsClientGoReadsIt(t *testing.T) {
	for _, text := range oddities {
		compareWithClientGo(t, []byte(text))
	}
}

func FuzzJSONIsReadAsClientGoReadsIt(f *testing.F) {
	for _, text := range oddities {
		f.Add([]byte(text))
	}
	for seed := range int64(3) {
		f.Add(encode(f, jsonEncoder, filled(f, corev1.SchemeGroupVersion.WithKind("Pod"), seed)))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if bytes.HasPrefix(data, []byte("k8s\x00")) || len(data) > 0 && data[0] != '{' { // YAML, to client-go
			return
		}
		compareWithClientGo(t, data)
	})
}

func TestUnstructuredObjectsAreDecodedAsClientGoDoes(t *testing.T) {
	c := newCodec[*unstructured.Unstructured]()
	for _, kind := range kinds() {
		text := bytes.TrimSpace(encode(t, jsonEncoder, filled(t, kind, 1)))
		expected := &unstructured.Unstructured{}
		if err := expected.UnmarshalJSON(text); err != nil {
			t.Fatal(err)
		}
		got, err := c.fromJSON(text, nil)
		if err != nil {
			t.Fatal(err)
		}
		same(t, kind.String(), got, expected)
	}
	got, err := c.fromJSON([]byte(`{"metadata":{"name":"a"}}`), &wire.ListHeader{APIVersion: "v1", Kind: "PodList"})
	if err != nil || got.GetKind() != "Pod" || got.GetAPIVersion() != "v1" {
		t.Errorf("an item of a typed list: %v, %v", got, err)
	}
}

func TestEveryListOfABuiltInKindHasItsItemsInFieldTwo(t *testing.T) {
	for kind, element := range maps.All(scheme.Scheme.AllKnownTypes()) {
		items, ok := element.FieldByName("Items")
		if !ok || !strings.HasSuffix(kind.Kind, "List") {
			continue
		}
		meta, _ := element.FieldByName("ListMeta")
		if !strings.HasPrefix(items.Tag.Get("protobuf"), "bytes,2,rep") || !strings.HasPrefix(meta.Tag.Get("protobuf"), "bytes,1,") {
			t.Errorf("%v: items %q, metadata %q", kind, items.Tag, meta.Tag)
		}
		item := items.Type.Elem()
		if meta, ok := item.FieldByName("ObjectMeta"); ok && !strings.HasPrefix(meta.Tag.Get("protobuf"), "bytes,1,") {
			t.Errorf("%v: metadata of an item %q", kind, meta.Tag)
		}
	}
}
