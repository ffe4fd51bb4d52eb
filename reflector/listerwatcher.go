package reflector

import (
	"context"
	"io"
	"reflect"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
)

// watchListRefuser is how clients say that they cannot answer a watch-list;
// client-go's fake clients do.
type watchListRefuser interface {
	IsWatchListSemanticsUnSupported() bool
}

// refusesWatchList reports whether client says that it lacks watch-list.
func refusesWatchList(client any) bool {
	refuser, ok := client.(watchListRefuser)
	return ok && refuser.IsWatchListSemanticsUnSupported()
}

// FromListerWatcher reads through any client of client-go: typed, dynamic,
// metadata or fake. The methods with a context are used where lw has them; one
// without cannot be interrupted, so that Run waits for its answer. An object
// that is not a T is reported as *DecodeError.
//
// client-go hides from a watch why its connection ended: a reset looks like an
// orderly end.
//
// A Source of a nil client is refused by New, and gives nothing but errors that
// wrap ErrInvalidOptions.
func FromListerWatcher[T Object](lw cache.ListerWatcher) Source[T] {
	if isNil(lw) {
		return noSource[T]{"the cache.ListerWatcher"}
	}
	return &listerWatcherSource[T]{
		client:         cache.ToListerWatcherWithContext(lw),
		lacksWatchList: refusesWatchList(lw),
	}
}

// FromListerWatcherWithContext is FromListerWatcher for a client that has only
// the methods with a context.
func FromListerWatcherWithContext[T Object](lw cache.ListerWatcherWithContext) Source[T] {
	if isNil(lw) {
		return noSource[T]{"the cache.ListerWatcherWithContext"}
	}
	return &listerWatcherSource[T]{client: lw, lacksWatchList: refusesWatchList(lw)}
}

type listerWatcherSource[T Object] struct {
	client         cache.ListerWatcherWithContext
	lacksWatchList bool
}

// IsWatchListSemanticsUnSupported passes on what the client says.
func (s *listerWatcherSource[T]) IsWatchListSemanticsUnSupported() bool { return s.lacksWatchList }

// List implements Source.
func (s *listerWatcherSource[T]) List(ctx context.Context, options metav1.ListOptions) (Page[T], error) {
	list, err := s.client.ListWithContext(ctx, options)
	if err != nil {
		return Page[T]{}, err
	}
	return toPage[T](list)
}

// Watch implements Source.
func (s *listerWatcherSource[T]) Watch(ctx context.Context, options metav1.ListOptions) (Stream[T], error) {
	watcher, err := s.client.WatchWithContext(ctx, options)
	return newWatchStream[T](watcher, err)
}

// stopTimeout is how long Close waits for a watch.Interface to close its
// channel. Those of client-go do so at once; one that never does must not hang
// Run.
const stopTimeout = time.Second

// brokenWatch is the type of the empty watch that rest.Request.Watch returns,
// without an error, when the connection broke before the answer.
var brokenWatch = reflect.TypeOf(watch.NewEmptyWatch())

// watchStream reads a watch.Interface.
type watchStream[T Object] struct {
	watcher watch.Interface
	events  <-chan watch.Event
	closed  bool
}

// newWatchStream makes a Stream of the two results of a client's Watch.
func newWatchStream[T Object](watcher watch.Interface, err error) (Stream[T], error) {
	switch {
	case err != nil:
		return nil, err
	case watcher == nil:
		return nil, malformed("watch event", "the client returned no watch")
	case reflect.TypeOf(watcher) == brokenWatch:
		watcher.Stop()
		return nil, ErrConnectionLost
	}
	return &watchStream[T]{watcher: watcher, events: watcher.ResultChan()}, nil
}

// Next implements Stream.
func (s *watchStream[T]) Next(ctx context.Context) (Event[T], error) {
	select {
	case event, open := <-s.events:
		if !open {
			return Event[T]{}, io.EOF
		}
		return toEvent[T](event)
	case <-ctx.Done():
		return Event[T]{}, ctx.Err()
	}
}

// Close implements Stream. The channel is read to its end, because a watch that
// wraps another one (watch.Filter) has a goroutine that may be sending.
func (s *watchStream[T]) Close() {
	if s.closed {
		return
	}
	s.closed = true
	s.watcher.Stop()
	patience := time.NewTimer(stopTimeout)
	defer patience.Stop()
	for {
		select {
		case _, open := <-s.events:
			if !open {
				return
			}
		case <-patience.C:
			return
		}
	}
}

// clientWatchDecoding is the cause that client-go puts into the ERROR event by
// which it reports a frame that it could not read.
const clientWatchDecoding metav1.CauseType = "ClientWatchDecoding"

// eventError turns an ERROR event into the error it stands for.
func eventError(event watch.Event) error {
	err := apierrors.FromObject(event.Object)
	if apierrors.HasStatusCause(err, clientWatchDecoding) {
		return &DecodeError{Subject: "watch event", Err: err}
	}
	return err
}
