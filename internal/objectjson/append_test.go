package objectjson

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// managed is a pod with an entry for each set of managed fields; "-" is an entry
// without any.
func managed(annotation string, fields ...string) *corev1.Pod {
	pod := &corev1.Pod{}
	pod.Name, pod.Annotations = "a", map[string]string{"note": annotation, "fieldsV1": "-0"}
	at := metav1.NewTime(time.Unix(0, 0))
	for _, raw := range fields {
		entry := metav1.ManagedFieldsEntry{Manager: "<m>", Time: &at, FieldsType: "FieldsV1", Subresource: "status"}
		if raw != "-" {
			entry.FieldsV1 = metav1.NewFieldsV1(raw)
		}
		pod.ManagedFields = append(pod.ManagedFields, entry)
	}
	return pod
}

// expectSame compares Append with its model.
func expectSame(t *testing.T, obj runtime.Object) {
	t.Helper()
	want, wantErr := json.Marshal(obj)
	got, err := Append([]byte("before "), obj)
	if (err == nil) != (wantErr == nil) {
		t.Errorf("error %v, want %v", err, wantErr)
	}
	if err == nil && string(got) != "before "+string(want) {
		t.Errorf("\n got %s\nwant before %s", got, want)
	}
}

func TestObjectsAreWrittenAsByEncodingJSON(t *testing.T) {
	const some = `{"f:spec":{".":{},"k:{\"name\":\"a\\\\b\"}":{}}}`
	for _, obj := range []runtime.Object{
		managed(""), managed("", "-"), managed("", some), managed("", some, "-", `{}`, some),
		managed(`{"fieldsV1":-0}`, some), managed("", `{"fieldsV1":-0}`, some), managed("", some, `{"fieldsV1":-0}`),
		managed("", `{ "f:a":{}}`), managed("", `{"f:<":{}}`), managed("", `null`), managed("", ""), managed("", `{"f:`),
		managed("", some, `{"f:ü":{}}`),
		&metav1.PartialObjectMetadata{ObjectMeta: managed("", some).ObjectMeta},
		&corev1.PodList{Items: []corev1.Pod{*managed("", some)}},
		&metav1.Status{Message: "<"},
		&unstructured.Unstructured{Object: map[string]any{"kind": "A", "metadata": map[string]any{"name": "b"}}},
	} {
		expectSame(t, obj)
	}
}

func TestTheObjectStaysAsItIs(t *testing.T) {
	pod := managed("", `{"f:a":{}}`)
	before := pod.DeepCopy()
	if _, err := Append(nil, pod); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(pod, before) {
		t.Errorf("it is %v", pod)
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(pod)
	if err != nil {
		t.Fatal(err)
	}
	free := &unstructured.Unstructured{Object: content}
	expectSame(t, free)
	if again, err := runtime.DefaultUnstructuredConverter.ToUnstructured(pod); err != nil || !reflect.DeepEqual(free.Object, again) {
		t.Errorf("it is %v, %v", free, err)
	}
}

func TestOnlyObjectsWithinObjectsArePlain(t *testing.T) {
	for raw, want := range map[string]bool{
		`{}`: true, `{"a":{}}`: true, `{"a":{},"b":{"c":{}}}`: true, `{"k:{\"a\":\"\\\\\"}":{}}`: true, `{"":{}}`: true,
		``: false, `{`: false, `}`: false, `{}}`: false, `{}{}`: false, `{"a"}`: false, `{"a":}`: false, `{"a":1}`: false,
		`{"a":{}`: false, `{"a":{},}`: false, `{,}`: false, `{"a":{}"b":{}}`: false, `[]`: false, `{"a":[]}`: false,
		`{"a" :{}}`: false, ` {}`: false, `{} `: false, `{"\u0061":{}}`: false, `{"\`: false, `{"a\`: false,
		"{\"\x7f\":{}}": false, "{\"\n\":{}}": false, `{"&":{}}`: false, strings.Repeat(`{"a":`, 9): false,
	} {
		if got := plain([]byte(raw)); got != want {
			t.Errorf("%s: %v", raw, got)
		}
	}
}

// FuzzPlain: what is plain is what encoding/json makes of it.
func FuzzPlain(f *testing.F) {
	for _, seed := range []string{`{"f:spec":{".":{},"k:{\"name\":\"a\"}":{}}}`, `{}`, `{"a":1}`, `{"<":{}}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		expectSame(t, managed("", string(raw), `{"f:a":{}}`))
		if !plain(raw) {
			return
		}
		if got, err := json.Marshal(json.RawMessage(raw)); err != nil || string(got) != string(raw) {
			t.Errorf("%q is written as %q, %v", raw, got, err)
		}
	})
}
