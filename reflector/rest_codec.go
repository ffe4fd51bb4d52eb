package reflector

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	jsonv1 "github.com/go-json-experiment/json/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	kjson "sigs.k8s.io/json"

	"github.com/listwatch/listwatch/reflector/internal/jsonfast"
	"github.com/listwatch/listwatch/reflector/internal/parts"
	"github.com/listwatch/listwatch/reflector/internal/protofast"
	"github.com/listwatch/listwatch/reflector/internal/wire"
)

// likeClient makes the JSON decoder for types out of the ordinary take what client-go's takes, with the
// same result. What it refuses all the same is decoded by client-go's.
var likeClient = jsonv2.JoinOptions(
	jsontext.AllowDuplicateNames(true),
	jsontext.AllowInvalidUTF8(true),
	jsonv1.MergeWithLegacySemantics(true),
	jsonv1.CallMethodsWithLegacySemantics(true),
	jsonv1.ParseBytesWithLooseRFC4648(true),
)

// protoObject is an object with generated protobuf code.
type protoObject interface{ Unmarshal([]byte) error }

// codec decodes objects of type T as client-go does. Its methods may be called
// concurrently.
type codec[T Object] struct {
	element reflect.Type              // T is a pointer to it
	kinds   []schema.GroupVersionKind // that client-go's scheme knows T by; none for others
	proto   bool                      // T can be decoded from protobuf
	partial bool                      // T is metadata only
	loose   bool                      // T is unstructured

	// The quick decoders; nil where others are to be used.
	fast, fastJSON decoder

	dropManagedFields bool

	objects, nanoseconds atomic.Int64
}

func newCodec[T Object]() *codec[T] { return codecOf[T](reflect.TypeFor[T]().Elem()) }

// codecOf decodes what element points to.
func codecOf[T Object](element reflect.Type) *codec[T] {
	c := &codec[T]{element: element}
	object := c.new()
	_, c.proto = any(object).(protoObject)
	_, c.partial = any(object).(*metav1.PartialObjectMetadata)
	_, c.loose = any(object).(*unstructured.Unstructured)
	if c.proto {
		if d := protofast.For(element); d != nil {
			c.fast = d
		}
	}
	if !c.loose && element.Kind() == reflect.Struct {
		if d := jsonfast.For(element, unmarshalV2); d != nil {
			c.fastJSON = d
		}
	}
	if !c.partial && !c.loose {
		c.kinds, _, _ = scheme.Scheme.ObjectKinds(object)
	}
	return c
}

// decoder decodes into a new object, or refuses what others may not mind.
type decoder interface {
	Decode(data []byte, object any) error
}

// defaultSharing is how much memory is kept alive for sharing.
const defaultSharing = 32 << 20

// share has equal parts of objects shared.
func (c *codec[T]) share(limit int) {
	table := parts.New(limit)
	if d, ok := c.fast.(*protofast.Decoder); ok {
		c.fast = d.Sharing(table)
	}
	if d, ok := c.fastJSON.(*jsonfast.Decoder); ok {
		c.fastJSON = d.Sharing(table)
	}
}

func (c *codec[T]) new() T { return reflect.New(c.element).Interface().(T) }

// fromJSON decodes an object of a watch event, or of a list that says of what
// kind its items are.
func (c *codec[T]) fromJSON(data []byte, list *wire.ListHeader) (T, error) {
	defer c.count(time.Now())
	if c.dropManagedFields {
		data = wire.WithoutManagedFieldsJSON(nil, data)
	}
	object, err := c.parseJSON(data, list)
	if err == nil {
		c.finish(object)
	}
	return object, err
}

func (c *codec[T]) parseJSON(data []byte, list *wire.ListHeader) (T, error) {
	if c.loose {
		return c.unstructured(data, list)
	}
	object := c.new()
	subject := "watch event"
	if list != nil {
		subject = "list item"
	}
	if err := c.quickJSON(data, object); err != nil {
		object = c.new()
		if err := kjson.UnmarshalCaseSensitivePreserveInts(data, object); err != nil {
			return c.foreign(subject, data, err)
		}
	}
	kind := object.GetObjectKind().GroupVersionKind()
	switch {
	case list != nil && kind.Empty():
	case c.kinds != nil && !slices.Contains(c.kinds, kind), foreignKind(kind):
		return c.foreign(subject, data, nil)
	case list == nil:
		object.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
	}
	return object, nil
}

// quickJSON decodes what is as servers write it. For the rest there is another
// decoder, which is asked after an error.
func (c *codec[T]) quickJSON(data []byte, object T) error {
	if c.fastJSON == nil {
		return unmarshalV2(data, object)
	}
	return c.fastJSON.Decode(data, object)
}

func unmarshalV2(data []byte, into any) error { return jsonv2.Unmarshal(data, into, likeClient) }

// foreignKind: an answer that is of no use as an object of any type.
func foreignKind(kind schema.GroupVersionKind) bool {
	return kind.Group == metav1.GroupName && kind.Kind == "Table" || kind.Group == "" && kind.Kind == "Status"
}

// foreign tells an object of another type from one that cannot be read; cause
// is why it could not be read as a T, if it could not.
func (c *codec[T]) foreign(subject string, data []byte, cause error) (none T, err error) {
	var meta metav1.TypeMeta
	if err := kjson.UnmarshalCaseSensitivePreserveInts(data, &meta); err != nil {
		return none, &DecodeError{Subject: subject, Err: err}
	}
	kind := meta.GroupVersionKind()
	switch {
	case kind.Kind == "":
		cause = orError(cause, fmt.Errorf("%w: an object without a kind", ErrMalformed))
		return none, &DecodeError{Subject: subject, Err: cause}
	case c.kinds != nil && slices.Contains(c.kinds, kind), c.kinds == nil && !foreignKind(kind):
		return none, &DecodeError{Subject: subject, Err: cause}
	}
	return none, wrongType[T](subject, kind)
}

func orError(err, fallback error) error {
	if err != nil {
		return err
	}
	return fallback
}

func wrongType[T any](subject string, kind schema.GroupVersionKind) error {
	var want T
	return &DecodeError{Subject: subject, Err: fmt.Errorf("%w: got %v, want %T", ErrWrongType, kind, want)}
}

// unstructured decodes without a Go type. Items of typed lists do not say what
// they are.
func (c *codec[T]) unstructured(data []byte, list *wire.ListHeader) (none T, err error) {
	object := &unstructured.Unstructured{}
	if object.Object, err = jsonfast.Unstructured(data); err != nil {
		object.Object = nil
		if err := kjson.UnmarshalCaseSensitivePreserveInts(data, &object.Object); err != nil {
			return none, &DecodeError{Subject: "object", Err: err}
		}
	}
	if object.Object == nil {
		return none, malformed("object", "no object")
	}
	if list != nil && object.GetKind() == "" {
		object.SetKind(strings.TrimSuffix(list.Kind, "List"))
		object.SetAPIVersion(list.APIVersion)
	}
	switch kind := object.GroupVersionKind(); {
	case object.GetKind() == "":
		return none, malformed("object", "an object without a kind")
	case foreignKind(kind):
		return none, wrongType[T]("object", kind)
	}
	return any(object).(T), nil
}

// fromProto decodes an object that is bare of its envelope.
func (c *codec[T]) fromProto(data []byte) (T, error) {
	defer c.count(time.Now())
	if c.dropManagedFields {
		data = wire.WithoutManagedFieldsProto(nil, data)
	}
	object := c.new()
	if !c.proto {
		return object, malformed("object", "protobuf was not asked for")
	}
	if c.fast == nil || c.fast.Decode(data, object) != nil {
		object = c.new()
		if err := any(object).(protoObject).Unmarshal(data); err != nil {
			return object, &DecodeError{Subject: "object", Err: err}
		}
	}
	c.finish(object)
	return object, nil
}

// fromEnvelope decodes an object of a protobuf watch event.
func (c *codec[T]) fromEnvelope(data []byte) (none T, err error) {
	envelope, err := wire.SplitUnknown(data)
	if err != nil {
		return none, &DecodeError{Subject: "watch event", Err: err}
	}
	kind := schema.FromAPIVersionAndKind(string(envelope.APIVersion), string(envelope.Kind))
	switch {
	case len(envelope.ContentType) > 0 && !strings.HasSuffix(string(envelope.ContentType), "protobuf"):
		return none, malformed("watch event", "an object in %q within protobuf", envelope.ContentType)
	case c.kinds != nil && !slices.Contains(c.kinds, kind), foreignKind(kind):
		return none, wrongType[T]("watch event", kind)
	}
	return c.fromProto(envelope.Raw)
}

// finish does what is left to do with a decoded object.
func (c *codec[T]) finish(object T) {
	if c.dropManagedFields {
		object.SetManagedFields(nil) // where the scan did not see them
	}
}

// count adds an object whose decoding began at a time.
func (c *codec[T]) count(began time.Time) {
	c.objects.Add(1)
	c.nanoseconds.Add(int64(time.Since(began)))
}

// checkList says what is wrong with a list that says this of itself.
func (c *codec[T]) checkList(header wire.ListHeader) error {
	kind := schema.FromAPIVersionAndKind(header.APIVersion, header.Kind)
	switch {
	case kind.Empty(), kind.Kind == "List":
		return nil
	case foreignKind(kind):
		return malformed("list", "a %v is no list", kind)
	case c.kinds == nil:
		return nil
	}
	kind.Kind = strings.TrimSuffix(kind.Kind, "List")
	if !slices.Contains(c.kinds, kind) {
		return malformed("list", "a list of %v, want %v", kind, c.kinds)
	}
	return nil
}
