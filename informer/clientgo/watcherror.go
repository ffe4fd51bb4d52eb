package clientgo

import (
	"context"
	"net/http"
	"time"

	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/tools/cache"

	"github.com/listwatch/listwatch/reflector"
)

// trouble tells the watch error handler of failed requests. Its fields belong to
// the reflector's goroutine.
type trouble struct {
	ctx    context.Context
	tell   cache.WatchErrorHandlerWithContext // nil: nobody
	actor  *cache.Reflector                   // for tell
	told   time.Time                          // of the failure seen last
	before reflector.Phase
}

// begin is called before the reflector starts.
func (t *trouble) begin(ctx context.Context, tell cache.WatchErrorHandlerWithContext) {
	t.ctx, t.tell = ctx, tell
}

// SetWatchErrorHandler implements cache.SharedInformer.
func (s *sharedIndexInformer) SetWatchErrorHandler(handler cache.WatchErrorHandler) error {
	if handler == nil {
		return s.SetWatchErrorHandlerWithContext(nil)
	}
	return s.SetWatchErrorHandlerWithContext(func(_ context.Context, r *cache.Reflector, err error) { handler(r, err) })
}

// SetWatchErrorHandlerWithContext implements cache.SharedInformer. The handler is
// called, from the goroutine that lists and watches, for every LIST that fails and
// every watch that is not answered, or that the server refuses or ends with an error;
// unless there is no server (connection refused), it is just busy (429), or the
// informer asks otherwise at once. The Reflector that it is given has the name and
// type, for cache.DefaultWatchErrorHandler; it does not run. Without a handler
// failures are logged.
func (s *sharedIndexInformer) SetWatchErrorHandlerWithContext(handler cache.WatchErrorHandlerWithContext) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.started {
		return ErrStarted
	}
	s.watching = handler
	return nil
}

// observe is told by the reflector of every change of phase and every failure.
func (s *sharedIndexInformer) observe(status reflector.Status) {
	t := &s.trouble
	before := t.before
	t.before = status.Phase
	if t.tell == nil || t.ctx.Err() != nil || !worthTelling(before, status, t.told) {
		return
	}
	t.told = status.LastErrorTime
	if t.actor == nil {
		t.actor = cache.NewReflectorWithOptions(s.lw, s.example, s.store, cache.ReflectorOptions{Name: s.name, TypeDescription: s.name})
	}
	t.tell(t.ctx, t.actor, status.LastError)
}

// worthTelling says whether a step from a phase to status is a failure that a watch
// error handler is told of; the one before was at told.
func worthTelling(before reflector.Phase, status reflector.Status, told time.Time) bool {
	if status.Phase == before || status.LastError == nil {
		return false
	}
	switch {
	case status.Phase == reflector.BackingOff && before == reflector.Listing:
		return true
	case status.Phase == reflector.BackingOff && status.HTTPStatus == 0:
		return !broke(status) && !utilnet.IsConnectionRefused(status.LastError)
	case status.Phase == reflector.BackingOff:
		return status.HTTPStatus != http.StatusTooManyRequests
	}
	// A watch from a version that is forgotten is followed by a list.
	return before == reflector.Watching && status.HTTPStatus == http.StatusGone && !status.LastErrorTime.Equal(told)
}

// broke says whether the newest failure ended a stream, and did not keep one from
// being opened.
func broke(status reflector.Status) bool {
	n := len(status.Recent)
	return n > 0 && status.Recent[n-1].Time.Equal(status.LastErrorTime)
}
