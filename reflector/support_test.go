package reflector

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/klog/v2"
)

// object is the smallest type of object.
type object = metav1.PartialObjectMetadata

func obj(name, resourceVersion string) *object {
	return &object{ObjectMeta: metav1.ObjectMeta{Name: name, ResourceVersion: resourceVersion}}
}

// request is what a scripted source was asked.
type request struct {
	verb    string // "list", "probe", "watch", "watch-list"
	at      time.Duration
	options metav1.ListOptions
}

func (r request) String() string {
	if r.verb == "probe" {
		return r.verb
	}
	text := fmt.Sprintf("%s %q", r.verb, r.options.ResourceVersion)
	if r.options.Continue != "" {
		text += " after " + r.options.Continue
	}
	return text
}

// scripted is a Source that answers what its functions say and notes what it
// was asked.
type scripted struct {
	onList      func(n int, options metav1.ListOptions) (Page[*object], error)
	onProbe     func(ctx context.Context, n int) (Page[*object], error)
	onWatch     func(n int, options metav1.ListOptions) (Stream[*object], error)
	onWatchList func(n int, options metav1.ListOptions) (Stream[*object], error)

	mu       sync.Mutex
	began    time.Time
	requests []request
	streams  []*fakeStream
}

// note records a request and returns how many of its verb there were before.
func (s *scripted) note(verb string, options metav1.ListOptions) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, r := range s.requests {
		if r.verb == verb {
			n++
		}
	}
	s.requests = append(s.requests, request{verb, time.Since(s.began), options})
	return n
}

func (s *scripted) List(ctx context.Context, options metav1.ListOptions) (Page[*object], error) {
	if options.Limit == 1 && options.ResourceVersion == "" {
		n := s.note("probe", options)
		if s.onProbe != nil {
			return s.onProbe(ctx, n)
		}
		return Page[*object]{ResourceVersion: "10", Items: []*object{obj("a", "5")}}, nil
	}
	n := s.note("list", options)
	if s.onList == nil {
		return Page[*object]{ResourceVersion: "10", Items: []*object{obj("a", "5")}}, nil
	}
	return s.onList(n, options)
}

func (s *scripted) Watch(_ context.Context, options metav1.ListOptions) (Stream[*object], error) {
	verb, answer := "watch", s.onWatch
	if options.SendInitialEvents != nil {
		verb, answer = "watch-list", s.onWatchList
	}
	n := s.note(verb, options)
	if answer == nil {
		return s.keep(silent(), nil)
	}
	return s.keep(answer(n, options))
}

// keep remembers a stream to see whether it was closed.
func (s *scripted) keep(stream Stream[*object], err error) (Stream[*object], error) {
	if fake, ok := stream.(*fakeStream); ok {
		s.mu.Lock()
		s.streams = append(s.streams, fake)
		s.mu.Unlock()
	}
	return stream, err
}

// trace is the requests since from.
func (s *scripted) trace(from int) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var parts []string
	for _, r := range s.requests[from:] {
		parts = append(parts, r.String())
	}
	return strings.Join(parts, ", ")
}

func (s *scripted) asked() []request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// frame is one thing that happens on a fake stream.
type frame struct {
	after time.Duration
	event Event[*object]
	err   error
}

// fakeStream plays its frames, then stays silent.
//
// bubble: its delays are virtual; start is only called in bubbles.
type fakeStream struct {
	mu     sync.Mutex
	frames []frame
	closed bool
}

func plays(frames ...frame) *fakeStream { return &fakeStream{frames: frames} }

func silent() *fakeStream { return plays() }

// endsAfter is a stream that gives nothing but an end.
func endsAfter(d time.Duration, err error) *fakeStream { return plays(frame{after: d, err: err}) }

func added(o *object) frame   { return typed(watch.Added, o) }
func changed(o *object) frame { return typed(watch.Modified, o) }
func deleted(o *object) frame { return typed(watch.Deleted, o) }

func typed(eventType watch.EventType, o *object) frame {
	return frame{event: Event[*object]{Type: eventType, Object: o, ResourceVersion: o.ResourceVersion}}
}

func bookmark(resourceVersion string, end bool) frame {
	return frame{event: Event[*object]{Type: watch.Bookmark, ResourceVersion: resourceVersion, InitialEventsEnd: end}}
}

func (s *fakeStream) Next(ctx context.Context) (Event[*object], error) {
	s.mu.Lock()
	var next frame
	more := len(s.frames) > 0
	if more {
		next, s.frames = s.frames[0], s.frames[1:]
	}
	s.mu.Unlock()
	if !more {
		<-ctx.Done()
		// client-go's streams show an ended context as an orderly end.
		return Event[*object]{}, io.EOF
	}
	select {
	case <-ctx.Done():
		return Event[*object]{}, ctx.Err()
	case <-time.After(next.after):
		return next.event, next.err
	}
}

func (s *fakeStream) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
}

// recorder is a Sink that writes down its calls, holds the collection, and
// notices a broken bracket.
type recorder struct {
	mu      sync.Mutex
	calls   []string
	objects map[string]string // name to version
	pending map[string]string // nil outside a bracket
	broken  []string
}

func (r *recorder) call(bracket bool, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	r.calls = append(r.calls, text)
	if bracket != (r.pending != nil) {
		r.broken = append(r.broken, text)
	}
}

func (r *recorder) locked(f func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.objects == nil {
		r.objects = map[string]string{}
	}
	f()
}

func (r *recorder) BeginReplace(reason string) {
	r.locked(func() { r.call(false, "begin %s", reason); r.pending = map[string]string{} })
}
func (r *recorder) ReplaceItem(o *object) {
	r.locked(func() {
		r.call(true, "item %s@%s", o.Name, o.ResourceVersion)
		if r.pending != nil {
			r.pending[o.Name] = o.ResourceVersion
		}
	})
}
func (r *recorder) EndReplace(resourceVersion string) {
	r.locked(func() { r.call(true, "end %s", resourceVersion); r.objects, r.pending = r.pending, nil })
}
func (r *recorder) AbortReplace() {
	r.locked(func() { r.call(true, "abort"); r.pending = nil })
}
func (r *recorder) Add(o *object) {
	r.locked(func() { r.call(false, "add %s@%s", o.Name, o.ResourceVersion); r.objects[o.Name] = o.ResourceVersion })
}
func (r *recorder) Update(o *object) {
	r.locked(func() {
		r.call(false, "update %s@%s", o.Name, o.ResourceVersion)
		r.objects[o.Name] = o.ResourceVersion
	})
}
func (r *recorder) Delete(o *object) {
	r.locked(func() { r.call(false, "delete %s@%s", o.Name, o.ResourceVersion); delete(r.objects, o.Name) })
}
func (r *recorder) Bookmark(resourceVersion string) {
	r.locked(func() { r.call(false, "bookmark %s", resourceVersion) })
}

func (r *recorder) trace() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return strings.Join(r.calls, ", ")
}

// contents lists name@version of the collection.
func (r *recorder) contents() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(r.objects)) {
		parts = append(parts, name+"@"+r.objects[name])
	}
	return strings.Join(parts, " ")
}

// rig runs a Reflector over a scripted source.
//
// bubble: start must be called in one.
type rig struct {
	*Reflector[*object]
	t      *testing.T
	source *scripted
	sink   *recorder
	cancel context.CancelFunc
	done   chan error
}

// start runs the reflector, and at the end of the test stops it and checks that
// streams and brackets are closed.
func start(t *testing.T, source *scripted, options Options) *rig {
	t.Helper()
	return startForm(t, source, source, options)
}

// startForm is start of another form of source.
func startForm(t *testing.T, source *scripted, form Source[*object], options Options) *rig {
	t.Helper()
	source.began = time.Now()
	r := &rig{t: t, source: source, sink: &recorder{}, done: make(chan error, 1)}
	var err error
	if r.Reflector, err = New[*object](form, r.sink, options); err != nil {
		t.Fatal(err)
	}
	r.run()
	t.Cleanup(r.stop)
	return r
}

// quiet is a context whose logger says nothing.
func quiet() context.Context { return klog.NewContext(context.Background(), klog.New(nil)) }

func (r *rig) run() {
	ctx, cancel := context.WithCancel(quiet())
	r.cancel = cancel
	go func() { r.done <- r.Run(ctx) }()
}

// stop ends Run, which must not take any time. It may be called again.
func (r *rig) stop() {
	if r.cancel == nil {
		return
	}
	began := time.Now()
	r.cancel()
	r.cancel = nil
	if err := <-r.done; err != context.Canceled {
		r.t.Errorf("Run returned %v", err)
	}
	if took := time.Since(began); took != 0 {
		r.t.Errorf("the stop took %v", took)
	}
	if len(r.sink.broken) > 0 || r.sink.pending != nil {
		r.t.Errorf("broken bracket: %q, open: %v", r.sink.broken, r.sink.pending != nil)
	}
	for i, s := range r.source.streams {
		if !s.closed {
			r.t.Errorf("stream %d was not closed", i)
		}
	}
}

// after lets virtual time pass.
func (r *rig) after(d time.Duration) {
	r.t.Helper()
	if d > 0 {
		<-time.After(d)
	}
	synctest.Wait()
}

// want compares.
func want[V comparable](t *testing.T, what string, got, want V) {
	t.Helper()
	if got != want {
		t.Errorf("%s\n got %v\nwant %v", what, got, want)
	}
}
