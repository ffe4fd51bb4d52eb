package apiserver

import (
	"compress/gzip"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net/http"
	"reflect"
	"strconv"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/listwatch/listwatch/fakeserver/cacher"
)

// transport is how the frames of a watch travel.
type transport interface {
	// send sends one frame, whole. It does not keep it.
	send(frame []byte) error
	flush() error
}

// eventStream writes the events of a watch as frames.
type eventStream struct {
	encoder
	transport transport
	kind      *storedKind
	// start is that of the envelope of every event but errors.
	start []byte
	// columns of the next event's Table: only the first event has them.
	columns []byte
	// sent is called for every frame, with its size.
	sent func(size int)
	// listed is called when the initial events were sent.
	listed func()
}

func newEventStream(q *request, out output) (*eventStream, error) {
	s := &eventStream{encoder: newEncoder(q.resource, out), kind: q.resource.stored}
	if out.format == formatProtobuf {
		s.start = envelopeStart(s.encoder.kind())
	}
	if out.as != tableForm {
		return s, nil
	}
	err := s.checkTable()
	if err == nil {
		s.columns, err = s.encoder.columns()
	}
	return s, err
}

// run copies events until the watch ends. It flushes when nothing more is
// waiting, so that a burst is sent in few pieces and nothing is held back.
func (s *eventStream) run(ctx context.Context, source eventSource) error {
	for {
		event, err := source.Next(ctx)
		if err != nil {
			return s.end(ctx, err)
		}
		if err := s.event(event); err != nil {
			return err
		}
		if !source.Pending() {
			if err := s.transport.flush(); err != nil {
				return err
			}
		}
	}
}

// end tells the client why the watch is over, unless it is over in an orderly
// way.
func (s *eventStream) end(ctx context.Context, err error) error {
	if errors.Is(err, io.EOF) || ctx.Err() != nil {
		return s.transport.flush()
	}
	status := statusOf(s.kind.watchError(err))
	body, err := encodeBody(&status, statusKind, s.out.format)
	if err != nil {
		return err
	}
	if err := s.send(watch.Error, envelopeStart(statusKind), body); err != nil {
		return err
	}
	return s.transport.flush()
}

func (s *eventStream) event(event cacher.Event) error {
	var body []byte
	var err error
	switch {
	case event.Type == watch.Bookmark:
		body, err = s.bookmark(event)
	case s.out.as == tableForm:
		body, err = s.itemTable(event.Item, s.columns)
	default:
		body, err = s.item(event.Item)
	}
	if err != nil {
		return err
	}
	s.columns = nullObject
	if event.InitialEventsEnd {
		defer s.listed()
	}
	return s.send(event.Type, s.start, body)
}

// bookmark is an empty object that has a resourceVersion.
func (s *eventStream) bookmark(event cacher.Event) ([]byte, error) {
	obj := reflect.New(s.kind.goType).Interface().(runtime.Object)
	accessor, err := meta.Accessor(obj)
	if err != nil {
		return nil, err
	}
	accessor.SetResourceVersion(strconv.FormatUint(event.ResourceVersion, 10))
	if event.InitialEventsEnd {
		accessor.SetAnnotations(map[string]string{metav1.InitialEventsAnnotationKey: "true"})
	}
	if s.out.as == tableForm {
		return s.objectTable(obj, s.columns)
	}
	return s.body(obj)
}

// frameBuffers are shared by all streams, so that an idle one holds none.
var frameBuffers = sync.Pool{New: func() any { return new([]byte) }}

// frameKept is the size, in bytes, up to which a buffer is kept.
const frameKept = 64 << 10

// send sends an event. start, of the envelope, and body are those of its object.
func (s *eventStream) send(t watch.EventType, start, body []byte) error {
	buffer := frameBuffers.Get().(*[]byte)
	frame := s.out.appendFrame((*buffer)[:0], t, start, body)
	err := s.transport.send(frame)
	s.sent(len(frame))
	if cap(frame) <= frameKept {
		*buffer = frame
		frameBuffers.Put(buffer)
	}
	return err
}

// lengthSize is the size of the length in front of a protobuf event.
const lengthSize = 4

// appendFrame appends an event as it is framed in a body: JSON with a line end,
// or protobuf behind its length.
func (o output) appendFrame(dst []byte, t watch.EventType, start, body []byte) []byte {
	if o.format != formatProtobuf {
		dst = append(dst, `{"type":"`...)
		dst = append(dst, t...)
		dst = append(dst, `","object":`...)
		dst = append(dst, body...)
		return append(dst, "}\n"...)
	}
	begin := len(dst)
	dst = append(dst, 0, 0, 0, 0) // the length
	dst = binary.AppendUvarint(dst, 1<<3|2)
	dst = binary.AppendUvarint(dst, uint64(len(t)))
	dst = append(dst, t...)
	// The object is a message RawExtension, of one field: the enveloped object.
	size := len(start) + fieldSize(len(body)) + len(envelopeTail)
	dst = binary.AppendUvarint(dst, 2<<3|2)
	dst = binary.AppendUvarint(dst, uint64(fieldSize(size)))
	dst = binary.AppendUvarint(dst, 1<<3|2)
	dst = binary.AppendUvarint(dst, uint64(size))
	dst = appendField(append(dst, start...), 2, body)
	dst = append(dst, envelopeTail...)
	binary.BigEndian.PutUint32(dst[begin:], uint32(len(dst)-begin-lengthSize))
	return dst
}

// bodyTransport is the body of an answer.
type bodyTransport struct {
	w       io.Writer
	control *http.ResponseController
	// compressor is nil if nothing was written since the last flush.
	compressor *gzip.Writer
	compress   bool
}

// beginStream sends the headers at once: clients wait for them before they count
// a watch as open.
func beginStream(w http.ResponseWriter, f format, compress bool) (*bodyTransport, error) {
	contentType := f.String()
	if f == formatProtobuf {
		contentType += ";stream=watch"
	}
	h := w.Header()
	h.Set("Content-Type", contentType)
	h.Set("Cache-Control", "no-cache, private")
	if compress {
		h.Set("Content-Encoding", "gzip")
		h.Add("Vary", "Accept-Encoding")
	}
	w.WriteHeader(http.StatusOK)
	t := &bodyTransport{w: w, control: http.NewResponseController(w), compress: compress}
	return t, t.control.Flush()
}

func (t *bodyTransport) send(frame []byte) error {
	if !t.compress {
		_, err := t.w.Write(frame)
		return err
	}
	if t.compressor == nil {
		t.compressor = gzipWriters.Get().(*gzip.Writer)
		t.compressor.Reset(t.w)
	}
	_, err := t.compressor.Write(frame)
	return err
}

// flush ends what is being compressed: what was flushed together is a gzip
// member of its own, as a real server sends it, and an idle watch holds no
// compressor.
func (t *bodyTransport) flush() error {
	if z := t.compressor; z != nil {
		t.compressor = nil
		// A reader may keep back the last block of a member until it sees the next
		// one, so the events must be in a block before it.
		err := errors.Join(z.Flush(), z.Close())
		z.Reset(io.Discard)
		gzipWriters.Put(z)
		if err != nil {
			return err
		}
	}
	return t.control.Flush()
}
