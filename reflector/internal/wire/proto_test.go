package wire

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

func podNamed(name string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: "n", UID: "u", ResourceVersion: "5", GenerateName: "g", Labels: map[string]string{"a": "b"},
			ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "m", FieldsV1: metav1.NewFieldsV1(`{}`)}},
		},
		Spec: corev1.PodSpec{NodeName: "node"},
	}
}

func marshal(t testing.TB, message interface{ Marshal() ([]byte, error) }) []byte {
	t.Helper()
	data, err := message.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// enveloped is message as servers send it.
func enveloped(t testing.TB, kind string, message interface{ Marshal() ([]byte, error) }) []byte {
	t.Helper()
	unknown := &runtime.Unknown{TypeMeta: runtime.TypeMeta{APIVersion: "v1", Kind: kind}, Raw: marshal(t, message)}
	return append(slices.Clone(magic), marshal(t, unknown)...)
}

// frames is a stream of events about pods.
func frames(t testing.TB, names ...string) (stream []byte, events []string) {
	t.Helper()
	for _, name := range names {
		event := marshal(t, &metav1.WatchEvent{Type: "ADDED", Object: runtime.RawExtension{Raw: enveloped(t, "Pod", podNamed(name))}})
		stream = binary.BigEndian.AppendUint32(stream, uint32(len(event)))
		stream = append(stream, event...)
		events = append(events, string(event))
	}
	return stream, events
}

func TestAProtobufStreamIsSplitHoweverItArrives(t *testing.T) {
	stream, want := frames(t, "a", "bb", "", "cccc")
	for size := 1; size < len(stream); size += 7 {
		got, err := feed(ProtoFrames{}, stream, size)
		if err != nil || !slices.Equal(got, want) {
			t.Fatalf("in pieces of %d: %d frames, %v", size, len(got), err)
		}
	}
	for cut := range stream {
		got, err := feed(ProtoFrames{}, stream[:cut], 16)
		_, whole := frames(t, []string{"a", "bb", "", "cccc"}[:len(got)]...)
		end := 0
		for _, frame := range whole {
			end += 4 + len(frame)
		}
		if wantErr := end != cut; wantErr != errors.Is(err, io.ErrUnexpectedEOF) {
			t.Fatalf("cut at %d after %d frames: %v", cut, len(got), err)
		}
	}
}

func TestAProtobufEventIsOpened(t *testing.T) {
	_, events := frames(t, "a")
	eventType, object, err := SplitEvent([]byte(events[0]))
	if err != nil || string(eventType) != "ADDED" {
		t.Fatalf("type %q, %v", eventType, err)
	}
	envelope, err := SplitUnknown(object)
	if err != nil || string(envelope.Kind) != "Pod" || string(envelope.APIVersion) != "v1" {
		t.Fatalf("envelope %+v, %v", envelope, err)
	}
	id, ok := PeekProto(envelope.Raw)
	if got := fmt.Sprintf("%s %s %s %v", id.Key(nil), id.UID, id.ResourceVersion, ok); got != "n/a u 5 true" {
		t.Errorf("identity %s", got)
	}
	for cut := range events[0] {
		_, object, err := SplitEvent([]byte(events[0][:cut]))
		if err == nil && len(object) > 0 {
			t.Errorf("an event cut at %d is whole", cut)
		}
	}
	for cut := range object {
		if envelope, err := SplitUnknown(object[:cut]); err == nil && len(envelope.Raw) > 0 && cut < len(object)-2*len("  ") {
			t.Errorf("an object cut at %d of %d is whole", cut, len(object))
		}
	}
}

func TestManagedFieldsAreLeftOutOfProtobuf(t *testing.T) {
	pod := podNamed("a")
	stripped := WithoutManagedFieldsProto(nil, marshal(t, pod))
	pod.ManagedFields = nil
	if want := marshal(t, pod); !bytes.Equal(stripped, want) {
		t.Errorf("got %x\nwant %x", stripped, want)
	}
	if again := WithoutManagedFieldsProto(nil, stripped); &again[0] != &stripped[0] {
		t.Error("without managedFields nothing is copied")
	}
}

// protoList is a list of pods, and its items.
func protoList(t testing.TB, names ...string) (list []byte, items []string) {
	t.Helper()
	pods := &corev1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: "9", Continue: "t"}}
	for _, name := range names {
		pods.Items = append(pods.Items, *podNamed(name))
		items = append(items, string(marshal(t, podNamed(name))))
	}
	return enveloped(t, "PodList", pods), items
}

func TestAProtobufListIsSplitHoweverItArrives(t *testing.T) {
	for _, names := range [][]string{nil, {"a"}, {"a", "bb", "ccc"}} {
		list, want := protoList(t, names...)
		for size := 1; size < len(list)+20; size += 7 {
			split := &ProtoList{}
			got, err := feed(split, list, size)
			if err != nil || !slices.Equal(got, want) {
				t.Fatalf("in pieces of %d: %d items, %v", size, len(got), err)
			}
			var meta metav1.ListMeta
			if err := meta.Unmarshal(split.Metadata()); err != nil || meta.Continue != "t" || meta.ResourceVersion != "9" {
				t.Fatalf("metadata %+v, %v", meta, err)
			}
			if split.Header() != (ListHeader{"v1", "PodList"}) {
				t.Fatalf("header %+v", split.Header())
			}
		}
	}
}

func TestAProtobufListThatWasCutIsNotTakenForWhole(t *testing.T) {
	list, items := protoList(t, "a", "bb", "ccc")
	for cut := range list {
		got, err := feed(&ProtoList{}, list[:cut], 32)
		if err == nil && len(got) != len(items) { // what may be cut off is the end of the envelope
			t.Errorf("cut at %d of %d: %d items", cut, len(list), len(got))
		}
	}
	if _, err := feed(&ProtoList{}, []byte("{}"), 1); err == nil {
		t.Error("JSON is taken for protobuf")
	}
	if _, err := feed(&ProtoList{}, append(slices.Clone(magic), 0x12, 2, 0x12, 9), 1); !errors.Is(err, ErrSyntax) {
		t.Errorf("an item longer than the list: %v", err)
	}
}

func FuzzProtobufIsSplitAsItsGeneratedDecoderReadsIt(f *testing.F) {
	for i, names := range [][]string{nil, {"a"}, {"a", "bb", "ccc"}} {
		list, _ := protoList(f, names...)
		f.Add(list, i)
	}
	f.Fuzz(func(t *testing.T, data []byte, size int) {
		PeekProto(data)
		WithoutManagedFieldsProto(nil, data)
		_, _, _ = SplitEvent(data)
		got, err := feed(&ProtoList{}, data, size&63+1)
		if err != nil || !bytes.HasPrefix(data, magic) {
			return
		}
		var unknown runtime.Unknown
		var list corev1.PodList
		if unknown.Unmarshal(data[len(magic):]) != nil || list.Unmarshal(unknown.Raw) != nil {
			return
		}
		if bytes.Count(data, []byte{0x12}) > len(got)+1 {
			return // the list may come in several pieces, which no server writes
		}
		if len(got) != len(list.Items) {
			t.Errorf("%x: %d items, want %d", data, len(got), len(list.Items))
		}
	})
}
