package apiserver

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/internalversion"

	"github.com/listwatch/listwatch/fakeserver/cacher"
)

// eventSource is where the events of a watch come from.
type eventSource interface {
	Next(ctx context.Context) (cacher.Event, error)
	Pending() bool
	Stop()
}

// refusal is the source of a watch that is told an error instead of events.
type refusal struct{ err error }

func (r refusal) Next(context.Context) (cacher.Event, error) { return cacher.Event{}, r.err }
func (r refusal) Pending() bool                              { return true }
func (r refusal) Stop()                                      {}

// watch streams events until the client goes, the timeout passes or the cacher
// ends the watcher. All of these end the body, which is all that clients see.
func (s *Server) watch(q *request) error {
	out, err := q.negotiate(objectForms...)
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
	source, err := q.openWatch(ctx, options, deadline)
	if err != nil {
		return err
	}
	defer source.Stop()
	if out.as == partialList {
		source = refusal{io.EOF} // recorded: nothing is sent in this form
	}
	stream, err := newEventStream(q, out)
	if err != nil {
		return err
	}
	stream.sent, stream.listed = s.metrics.events(q), s.metrics.initial(q)
	defer s.metrics.open(q)()
	if isWebSocket(q.Request) {
		return stream.serveWebSocket(ctx, q, source)
	}
	// Only a watch that serves as a list is worth compressing.
	compress := deref(options.SendInitialEvents) && options.AllowWatchBookmarks && acceptsGzip(q.w)
	if stream.transport, err = beginStream(q.w, out.format, compress); err != nil {
		return err
	}
	s.boundWrites(q.w, deadline.Add(closeGrace))
	err = stream.run(ctx, source)
	if s.ctx.Err() == nil {
		// A pipe holds nothing: a client that reads later still finds the end.
		_ = http.NewResponseController(q.w).SetWriteDeadline(time.Time{})
	}
	return err
}

// boundWrites lets writes of an answer fail after a moment, so that a client
// that reads nothing does not hold a request beyond its time. ServeHTTP lifts it
// from the next request.
func (s *Server) boundWrites(w http.ResponseWriter, moment time.Time) {
	if s.ctx.Err() != nil {
		return // Close has set a bound
	}
	control := http.NewResponseController(w)
	_ = control.SetWriteDeadline(moment) // not every connection can do it
	if s.ctx.Err() != nil {
		_ = control.SetWriteDeadline(time.Now().Add(closeGrace))
	}
}

// openWatch opens a watch. One whose time passes first is open and ends empty.
func (q *request) openWatch(ctx context.Context, options internalversion.ListOptions, deadline time.Time) (eventSource, error) {
	opts := cacher.WatchOptions{
		Predicate:         q.predicate(options),
		ResourceVersion:   options.ResourceVersion,
		SendInitialEvents: options.SendInitialEvents,
		Match:             options.ResourceVersionMatch,
		AllowBookmarks:    options.AllowWatchBookmarks,
		Deadline:          deadline,
	}
	reader, err := q.objects.reader(q.Context())
	if err != nil {
		return nil, err
	}
	if err := q.objects.refuseWatch(ctx, opts); err != nil {
		return refusal{err}, nil
	}
	watcher, err := reader.Watch(ctx, opts)
	switch {
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return refusal{io.EOF}, nil
	case err != nil:
		return nil, err
	case q.objects.isRetired():
		watcher.Stop()
		return refusal{io.EOF}, nil
	}
	return watcher, nil
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
