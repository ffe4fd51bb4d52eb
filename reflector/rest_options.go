package reflector

import (
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
)

// RESTOption narrows what FromREST asks for, or says how the answers are read. A nil
// one is ignored.
type RESTOption func(*RESTSettings)

// RESTSettings are what RESTOptions come to. They can be compared: options that
// mean the same make equal settings, whatever their order.
type RESTSettings struct {
	// LabelSelector, FieldSelector and ShardSelector narrow the collection.
	LabelSelector, FieldSelector, ShardSelector string
	// JSON, ClientDecoding and WithoutManagedFields are the options of those names.
	JSON, ClientDecoding, WithoutManagedFields bool
	// Sharing is how many bytes each source keeps alive to share; zero shares nothing.
	Sharing int
}

// RESTSettingsOf applies options in their order to the zero value.
func RESTSettingsOf(options ...RESTOption) (s RESTSettings) {
	for _, option := range options {
		if option != nil {
			option(&s)
		}
	}
	return s
}

// WithLabelSelector asks only for objects whose labels match: for none with
// labels.Nothing, which has no text of its own, for all with nil.
func WithLabelSelector(selector labels.Selector) RESTOption {
	return func(s *RESTSettings) { s.LabelSelector = textOf(selector, noLabels) }
}

// WithFieldSelector asks only for objects whose fields match: for none with
// fields.Nothing, for all with nil.
func WithFieldSelector(selector fields.Selector) RESTOption {
	return func(s *RESTSettings) { s.FieldSelector = textOf(selector, noFields) }
}

// Selectors that nothing satisfies. Those of apimachinery are written as "", which
// asks for everything.
const (
	noLabels = "nothing,!nothing"
	noFields = "metadata.name=nothing,metadata.name!=nothing"
)

// textOf writes a selector, either of labels or of fields, as the server is asked;
// nothing is what no object satisfies.
func textOf(selector interface {
	Empty() bool
	String() string
}, nothing string) string {
	if isNil(selector) {
		return ""
	}
	text := selector.String()
	if text == "" && !selector.Empty() {
		return nothing
	}
	return text
}

// WithShard asks only for a part of the collection: the objects whose hash is
// in a range, written as KEP-5866 has it, such as
// "shardRange(object.metadata.uid, '0x0000000000000000', '0x8000000000000000')".
// A server that does not know the parameter answers with everything, and nothing
// tells that from an answer.
func WithShard(selector string) RESTOption {
	return func(s *RESTSettings) { s.ShardSelector = selector }
}

// WithJSON asks for JSON also where T has protobuf.
func WithJSON() RESTOption { return func(s *RESTSettings) { s.JSON = true } }

// WithClientDecoding leaves reading and decoding to the client, with its
// serializer and the encoding it is configured for: for a T that is not what
// comes over the wire. It is slower, and holds a LIST in memory as a whole. The
// other options that say how answers are read have no effect then.
func WithClientDecoding() RESTOption { return func(s *RESTSettings) { s.ClientDecoding = true } }

// WithoutManagedFields drops metadata.managedFields before objects are decoded.
func WithoutManagedFields() RESTOption {
	return func(s *RESTSettings) { s.WithoutManagedFields = true }
}

// WithSharing lets objects, and versions of one, share what is equal in them: maps,
// slices, what is behind pointers, and longer strings. It takes half of the memory
// and time where objects are as alike as replicas of a Deployment are. Parts that
// came twice lately are remembered by their bytes, and kept alive by that, up to
// about limit bytes with all they refer to; zero is 32 MiB. Each source remembers
// its own: sources share no parts with each other, and the limit is that of each, so
// also of each source of a joined informer.
//
// Who writes to a part of an object then writes to other objects too, also before
// they are in a cache: a Transform may assign to the fields of the object itself
// and of structs within it, as in pod.ManagedFields = nil, but must not write to
// entries of maps, elements of slices, or through pointers. An informer that detects
// mutations names the object in hand first, then the others. Copies made by DeepCopy
// share nothing. Unstructured objects are not shared.
func WithSharing(limit int) RESTOption {
	return func(s *RESTSettings) { s.Sharing = orDefault(max(0, limit), defaultSharing) }
}
