package bench

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"io"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/scheme"
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
type sink struct{ buffer [32 << 10]byte }

func (s *sink) Write(p []byte) (int, error) {
	for rest := p; len(rest) > 0; {
		rest = rest[copy(s.buffer[:], rest):]
	}
	return len(p), nil
}

// Ours: the bytes that fakeserver/apiserver sends, put together here because its
// encoder is not exported.

// body is one object.
func (f format) body(obj runtime.Object) ([]byte, error) {
	pod := *obj.(*corev1.Pod)
	if f == formatProtobuf {
		return pod.Marshal()
	}
	pod.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}
	return json.Marshal(&pod)
}

// frame is one event of a watch, ready to be sent.
func (f format) frame(t watch.EventType, obj runtime.Object) ([]byte, error) {
	body, err := f.body(obj)
	if err != nil {
		return nil, err
	}
	if f == formatJSON {
		frame := append(make([]byte, 0, len(body)+48), `{"type":"`...)
		frame = append(frame, t...)
		frame = append(frame, `","object":`...)
		frame = append(frame, body...)
		return append(frame, "}\n"...), nil
	}
	object := field(nil, 2, body)
	object = append(append(make([]byte, 0, len(object)+32), "k8s\x00\x0a\x09\x0a\x02v1\x12\x03Pod"...), object...)
	raw := field(nil, 1, object)
	frame := field(make([]byte, 4, len(raw)+32), 1, []byte(t))
	frame = field(frame, 2, raw)
	binary.BigEndian.PutUint32(frame, uint32(len(frame)-4))
	return frame, nil
}

// field appends a field of protobuf that holds bytes.
func field(dst []byte, number byte, value []byte) []byte {
	dst = append(dst, number<<3|2)
	return append(binary.AppendUvarint(dst, uint64(len(value))), value...)
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
