package reflector

import (
	"context"
	"io"
	"sync"
	"unsafe"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	kjson "sigs.k8s.io/json"

	"github.com/listwatch/listwatch/internal/worker"
	"github.com/listwatch/listwatch/reflector/internal/wire"
)

// watched is what becomes of a frame.
type watched[T any] struct {
	event Event[T]
	err   error
}

// wireStream is a watch whose frames are cut by one goroutine and decoded by the
// reader, or by several where it lags.
type wireStream[T Object] struct {
	codec *codec[T]
	known Known // nil: no peeking
	group *worker.Group
	body  io.ReadCloser
	lane  *lane[watched[T]]

	begin, end sync.Once
	// initial belongs to the pump: all frames so far were ADDED.
	initial bool

	// The rest belongs to the reader.
	chunk *chunk[watched[T]]
	next  int
}

// newWireStream reads body, whose request lives as long as group. known, which
// may be nil, is asked about the initial events.
func newWireStream[T Object](c *codec[T], group *worker.Group, body io.ReadCloser, initial bool, known Known) *wireStream[T] {
	s := &wireStream[T]{codec: c, known: known, group: group, body: body, initial: initial}
	s.lane = newLane(group, s.decode)
	s.lane.expect(initial)
	return s
}

// pump cuts the body until it ends.
func (s *wireStream[T]) pump(ctx context.Context) {
	p := &pump[watched[T]]{lane: s.lane, peek: s.peekable}
	err := p.run(ctx, s.body, &sniffer{watch: true})
	if err == nil {
		err = io.EOF
	}
	_ = s.body.Close()
	s.lane.mark(watched[T]{err: err})
}

// peekable reports whether a frame may be looked at before it is decoded: an
// initial event, before the first that is not ADDED. Later ones may be held back
// until the replacement is over, and then their objects are needed.
func (s *wireStream[T]) peekable(frame []byte) bool {
	if !s.initial {
		return false
	}
	eventType, _, err := splitFrame(frame)
	if s.initial = err == nil && eventType == string(watch.Added); !s.initial {
		s.lane.expect(false)
	}
	return s.initial && s.known != nil
}

// splitFrame takes a frame apart, of either encoding.
func splitFrame(frame []byte) (eventType string, object []byte, err error) {
	kind, object, ok := []byte(nil), []byte(nil), false
	if isJSON(frame) {
		if kind, object, ok = wire.Envelope(frame); !ok {
			return splitLoosely(frame)
		}
	} else if kind, object, err = wire.SplitEvent(frame); err != nil {
		return "", nil, err
	}
	for _, known := range []watch.EventType{watch.Added, watch.Modified, watch.Deleted, watch.Bookmark, watch.Error} {
		if string(kind) == string(known) { // without an allocation
			return string(known), object, nil
		}
	}
	return string(kind), object, nil
}

// splitLoosely takes a JSON frame apart in whatever form, as client-go does.
func splitLoosely(frame []byte) (eventType string, object []byte, err error) {
	var event metav1.WatchEvent
	err = kjson.UnmarshalCaseSensitivePreserveInts(frame, &event)
	return event.Type, event.Object.Raw, err
}

// isJSON tells the encodings apart by a byte that cannot begin a protobuf
// message.
func isJSON(raw []byte) bool { return len(raw) > 0 && raw[0] == '{' }

// decode makes an event of a frame.
func (s *wireStream[T]) decode(raw rawItem) watched[T] {
	eventType, object, err := splitFrame(raw.data)
	if err != nil {
		return watched[T]{err: &DecodeError{Subject: "watch event", Err: err}}
	}
	if raw.peek {
		if key, resourceVersion, ok := s.codec.peek(object, s.known); ok {
			return watched[T]{event: Event[T]{Type: watch.Added, Known: key, ResourceVersion: resourceVersion}}
		}
	}
	event, err := s.event(eventType, object)
	if err != nil && isJSON(raw.data) {
		// The quick way to take it apart may have missed something.
		if slowType, slowObject, slowErr := splitLoosely(raw.data); slowErr != nil {
			err = &DecodeError{Subject: "watch event", Err: slowErr}
		} else if slowType != eventType || len(slowObject) != len(object) {
			event, err = s.event(slowType, slowObject)
		}
	}
	return watched[T]{event, err}
}

func (s *wireStream[T]) event(eventType string, object []byte) (Event[T], error) {
	switch kind := watch.EventType(eventType); kind {
	case watch.Added, watch.Modified, watch.Deleted:
		decode := s.codec.fromEnvelope
		if isJSON(object) {
			decode = func(data []byte) (T, error) { return s.codec.fromJSON(data, nil) }
		}
		obj, err := decode(object)
		if err != nil {
			return Event[T]{}, err
		}
		return Event[T]{Type: kind, Object: obj, ResourceVersion: obj.GetResourceVersion()}, nil
	case watch.Bookmark:
		var meta metav1.PartialObjectMetadata
		if err := decodeBare(object, &meta); err != nil {
			return Event[T]{}, err
		}
		return toBookmark[T](&meta)
	case watch.Error:
		var status metav1.Status
		if err := decodeBare(object, &status); err != nil {
			return Event[T]{}, err
		}
		return Event[T]{}, eventError(watch.Event{Type: watch.Error, Object: &status})
	}
	return Event[T]{}, malformed("watch event", "unknown type %q", eventType)
}

// decodeBare decodes something of which the server's type does not matter.
func decodeBare(object []byte, into protoObject) error {
	if isJSON(object) {
		if err := kjson.UnmarshalCaseSensitivePreserveInts(object, into); err != nil {
			return &DecodeError{Subject: "watch event", Err: err}
		}
		return nil
	}
	envelope, err := wire.SplitUnknown(object)
	if err == nil {
		err = into.Unmarshal(envelope.Raw)
	}
	if err != nil {
		return &DecodeError{Subject: "watch event", Err: err}
	}
	return nil
}

// Next implements Stream.
func (s *wireStream[T]) Next(ctx context.Context) (Event[T], error) {
	s.begin.Do(func() {
		if !s.group.Go("reflector: read watch", s.pump) {
			s.lane.mark(watched[T]{err: context.Canceled})
		}
	})
	for s.chunk == nil || s.next >= max(len(s.chunk.raw), len(s.chunk.out)) {
		if s.chunk != nil {
			s.lane.reuse(s.chunk)
			s.chunk = nil
		}
		c, _, err := s.lane.take(ctx)
		if err != nil {
			return Event[T]{}, err
		}
		s.chunk, s.next = c, 0
	}
	i := s.next
	s.next++
	if i == len(s.chunk.out) { // claimed by ourselves: one at a time, so that the first is not kept waiting
		s.chunk.out = append(s.chunk.out, s.decode(s.chunk.raw[i]))
	}
	out := s.chunk.out[i]
	s.chunk.out[i] = watched[T]{}
	return out.event, out.err
}

// Close implements Stream.
func (s *wireStream[T]) Close() {
	s.end.Do(func() {
		s.group.Stop() // ends the request
		s.begin.Do(func() { _ = s.body.Close() })
	})
	s.group.Wait()
}

// scratch is what peeking needs for a moment.
var scratch = sync.Pool{New: func() any { return new([]byte) }}

// peek looks whether the consumer holds an object in this version. A list's
// items come without an envelope, as JSON does.
func (c *codec[T]) peek(object []byte, known Known) (key, resourceVersion string, ok bool) {
	var id wire.Identity
	if isJSON(object) {
		id, ok = wire.PeekJSON(object)
	} else {
		if envelope, err := wire.SplitUnknown(object); err == nil {
			object = envelope.Raw
		}
		id, ok = wire.PeekProto(object)
	}
	if !ok {
		return "", "", false
	}
	buffer := scratch.Get().(*[]byte)
	defer scratch.Put(buffer)
	*buffer = id.Key((*buffer)[:0])
	uid, held, ok := known(unsafe.String(unsafe.SliceData(*buffer), len(*buffer)))
	if !ok || held != string(id.ResourceVersion) || string(uid) != string(id.UID) {
		return "", "", false
	}
	return string(*buffer), held, true
}
