package apiserver

import (
	"bytes"
	"encoding/json"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/listwatch/listwatch/fakeserver/cacher"
	"github.com/listwatch/listwatch/fakeserver/storage"
)

// everyResource visits all resources in all versions.
func everyResource(t *testing.T, visit func(r *resource)) {
	t.Helper()
	all, err := builtin()
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range all.groups {
		for _, v := range g.versions {
			for _, r := range v.resources {
				visit(r)
			}
		}
	}
}

// sample is an object of the stored kind.
func sample(t *testing.T, r *resource, name string) runtime.Object {
	t.Helper()
	obj := reflect.New(r.stored.goType).Interface().(runtime.Object)
	accessor, err := meta.Accessor(obj)
	if err != nil {
		t.Fatal(err)
	}
	accessor.SetName(name)
	accessor.SetLabels(map[string]string{"b": "2", "a": "1"})
	accessor.SetResourceVersion("7")
	return obj
}

func TestStoredObjectsComeBackWithTheRevisionOfTheirWrite(t *testing.T) {
	everyResource(t, func(r *resource) {
		obj := sample(t, r, "x")
		before := obj.DeepCopyObject()
		data, err := encodeStored(r.stored, obj)
		if err != nil {
			t.Fatalf("%s: %v", r.gvr, err)
		}
		if diff := cmp.Diff(before, obj); diff != "" {
			t.Errorf("%s: encoding changed the object: %s", r.gvr, diff)
		}
		back, err := decodeStored(r.stored, storage.KeyValue{Key: "/k", Value: data, ModRevision: 42})
		if err != nil {
			t.Fatalf("%s: %v", r.gvr, err)
		}
		accessor, _ := meta.Accessor(back)
		if accessor.GetResourceVersion() != "42" || accessor.GetName() != "x" || accessor.GetLabels()["a"] != "1" {
			t.Errorf("%s: got %v", r.gvr, back)
		}
		again, err := encodeStored(r.stored, back)
		if err != nil || !bytes.Equal(data, again) {
			t.Errorf("%s: the same object has other bytes, %v", r.gvr, err)
		}
	})
}

func TestListsPutTogetherFromItemsEqualListsEncodedWhole(t *testing.T) {
	everyResource(t, func(r *resource) {
		for _, f := range []format{formatJSON, formatProtobuf} {
			e := newEncoder(r, output{format: f})
			items := []*cacher.Item{{Object: sample(t, r, "x")}, {Object: sample(t, r, "y")}}
			list, err := e.list(metav1.ListMeta{ResourceVersion: "9", Continue: "c"}, items)
			if err != nil {
				t.Fatalf("%s: %v", r.gvr, err)
			}
			data := list.whole()
			checkList(t, r, f, data)
			var streamed bytes.Buffer
			if err := list.writeTo(&streamed); err != nil || !bytes.Equal(streamed.Bytes(), data) {
				t.Errorf("%s %v: in pieces the list is another, %v", r.gvr, f, err)
			}
		}
	})
}

// checkList decodes a list with the ordinary codec and compares it with one that
// the ordinary codec encodes.
func checkList(t *testing.T, r *resource, f format, data []byte) {
	t.Helper()
	codec := runtime.Serializer(strictJSONCodec)
	if f == formatProtobuf {
		codec = protobufCodec
	}
	list, gvk, err := codec.Decode(data, nil, nil)
	if err != nil || gvk.Kind != r.gvk.Kind+"List" || gvk.GroupVersion() != r.gvk.GroupVersion() {
		t.Fatalf("%s %v: %v %v", r.gvr, f, gvk, err)
	}
	listMeta, _ := meta.ListAccessor(list)
	if meta.LenList(list) != 2 || listMeta.GetResourceVersion() != "9" || listMeta.GetContinue() != "c" {
		t.Errorf("%s %v: got %v", r.gvr, f, list)
	}
	var whole bytes.Buffer
	if err := codec.Encode(list, &whole); err != nil {
		t.Fatal(err)
	}
	if f == formatProtobuf && !bytes.Equal(whole.Bytes(), data) {
		t.Errorf("%s: the protobuf list differs", r.gvr)
	}
	if f == formatJSON {
		compareJSON(t, r.gvr.String(), whole.Bytes(), data)
	}
}

func compareJSON(t *testing.T, what string, want, got []byte) {
	t.Helper()
	var a, b any
	if json.Unmarshal(want, &a) != nil || json.Unmarshal(got, &b) != nil {
		t.Fatalf("%s: no JSON: %s", what, got)
	}
	if diff := cmp.Diff(a, b); diff != "" {
		t.Errorf("%s: %s", what, diff)
	}
}

func TestSharedObjectsAreNotWrittenToWhileEncoding(t *testing.T) {
	everyResource(t, func(r *resource) {
		obj := sample(t, r, "x")
		before := obj.DeepCopyObject()
		for _, out := range []output{{}, {format: formatProtobuf}, {as: partialObject, metaVersion: "v1"}} {
			if _, err := newEncoder(r, out).body(obj); err != nil {
				t.Errorf("%s: %v", r.gvr, err)
			}
		}
		if diff := cmp.Diff(before, obj); diff != "" {
			t.Errorf("%s: %s", r.gvr, diff)
		}
	})
}

func TestEventsAreTheSameInBothGroups(t *testing.T) {
	core := corev1.SchemeGroupVersion.WithKind("Event")
	newer := eventsv1.SchemeGroupVersion.WithKind("Event")
	event := &corev1.Event{
		InvolvedObject: corev1.ObjectReference{Kind: "Pod", Name: "p"}, Message: "m", Count: 3, Reason: "r",
		Source: corev1.EventSource{Component: "c"}, ReportingController: "rc", ReportingInstance: "ri", Type: "Normal",
	}
	event.SetGroupVersionKind(core)
	got, err := convert(event, core, newer)
	if err != nil {
		t.Fatal(err)
	}
	shown, ok := got.(*eventsv1.Event)
	if !ok || shown.Regarding.Name != "p" || shown.Note != "m" || shown.DeprecatedCount != 3 ||
		shown.ReportingController != "rc" || shown.DeprecatedSource.Component != "c" {
		t.Fatalf("got %+v", got)
	}
	back, err := convert(got, newer, core)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(event, back); diff != "" {
		t.Error(diff)
	}
}

func TestConversionKeepsWhatBothVersionsName(t *testing.T) {
	v1, v2 := schema.GroupVersionKind{Group: "autoscaling", Version: "v1", Kind: "HorizontalPodAutoscaler"},
		schema.GroupVersionKind{Group: "autoscaling", Version: "v2", Kind: "HorizontalPodAutoscaler"}
	got, err := convert(&autoscalingv1.HorizontalPodAutoscaler{
		ObjectMeta: metav1.ObjectMeta{Name: "h"}, Spec: autoscalingv1.HorizontalPodAutoscalerSpec{MaxReplicas: 4},
	}, v1, v2)
	if err != nil {
		t.Fatal(err)
	}
	back, err := convert(got, v2, v1)
	if err != nil {
		t.Fatal(err)
	}
	if h := back.(*autoscalingv1.HorizontalPodAutoscaler); h.Name != "h" || h.Spec.MaxReplicas != 4 {
		t.Errorf("got %+v", h)
	}
}
