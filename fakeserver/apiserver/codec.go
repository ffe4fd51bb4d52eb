package apiserver

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"reflect"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	jsonserializer "k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"

	"github.com/listwatch/listwatch/fakeserver/storage"
	"github.com/listwatch/listwatch/internal/objectjson"
)

// protobufPrefix begins every protobuf object, in the store and on the wire.
var protobufPrefix = []byte("k8s\x00")

var (
	protobufCodec = protobuf.NewSerializer(kinds, kinds)
	jsonCodec     = jsonserializer.NewSerializerWithOptions(jsonserializer.DefaultMetaFactory, kinds, kinds,
		jsonserializer.SerializerOptions{})
)

// protobufMarshaler is what generated kinds have, and what not every kind needs
// to have.
type protobufMarshaler interface{ Marshal() ([]byte, error) }

// encodeStored makes the bytes that are kept for obj, which is of the stored
// kind: protobuf where the kind has it, and without resourceVersion, because
// that is the revision of the write. Equal objects have equal bytes.
func encodeStored(k *storedKind, obj runtime.Object) ([]byte, error) {
	if k.custom != nil {
		return k.custom.encode(obj)
	}
	plain := withKind(obj, k.gvk)
	if accessor, err := meta.Accessor(plain); err == nil && accessor.GetResourceVersion() != "" {
		if plain == obj {
			plain = shallowCopy(obj)
		}
		accessor, err = meta.Accessor(plain)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrCodec, err)
		}
		accessor.SetResourceVersion("")
	}
	var buf bytes.Buffer
	var err error
	if _, ok := plain.(protobufMarshaler); ok {
		err = protobufCodec.Encode(plain, &buf)
	} else {
		err = jsonCodec.Encode(plain, &buf)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: encode %s: %w", ErrCodec, k.gvk, err)
	}
	return buf.Bytes(), nil
}

func shallowCopy(obj runtime.Object) runtime.Object {
	if loose, ok := obj.(*unstructured.Unstructured); ok {
		return shallowLoose(loose)
	}
	copied := reflect.New(reflect.TypeOf(obj).Elem())
	copied.Elem().Set(reflect.ValueOf(obj).Elem())
	return copied.Interface().(runtime.Object)
}

// decodeStored is the reverse of encodeStored: a new object, its resourceVersion
// set to the revision of the write.
func decodeStored(k *storedKind, kv storage.KeyValue) (runtime.Object, error) {
	if k.custom != nil {
		return k.custom.decode(kv)
	}
	var obj runtime.Object
	var err error
	if bytes.HasPrefix(kv.Value, protobufPrefix) {
		obj, _, err = protobufCodec.Decode(kv.Value, &k.gvk, nil)
	} else {
		obj, _, err = jsonCodec.Decode(kv.Value, &k.gvk, nil)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: decode %s: %w", ErrCodec, kv.Key, err)
	}
	if reflect.TypeOf(obj).Elem() != k.goType {
		return nil, fmt.Errorf("%w: decode %s: %T is no %s", ErrCodec, kv.Key, obj, k.gvk)
	}
	if set, ok := obj.(*appsv1.StatefulSet); ok {
		typeClaims(set.Spec.VolumeClaimTemplates)
	}
	accessor, err := meta.Accessor(obj)
	if err != nil {
		return nil, fmt.Errorf("%w: decode %s: %w", ErrCodec, kv.Key, err)
	}
	accessor.SetResourceVersion(strconv.FormatInt(kv.ModRevision, 10))
	return obj, nil
}

// encodeBody makes what a reader is sent of obj, which is of kind gvk: a JSON
// object that begins with kind and apiVersion, or the protobuf message without
// the envelope that names the kind. Lists, watch events and single objects are
// put together from it.
func encodeBody(obj runtime.Object, gvk schema.GroupVersionKind, format format) ([]byte, error) {
	if format == formatProtobuf {
		message, ok := obj.(protobufMarshaler)
		if !ok {
			return nil, fmt.Errorf("%w: %s has no protobuf form", ErrCodec, gvk)
		}
		return message.Marshal()
	}
	body, err := objectjson.Append(nil, withKind(obj, gvk))
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrCodec, gvk, err)
	}
	return body, nil
}

// kindPrefix is how the JSON of every object of the kind begins.
func kindPrefix(gvk schema.GroupVersionKind) []byte {
	apiVersion, kind := gvk.ToAPIVersionAndKind()
	return []byte(`{"kind":"` + kind + `","apiVersion":"` + apiVersion + `",`)
}

// metadataOf is obj reduced to its metadata.
func metadataOf(obj runtime.Object) (*metav1.PartialObjectMetadata, error) {
	accessor, err := meta.Accessor(obj)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCodec, err)
	}
	return meta.AsPartialObjectMetadata(accessor), nil
}

// appendEnvelope appends the message runtime.Unknown around a protobuf message,
// with the prefix that marks it.
func appendEnvelope(dst []byte, gvk schema.GroupVersionKind, message []byte) []byte {
	dst = append(appendEnvelopeHead(dst, gvk, len(message)), message...)
	return append(dst, envelopeTail...)
}

// appendEnvelopeHead appends what of the envelope comes before a message of a
// size.
func appendEnvelopeHead(dst []byte, gvk schema.GroupVersionKind, size int) []byte {
	dst = append(dst, envelopeStart(gvk)...)
	dst = binary.AppendUvarint(dst, 2<<3|2)
	return binary.AppendUvarint(dst, uint64(size))
}

// envelopeStart is what of the envelope is the same for all messages of a kind.
func envelopeStart(gvk schema.GroupVersionKind) []byte {
	apiVersion, kind := gvk.ToAPIVersionAndKind()
	var typeMeta []byte
	typeMeta = appendField(typeMeta, 1, []byte(apiVersion))
	typeMeta = appendField(typeMeta, 2, []byte(kind))
	return appendField(bytes.Clone(protobufPrefix), 1, typeMeta)
}

// envelopeTail is what comes after it: contentEncoding, none, and contentType,
// protobuf.
var envelopeTail = appendField(appendField(nil, 3, nil), 4, nil)

// appendField appends a length-delimited protobuf field.
func appendField(dst []byte, number uint64, value []byte) []byte {
	dst = binary.AppendUvarint(dst, number<<3|2)
	dst = binary.AppendUvarint(dst, uint64(len(value)))
	return append(dst, value...)
}
