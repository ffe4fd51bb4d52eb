package apiserver

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/klog/v2"

	"github.com/listwatch/listwatch/fakeserver/storage"
)

// Server answers HTTP requests. Use New. All methods may be called
// concurrently.
type Server struct {
	options     Options
	builtin     *catalog
	served      atomic.Pointer[served]
	definitions definitions
	ctx         context.Context // ends with Close
	cancel      context.CancelFunc
	metrics     *metrics
	limits      limits
	cuts        cuts

	mu      sync.Mutex // guards closed, and orders requests before Close's wait
	closed  bool
	running sync.WaitGroup
}

// systemNamespaces exist on every server.
var systemNamespaces = []string{
	corev1.NamespaceDefault, "kube-system", "kube-public", corev1.NamespaceNodeLease,
}

// New makes a Server and the namespaces that every cluster has. Of what the
// store holds it reads only the definitions of custom resources, and caches
// nothing: what a resource needs is made at its first use. Errors
// wrap ErrOptions, ErrCatalog or the store's.
func New(options Options) (*Server, error) {
	options, err := options.complete()
	if err != nil {
		return nil, err
	}
	catalog, err := builtin()
	if options.StableOnly && err == nil {
		catalog, err = builtinStable()
	}
	if err != nil {
		return nil, err
	}
	s := &Server{options: options, builtin: catalog, definitions: newDefinitions(), metrics: newMetrics()}
	s.served.Store(s.firstServed(catalog))
	s.metrics.registry.MustRegister(newUsage(options.Store, func() []*storedKind { return s.served.Load().kinds() }))
	s.ctx, s.cancel = context.WithCancel(context.Background())
	for _, name := range systemNamespaces {
		if err := s.createSystemNamespace(name); err != nil {
			s.cancel()
			return nil, fmt.Errorf("create namespace %s: %w", name, err)
		}
	}
	if err := s.loadDefinitions(); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

func (s *Server) createSystemNamespace(name string) error {
	ns := &corev1.Namespace{}
	ns.Name = name
	c := s.namespaces()
	prepareNamespace(ns)
	stampNew(c.kind, ns)
	_, err := c.create(s.ctx, "", name, ns)
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

// namespaces is the collection of namespaces, in which others look.
func (s *Server) namespaces() *collection {
	_, objects := s.served.Load().find(schema.GroupVersionResource{Version: "v1", Resource: "namespaces"})
	return objects
}

// ServeHTTP answers one request. It returns when the answer is written; for a
// watch, when that has ended.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !s.enter() {
		sendError(w, r, apierrors.NewServiceUnavailable(ErrClosed.Error()))
		return
	}
	defer s.running.Done()
	tracked := &trackingWriter{ResponseWriter: w, gzip: takesGzip(r.Header)}
	defer s.metrics.observe(tracked, r, time.Now())
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	_ = http.NewResponseController(w).SetWriteDeadline(time.Time{}) // of the request before
	defer context.AfterFunc(s.ctx, func() {
		cancel()
		// Not every connection can do it; the handler may be stuck then.
		_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(closeGrace))
	})()
	defer answerPanic(tracked, r)
	if err := s.serve(tracked, r.WithContext(ctx)); err != nil {
		if tracked.begun {
			klog.FromContext(ctx).V(2).Info("Answer was cut short", "path", r.URL.Path, "err", err)
			return
		}
		sendError(tracked, r, err)
	}
}

// serve answers a request within the limits for it.
func (s *Server) serve(w *trackingWriter, r *http.Request) error {
	t := parsePath(r.URL.EscapedPath())
	if isLongRunning(r, t) {
		return s.cuts.serve(w, r, func(r *http.Request) error { return s.route(w, r, t) })
	}
	done, ok := s.admit(w, r)
	if !ok {
		return nil
	}
	defer done()
	timeout, err := s.requestTimeout(r)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(r.Context(), timeout)
	defer cancel()
	// So that nobody holds a request by sending or taking nothing more. Who sends
	// nothing is to be told, so that reading ends before writing.
	end := time.Now().Add(timeout + closeGrace)
	_ = http.NewResponseController(w).SetReadDeadline(end.Add(-closeGrace / 2)) // net/http lifts it
	s.boundWrites(w, end)
	if err := s.route(w, r.WithContext(ctx), t); err != nil {
		return timedOut(ctx, err)
	}
	return nil
}

// closeGrace is the time that Close, and the end of a request's time, leave a
// client to take what is being written to it; nobody waits longer for one that
// does not read.
const closeGrace = time.Second

func (s *Server) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.running.Add(1)
	return true
}

// answerPanic is deferred around a handler. A panic is a 500 if nothing was
// answered yet, else the connection is cut, so that the client does not take
// what it has for the whole.
func answerPanic(w *trackingWriter, r *http.Request) {
	p := recover()
	if p == nil {
		return
	}
	if err, ok := p.(error); ok && errors.Is(err, http.ErrAbortHandler) {
		panic(p)
	}
	klog.FromContext(r.Context()).Error(nil, "Handler panicked", "method", r.Method, "path", r.URL.Path, "panic", p)
	if w.begun {
		panic(http.ErrAbortHandler)
	}
	//lint:ignore ST1005 the text of a real server
	err := errors.New("This request caused apiserver to panic. Look in the logs for details.")
	sendError(w, r, apierrors.NewInternalError(err))
}

// trackingWriter knows of a request what those who answer it need, and whether
// the answer has begun.
type trackingWriter struct {
	http.ResponseWriter
	begun   bool
	gzip    bool     // the client takes answers that are compressed
	request *request // nil while, and if, none for a resource was found
	code    int
	written int64 // bytes
}

// status is the code that was sent, or that net/http will send.
func (t *trackingWriter) status() int {
	if t.code == 0 {
		return http.StatusOK
	}
	return t.code
}

func (t *trackingWriter) WriteHeader(code int) {
	t.begun = true
	if t.code == 0 {
		t.code = code
	}
	t.ResponseWriter.WriteHeader(code)
}

func (t *trackingWriter) Write(data []byte) (int, error) {
	t.begun = true
	n, err := t.ResponseWriter.Write(data)
	t.written += int64(n)
	return n, err
}

// Unwrap lets http.ResponseController find the flusher.
func (t *trackingWriter) Unwrap() http.ResponseWriter { return t.ResponseWriter }

// Close ends all watches, waits for every request that is being answered, and
// closes the cachers. Later requests get 503. A reader that does not take its
// answer is given up after a second. It may be called again.
func (s *Server) Close() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.cancel()
	s.running.Wait()
	for _, c := range s.served.Load().collections {
		c.close()
	}
}

// DropWatches ends all watches that are open, in the orderly way in which a
// server ends them, and returns how many there were.
func (s *Server) DropWatches() int {
	dropped := 0
	for _, c := range s.served.Load().collections {
		if made := c.existing(); made != nil {
			dropped += made.DropWatches()
		}
	}
	return dropped
}

// CutWatches cuts the connections of all open watches in the middle of their
// streams, as a broken network does, and returns how many it cut. A watch that is
// only being opened is not cut.
func (s *Server) CutWatches() int { return s.cuts.cutAll() }

// Revision is the newest of the store. Errors are the store's.
func (s *Server) Revision(ctx context.Context) (int64, error) {
	return s.options.Store.CurrentRevision(ctx)
}

// SendBookmarks lets every watch that takes bookmarks have one at revision or
// newer as soon as it has been sent everything before: those that are open, and
// those that are opened later at an older revision. revision must be one that
// the store has reached.
func (s *Server) SendBookmarks(revision int64) {
	for _, c := range s.served.Load().collections {
		if made := c.existing(); made != nil {
			made.SendBookmarks(uint64(revision))
		}
	}
}

// Compact forgets all history before the newest revision, in the store and in
// every cacher, and returns that revision: reads and watches from before it
// get 410 from now on. Errors are the store's.
func (s *Server) Compact(ctx context.Context) (int64, error) {
	revision, err := s.options.Store.CurrentRevision(ctx)
	if err != nil {
		return 0, fmt.Errorf("compact: %w", err)
	}
	if err := s.options.Store.Compact(ctx, revision); err != nil && !errors.Is(err, storage.ErrCompacted) {
		return 0, fmt.Errorf("compact at %d: %w", revision, err)
	}
	for _, c := range s.served.Load().collections {
		if made := c.existing(); made != nil {
			made.Compacted(revision)
		}
	}
	return revision, nil
}
