package apiserver

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"reflect"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/listwatch/listwatch/fakeserver/cacher"
)

// watch streams events until the client goes, the timeout passes or the cacher
// ends the watcher. All of these end the body, which is all that clients see.
func (s *Server) watch(q *request) error {
	out, err := negotiateFor(q.Request, objectForms...)
	if err != nil {
		return err
	}
	if out.format == formatYAML {
		return errStreamType()
	}
	options, err := q.listOptions()
	if err != nil {
		return err
	}
	deadline := time.Now().Add(s.watchTimeout(options))
	ctx, cancel := context.WithDeadline(q.Context(), deadline)
	defer cancel()
	reader, err := q.objects.reader(q.Context())
	if err != nil {
		return err
	}
	watcher, err := reader.Watch(ctx, cacher.WatchOptions{
		Predicate:         q.predicate(options),
		ResourceVersion:   options.ResourceVersion,
		SendInitialEvents: options.SendInitialEvents,
		Match:             options.ResourceVersionMatch,
		AllowBookmarks:    options.AllowWatchBookmarks,
		Deadline:          deadline,
	})
	late := errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)
	if err != nil && !late {
		return err
	}
	stream, beginErr := newEventStream(q, out)
	if beginErr == nil {
		beginErr = stream.begin()
	}
	if beginErr != nil {
		if watcher != nil {
			watcher.Stop()
		}
		return beginErr
	}
	if late {
		return nil // the timeout passed before there was a watch: it ends empty
	}
	defer watcher.Stop()
	if out.as == partialList {
		return nil // recorded: nothing is sent in this form
	}
	return stream.run(ctx, watcher)
}

// watchTimeout spreads the ends of watches that name none, so that clients do
// not all come back at once. 0 counts as none; a negative one has passed already.
func (s *Server) watchTimeout(options internalversion.ListOptions) time.Duration {
	if t := options.TimeoutSeconds; t != nil && *t != 0 {
		return time.Duration(*t) * time.Second
	}
	least := float64(s.options.MinWatchTimeout)
	return time.Duration(least * (1 + rand.Float64()))
}

// eventStream writes events as frames.
type eventStream struct {
	encoder
	w       http.ResponseWriter
	control *http.ResponseController
	// columns of the next event's Table: only the first event has them.
	columns []byte
}

func newEventStream(q *request, out output) (*eventStream, error) {
	s := &eventStream{encoder: newEncoder(q.resource, out), w: q.w, control: http.NewResponseController(q.w)}
	if out.as != tableForm {
		return s, nil
	}
	err := s.checkTable()
	if err == nil {
		s.columns, err = s.encoder.columns()
	}
	return s, err
}

// begin sends the headers at once: clients wait for them before they count a
// watch as open.
func (s *eventStream) begin() error {
	contentType := s.out.format.String()
	if s.out.format == formatProtobuf {
		contentType += ";stream=watch"
	}
	h := s.w.Header()
	h.Set("Content-Type", contentType)
	h.Set("Cache-Control", "no-cache, private")
	s.w.WriteHeader(http.StatusOK)
	return s.control.Flush()
}

// run copies events until the watch ends. It flushes when nothing more is
// waiting, so that a burst is sent in few pieces and nothing is held back.
func (s *eventStream) run(ctx context.Context, watcher *cacher.Watcher) error {
	for {
		event, err := watcher.Next(ctx)
		if err != nil {
			return s.end(ctx, err)
		}
		if err := s.send(event); err != nil {
			return err
		}
		if !watcher.Pending() {
			if err := s.control.Flush(); err != nil {
				return err
			}
		}
	}
}

// end tells the client why the watch is over, unless it is over in an orderly
// way.
func (s *eventStream) end(ctx context.Context, err error) error {
	if errors.Is(err, io.EOF) || ctx.Err() != nil {
		return nil
	}
	status := statusOf(err)
	body, err := encodeBody(&status, statusKind, s.out.format)
	if err != nil {
		return err
	}
	if err := s.out.writeEvent(s.w, watch.Error, statusKind, body); err != nil {
		return err
	}
	return s.control.Flush()
}

func (s *eventStream) send(event cacher.Event) error {
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
	return s.out.writeEvent(s.w, event.Type, s.kind(), body)
}

// bookmark is an empty object that has a resourceVersion.
func (s *eventStream) bookmark(event cacher.Event) ([]byte, error) {
	obj := reflect.New(s.resource.stored.goType).Interface().(runtime.Object)
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
