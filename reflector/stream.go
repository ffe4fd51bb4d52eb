package reflector

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

const (
	// overdueMargin is how much longer than its timeout a watch may live before
	// its connection is taken for dead.
	overdueMargin = 30 * time.Second
	// watchListPatience times Options.WatchListTimeout is the most that initial
	// events may take together.
	watchListPatience = 10
)

// errOrderlyEnd stands for io.EOF at the place where that means an orderly end.
var errOrderlyEnd = errors.New("watch ended by the server")

// openStream is a stream with the timers that watch over it. Each timer ends
// the stream's context with a cause of its own; there is no goroutine.
type openStream[T Object] struct {
	stream Stream[T] // nil while it is being opened
	ctx    context.Context
	cancel context.CancelCauseFunc

	overdue *time.Timer // the server should have ended the watch
	initial *time.Timer // the initial events should have ended; nil once synced
	silence *time.Timer // nothing arrived; nil if unlimited
	patient time.Duration

	probe *probe // not made yet, or on its way; nil if there is none
}

// open opens a watch, or a watch-list.
func (d *driver[T]) open(e effect) input {
	timeout := d.options.WatchTimeout
	timeout += rand.N(timeout)
	s := &openStream[T]{}
	s.ctx, s.cancel = context.WithCancelCause(d.ctx)
	s.overdue = s.after(timeout+overdueMargin, ErrWatchOverdue)
	seconds := int64(timeout / time.Second)
	options := metav1.ListOptions{ResourceVersion: e.resourceVersion, AllowWatchBookmarks: true, TimeoutSeconds: &seconds}
	if e.initialEvents {
		d.taken, d.foreign = 0, nil
		yes := true
		options.SendInitialEvents = &yes
		options.ResourceVersionMatch = metav1.ResourceVersionMatchNotOlderThan
		s.initial = s.after(watchListPatience*d.options.WatchListTimeout, ErrNoInitialEventsEnd)
		s.expect(d.options.WatchListTimeout, ErrNoInitialEventsEnd)
		d.log.V(3).Info("Watch-listing", "resourceVersion", e.resourceVersion, "reason", e.reason)
	} else {
		s.expect(d.options.IdleTimeout, ErrIdle)
		d.log.V(4).Info("Watching", "resourceVersion", e.resourceVersion, "timeout", timeout)
	}
	d.countOpen(e)
	d.stream = s
	stream, err := d.openStream(options, e.initialEvents)
	if err != nil {
		err = s.explain(err)
		d.close()
		return d.failed(err)
	}
	s.stream = stream
	return input{kind: inputOpened}
}

// openStream asks the source. A watch may be interrupted for a relist, a
// watch-list may not.
func (d *driver[T]) openStream(options metav1.ListOptions, initialEvents bool) (Stream[T], error) {
	s := d.stream
	switch {
	case !initialEvents:
		d.forcing.arm(s.cancel)
	case d.streaming != nil && d.known() != nil:
		return d.streaming.WatchKnown(s.ctx, options, d.known())
	}
	return d.source.Watch(s.ctx, options)
}

// next reads the stream.
func (d *driver[T]) next() input {
	s := d.stream
	event, err := s.stream.Next(s.ctx)
	for errors.Is(err, ErrWrongType) && s.ctx.Err() == nil {
		d.skipped(err)
		event, err = s.stream.Next(s.ctx)
	}
	if err != nil {
		return d.failed(s.explain(err))
	}
	switch event.Type {
	case watch.Added, watch.Modified, watch.Deleted, watch.Bookmark:
	default:
		return d.failed(malformed("watch event", "unknown type %q", event.Type))
	}
	s.probe.forgo()
	if s.silence != nil && (s.initial == nil || event.Type == watch.Added) {
		// Only ADDED prolongs the initial events: a server that ignores the
		// wish for them goes on with events of every kind.
		s.silence.Reset(s.patient)
	}
	switch {
	case event.Type == watch.Added:
		d.taken++
	case event.InitialEventsEnd && s.initial != nil && d.onlyForeign():
		return d.failed(d.foreign)
	}
	d.event = event
	return input{kind: inputEvent, event: eventInput{
		eventType: event.Type, resourceVersion: event.ResourceVersion, initialEventsEnd: event.InitialEventsEnd,
	}}
}

// close ends the stream, if there is one.
func (d *driver[T]) close() {
	if d.stream == nil {
		return
	}
	s := d.stream
	d.stream = nil
	d.forcing.arm(nil)
	s.stopTimers()
	s.cancel(nil)
	s.probe.close()
	if s.stream != nil {
		s.stream.Close()
	}
}

// after ends the stream's context with cause in a while.
func (s *openStream[T]) after(delay time.Duration, cause error) *time.Timer {
	cause = fmt.Errorf("%w (%v)", cause, delay)
	return time.AfterFunc(delay, func() { s.cancel(cause) })
}

// expect ends the stream with cause when nothing arrives for delay; zero is
// forever.
func (s *openStream[T]) expect(delay time.Duration, cause error) {
	s.patient = delay
	if s.silence != nil {
		s.silence.Stop()
		s.silence = nil
	}
	if delay > 0 {
		s.silence = s.after(delay, cause)
	}
}

// synced goes over from waiting for initial events to following a watch.
func (s *openStream[T]) synced(idle time.Duration) {
	if s.initial != nil {
		s.initial.Stop()
		s.initial = nil
	}
	s.expect(idle, ErrIdle)
}

func (s *openStream[T]) stopTimers() {
	for _, timer := range []*time.Timer{s.overdue, s.initial, s.silence} {
		if timer != nil {
			timer.Stop()
		}
	}
}

// explain says why a stream ended: our own timers first, as what a client makes
// of an ended context differs.
func (s *openStream[T]) explain(err error) error {
	if s.ctx.Err() != nil {
		return context.Cause(s.ctx)
	}
	if err == io.EOF && s.stream != nil {
		return errOrderlyEnd
	}
	return err
}
