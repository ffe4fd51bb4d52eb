package differential

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
)

// server is the API server of one side: a collection with its history, from
// which it answers as a server does, unless the script has another answer.
// Both sides have one of their own and the same script, so that an informer
// which asks something else gets the answer to that.
//
// bubble: it lives in the bubble of its side.
type server struct {
	kind kind

	mu        sync.Mutex // guards the rest; never held while waiting
	version   int64      // of the newest change
	objects   map[string]object
	uids      map[string]int // how many objects had a key
	history   []change
	forgotten int64 // what came before that version is not in history
	pageSize  int   // of pages where the client asks for a limit; 0: the limit
	timeouts  bool  // watches end after timeoutSeconds
	listOnly  bool  // the client says that it lacks watch-list
	answers   []*answer
	tokens    map[string][]object // rest of the list by continue token
	streams   []*stream
	requests  []*request
	idleSince time.Time // end of the last request or stream
	stopping  bool
	run       int // of the informer, from 1
}

// change is an entry of the history.
type change struct {
	at     int64
	event  watch.EventType
	object object
}

func newServer(k kind) *server {
	return &server{kind: k, version: 10, forgotten: 0, objects: map[string]object{}, uids: map[string]int{},
		tokens: map[string][]object{}}
}

// IsWatchListSemanticsUnSupported is client-go's question to a client.
func (s *server) IsWatchListSemanticsUnSupported() bool { return s.listOnly }

// List implements cache.ListerWatcher.
func (s *server) List(options metav1.ListOptions) (runtime.Object, error) {
	return s.ListWithContext(context.Background(), options)
}

// Watch implements cache.ListerWatcher.
func (s *server) Watch(options metav1.ListOptions) (watch.Interface, error) {
	return s.WatchWithContext(context.Background(), options)
}

// ListWithContext implements cache.ListerWatcherWithContext.
func (s *server) ListWithContext(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	word := "list"
	if options.Continue != "" {
		word = "page"
	}
	r, a := s.begin("LIST", word, options)
	if err := a.wait(ctx); err != nil {
		s.end(r, "given up after "+time.Since(r.at).String())
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	list, outcome, err := s.list(a, options)
	s.finish(r, outcome)
	return list, err
}

// WatchWithContext implements cache.ListerWatcherWithContext.
func (s *server) WatchWithContext(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	verb, word := "WATCH", "watch"
	if options.SendInitialEvents != nil && *options.SendInitialEvents {
		verb, word = "WATCH-LIST", "watch-list"
	}
	r, a := s.begin(verb, word, options)
	if err := a.wait(ctx); err != nil {
		s.end(r, "given up after "+time.Since(r.at).String())
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	w, outcome, err := s.open(r, a, options)
	if outcome != "" {
		s.finish(r, outcome)
	}
	return w, err
}

// wait is what comes before an answer.
func (a *answer) wait(ctx context.Context) error {
	if a.hang {
		<-ctx.Done()
		return ctx.Err()
	}
	if a.delay == 0 {
		return nil
	}
	timer := time.NewTimer(a.delay)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// begin notes a request and takes the answer that the script has for it.
func (s *server) begin(verb, word string, options metav1.ListOptions) (*request, *answer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := &request{verb: verb, options: options, at: time.Now(), run: s.run}
	if len(s.requests) > 0 {
		r.gap = r.at.Sub(s.idleSince)
	}
	s.requests = append(s.requests, r)
	for _, a := range s.answers {
		if a.request == word && (a.unlimited || a.left > 0) {
			a.left--
			a.used++
			return r, a
		}
	}
	return r, &answer{ends: -1}
}

// end is finish for who does not hold mu.
func (s *server) end(r *request, outcome string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.finish(r, outcome)
}

// finish notes what became of a request, the first time; nothing counts any
// more once the informer is told to stop.
func (s *server) finish(r *request, outcome string) {
	if r.outcome == "" && !s.stopping {
		r.outcome = outcome
		s.idleSince = time.Now()
	}
}

// list answers a LIST.
func (s *server) list(a *answer, options metav1.ListOptions) (runtime.Object, string, error) {
	switch {
	case a.failure != "":
		err, _ := failureOf(a.failure, a.retry)
		return nil, a.failure, err
	case a.flags["nil"]:
		return nil, "nil", nil
	case a.flags["table"]:
		list, err := table(fmt.Sprint(s.version)).ToList()
		return list, "a Table", err
	case a.flags["wrong-type"]:
		return &corev1.SecretList{Items: []corev1.Secret{{}}}, "Secrets", nil
	}
	items, rest := s.sorted(), 0
	if options.Continue != "" {
		items = s.tokens[options.Continue]
	} else if n, _ := strconv.ParseInt(options.ResourceVersion, 10, 64); n > s.version {
		err, _ := failureOf("too-large", 0)
		return nil, "too-large", err
	}
	token := ""
	if size := s.limit(options); size > 0 && size < len(items) {
		rest = len(items) - size
		token = fmt.Sprintf("after-%s", items[size-1].key())
		s.tokens[token] = items[size:]
		items = items[:size]
	}
	version := fmt.Sprint(s.version)
	if a.version != "" {
		version = strings.TrimPrefix(a.version, "none")
	}
	outcome := fmt.Sprintf("%s at %q", count(len(items), "item"), version)
	if rest > 0 {
		outcome += ", more"
	}
	return s.kind.list(items, version, token), outcome, nil
}

// limit is how many items a page has. A LIST at "0" is answered from a cache
// in one go, unless the script says that the server pages.
func (s *server) limit(options metav1.ListOptions) int {
	if options.Limit == 0 || s.pageSize == 0 {
		return 0
	}
	return min(s.pageSize, int(options.Limit))
}

// sorted returns the collection in key order.
func (s *server) sorted() []object {
	var items []object
	for _, o := range s.objects {
		items = append(items, o)
	}
	slices.SortFunc(items, func(a, b object) int { return strings.Compare(a.namespace+"/"+a.name, b.namespace+"/"+b.name) })
	return items
}

// count writes a number of things.
func count(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// open answers a WATCH or watch-list; outcome is "" while the stream lives.
func (s *server) open(r *request, a *answer, options metav1.ListOptions) (w watch.Interface, outcome string, err error) {
	initial := r.verb == "WATCH-LIST"
	at, _ := strconv.ParseInt(options.ResourceVersion, 10, 64)
	word := a.failure
	switch {
	case word != "":
	case initial && at > s.version:
		word = "too-large"
	case !initial && at > 0 && at < s.forgotten:
		word = "410"
	}
	if word != "" {
		err, _ := failureOf(word, a.retry)
		return nil, word, err
	}
	if a.flags["broken"] {
		return watch.NewEmptyWatch(), "broken", nil
	}
	if a.flags["nil"] {
		return nil, "nil", nil
	}
	st := &stream{server: s, request: r, events: make(chan watch.Event, 1000), silent: a.flags["silent"]}
	s.streams = append(s.streams, st)
	s.begins(st, initial && !a.flags["no-end"], at)
	if a.error != "" {
		st.fail(a.error, a.retry)
	}
	if a.ends == 0 {
		st.close("closed")
	} else if a.ends > 0 {
		st.endAfter(a.ends)
	}
	if s.timeouts && options.TimeoutSeconds != nil {
		st.endAfter(time.Duration(*options.TimeoutSeconds) * time.Second)
	}
	return st, "", nil
}

// begins sends what a stream at a version begins with.
func (s *server) begins(st *stream, marked bool, at int64) {
	if at == 0 || st.request.verb == "WATCH-LIST" {
		for _, o := range s.sorted() {
			st.send(watch.Added, s.kind.object(o))
		}
		if marked {
			st.send(watch.Bookmark, s.bookmark(fmt.Sprint(s.version), true))
		}
		return
	}
	for _, c := range s.history {
		if c.at > at {
			st.send(c.event, s.kind.object(c.object))
		}
	}
}

// bookmark makes a bookmark's object.
func (s *server) bookmark(version string, initialEnd bool) runtime.Object {
	o := s.kind.object(object{version: version})
	if initialEnd {
		o.(metav1.Object).SetAnnotations(map[string]string{metav1.InitialEventsAnnotationKey: "true"})
	}
	return o
}

// stream is an open watch.
//
// bubble: it lives in the bubble of its side.
type stream struct {
	server  *server
	request *request
	events  chan watch.Event
	silent  bool
	closed  bool // by whichever side; guarded by server.mu
}

// ResultChan implements watch.Interface.
func (st *stream) ResultChan() <-chan watch.Event { return st.events }

// Stop implements watch.Interface.
func (st *stream) Stop() {
	st.server.mu.Lock()
	defer st.server.mu.Unlock()
	st.close("hung up after " + lifetime(time.Since(st.request.at)))
}

// send, fail and close are called with server.mu held.
func (st *stream) send(event watch.EventType, o runtime.Object) {
	if !st.closed && !st.silent {
		if m, ok := o.(metav1.Object); ok && m.GetAnnotations()[metav1.InitialEventsAnnotationKey] != "" {
			st.request.synced = true
		}
		st.events <- watch.Event{Type: event, Object: o} // has room, or the script is too long
	}
}

func (st *stream) fail(word string, retryAfter time.Duration) {
	if !st.closed {
		st.events <- watch.Event{Type: watch.Error, Object: errorObject(word, retryAfter)}
		st.close("ERROR " + word)
	}
}

func (st *stream) close(outcome string) {
	if st.closed {
		return
	}
	st.closed = true
	close(st.events)
	st.server.streams = slices.DeleteFunc(st.server.streams, func(other *stream) bool { return other == st })
	if lived := time.Since(st.request.at); lived < time.Second && outcome == "closed" {
		outcome = "closed at once"
	}
	st.server.finish(st.request, outcome)
}

// endAfter ends a stream in an orderly way.
func (st *stream) endAfter(delay time.Duration) {
	time.AfterFunc(delay, func() {
		st.server.mu.Lock()
		defer st.server.mu.Unlock()
		st.close("closed")
	})
}
