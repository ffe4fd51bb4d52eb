package bench

import (
	"bytes"
	"encoding/binary"
	"io"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/listwatch/listwatch/internal/objectjson"
)

// format of what is sent. bare sends nothing.
type format string

const (
	bare           format = "bare"
	formatJSON     format = "json"
	formatProtobuf format = "protobuf"
)

// sink stands for a connection: what is written to it is copied, as a socket's
// buffer would copy it, and forgotten.
type sink struct{ buffer [4 << 10]byte }

func (s *sink) Write(p []byte) (int, error) {
	for rest := p; len(rest) > 0; {
		rest = rest[copy(s.buffer[:], rest):]
	}
	return len(p), nil
}

// Ours: the bytes that fakeserver/apiserver sends, put together here because its
// encoder is not exported, and with one copy less. Its JSON of objects is the same.

// body is one object.
func (f format) body(obj runtime.Object) ([]byte, error) {
	if f == formatProtobuf {
		return obj.(*corev1.Pod).Marshal()
	}
	return objectjson.Append(nil, withKind(obj))
}

// withKind is a shallow copy that says what it is.
func withKind(obj runtime.Object) *corev1.Pod {
	pod := *obj.(*corev1.Pod)
	pod.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}
	return &pod
}

// frame is one event of a watch, ready to be sent.
func (f format) frame(t watch.EventType, obj runtime.Object) ([]byte, error) {
	if f == formatProtobuf {
		return protobufFrame(t, obj.(*corev1.Pod))
	}
	frame := append(make([]byte, 0, 9<<10), `{"type":"`+string(t)+`","object":`...)
	frame, err := objectjson.Append(frame, withKind(obj))
	return append(frame, "}\n"...), err
}

// protobufFrame writes the messages from the outermost on, the pod last: the
// length, WatchEvent{type, object}, RawExtension{raw}, Unknown{typeMeta, raw, "", ""}.
func protobufFrame(t watch.EventType, pod *corev1.Pod) ([]byte, error) {
	const kind, rest = "k8s\x00\x0a\x09\x0a\x02v1\x12\x03Pod", "\x1a\x00\x22\x00"
	size := pod.Size()
	unknown := append([]byte(kind), 2<<3|2)
	unknown = binary.AppendUvarint(unknown, uint64(size))
	inUnknown := len(unknown) + size + len(rest)
	extension := binary.AppendUvarint([]byte{1<<3 | 2}, uint64(inUnknown))
	head := append([]byte{0, 0, 0, 0, 1<<3 | 2, byte(len(t))}, t...)
	head = binary.AppendUvarint(append(head, 2<<3|2), uint64(len(extension)+inUnknown))
	head = append(append(head, extension...), unknown...)

	frame := make([]byte, len(head)+size+len(rest))
	binary.BigEndian.PutUint32(head, uint32(len(frame)-4))
	copy(frame, head)
	copy(frame[len(head)+size:], rest)
	_, err := pod.MarshalToSizedBuffer(frame[len(head) : len(head)+size])
	return frame, err
}

// Peer: the codecs that kube-apiserver uses, with its streaming of lists.

var peerCodecs = serializer.NewCodecFactory(scheme.Scheme,
	serializer.WithStreamingCollectionEncodingToJSON(), serializer.WithStreamingCollectionEncodingToProtobuf())

func (f format) info() runtime.SerializerInfo {
	mediaType := runtime.ContentTypeJSON
	if f == formatProtobuf {
		mediaType = runtime.ContentTypeProtobuf
	}
	info, _ := runtime.SerializerInfoForMediaType(peerCodecs.SupportedMediaTypes(), mediaType)
	return info
}

// codec encodes whole answers.
func (f format) codec() runtime.Encoder {
	return peerCodecs.EncoderForVersion(f.info().Serializer, corev1.SchemeGroupVersion)
}

// peerEncoder sends events of a watch as kube-apiserver's handler does: the
// object by its codec into a WatchEvent, that by the codec of the stream, all
// of it kept in the object if it can keep it.
type peerEncoder struct {
	id             format
	object, stream runtime.Encoder
	writer         io.Writer
	first, second  bytes.Buffer
	ids            map[watch.EventType]runtime.Identifier
}

func newPeerEncoder(f format, w io.Writer) *peerEncoder {
	info := f.info()
	e := &peerEncoder{
		id: f, object: f.codec(),
		stream: peerCodecs.EncoderForVersion(info.StreamSerializer.Serializer, corev1.SchemeGroupVersion),
		writer: info.StreamSerializer.Framer.NewFrameWriter(w),
		ids:    map[watch.EventType]runtime.Identifier{},
	}
	if with, ok := e.object.(runtime.EncoderWithAllocator); ok {
		e.object = runtime.NewEncoderWithAllocator(with, &runtime.Allocator{})
	}
	if with, ok := e.stream.(runtime.EncoderWithAllocator); ok {
		e.stream = runtime.NewEncoderWithAllocator(with, &runtime.Allocator{})
	}
	for _, t := range []watch.EventType{watch.Added, watch.Modified, watch.Deleted, watch.Bookmark} {
		e.ids[t] = runtime.Identifier("bench " + string(f) + " " + string(t))
	}
	return e
}

func (e *peerEncoder) send(event watch.Event) error {
	if keeps, ok := event.Object.(runtime.CacheableObject); ok {
		return keeps.CacheEncode(e.ids[event.Type], func(obj runtime.Object, w io.Writer) error {
			return e.encode(event.Type, obj, w)
		}, e.writer)
	}
	return e.encode(event.Type, event.Object, e.writer)
}

func (e *peerEncoder) encode(t watch.EventType, obj runtime.Object, w io.Writer) error {
	e.first.Reset()
	e.second.Reset()
	if err := e.object.Encode(obj, &e.first); err != nil {
		return err
	}
	event := &metav1.WatchEvent{Type: string(t), Object: runtime.RawExtension{Raw: e.first.Bytes()}}
	if err := e.stream.Encode(event, &e.second); err != nil {
		return err
	}
	_, err := w.Write(e.second.Bytes())
	return err
}
