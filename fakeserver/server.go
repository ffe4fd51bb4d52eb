package fakeserver

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/listwatch/listwatch/fakeserver/apiserver"
	"github.com/listwatch/listwatch/fakeserver/storage"
	"github.com/listwatch/listwatch/internal/worker"
)

// ErrClosed is returned, wrapped, by what is called after Close. Requests of
// clients that still hold a Config fail with it as well.
var ErrClosed = errors.New("fakeserver is closed")

// headerTimeout bounds how long a client may take to send a request's headers.
// It keeps a peer that says nothing from holding a connection for ever.
const headerTimeout = 32 * time.Second

// closeGrace is how long Close lets requests end by themselves.
const closeGrace = time.Second

// Server is a running fake API server. Make one with New.
type Server struct {
	options apiserver.Options

	mu     sync.Mutex // guards closed, and changes of back
	closed bool
	back   atomic.Pointer[backend]

	http      *http.Server
	pipes     *pipeListener
	transport *http.Transport
	workers   *worker.Group
	conns     connections
}

// backend is a store and the API over it.
type backend struct {
	store *storage.Memory
	api   *apiserver.Server
}

// newBackend serves what is in a store, which it closes if that fails.
func newBackend(options apiserver.Options, store *storage.Memory) (*backend, error) {
	options.Store = store
	api, err := apiserver.New(options)
	if err != nil {
		store.Close()
		return nil, err
	}
	return &backend{store, api}, nil
}

func (b *backend) close() {
	b.api.Close()
	b.store.Close()
}

// New starts a server with an empty store, apart from the namespaces that every
// cluster has. It opens no socket. The caller must Close it.
func New(options Options) (*Server, error) {
	back, err := newBackend(options.api(), storage.NewMemory())
	if err != nil {
		return nil, fmt.Errorf("fakeserver: %w", err)
	}
	s := &Server{
		options: options.api(),
		pipes:   newPipeListener(),
		workers: worker.New(context.Background()),
	}
	s.back.Store(back)
	s.transport = &http.Transport{
		DialContext:         func(ctx context.Context, _, _ string) (net.Conn, error) { return s.pipes.dial(ctx) },
		DisableCompression:  true, // compressing for a pipe is only work
		MaxIdleConnsPerHost: 100,
	}
	s.http = &http.Server{
		Handler:           s.handler(options),
		ReadHeaderTimeout: headerTimeout,
		ConnState:         s.conns.track,
	}
	s.serve("fakeserver in-memory listener", s.pipes)
	return s, nil
}

// handler puts what belongs to this package in front of the API.
func (s *Server) handler(options Options) http.Handler {
	api := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { s.api().ServeHTTP(w, r) })
	if !options.Steer {
		return api
	}
	steering := s.steering()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// A ServeMux before the API would clean its paths.
		if strings.HasPrefix(r.URL.Path, "/-/") {
			_ = http.NewResponseController(w).SetWriteDeadline(time.Time{}) // of the request before
			steering.ServeHTTP(w, r)
			return
		}
		api(w, r)
	})
}

// api is what serves at present.
func (s *Server) api() *apiserver.Server { return s.back.Load().api }

// serve accepts connections of l until it is closed.
func (s *Server) serve(name string, l net.Listener) bool {
	return s.workers.Go(name, func(context.Context) {
		// It ends with http.ErrServerClosed after Close, or with the listener's
		// error once that was closed: both are the intended end.
		_ = s.http.Serve(l)
	})
}

// Compact makes the server forget all history up to now, as etcd's compaction
// does: watches and exact reads from older resourceVersions get 410 Expired. It
// returns the revision up to which history is gone.
func (s *Server) Compact(ctx context.Context) (int64, error) {
	revision, err := s.api().Compact(ctx)
	if err != nil {
		return 0, fmt.Errorf("fakeserver: compact: %w", err)
	}
	return revision, nil
}

// DropWatches cuts the connections of all open watches in the middle of their
// streams, as a broken network does, and returns how many it cut. Clients see
// an unexpected end, not an orderly one, and may connect again at once. A watch
// that is only being opened is not cut.
func (s *Server) DropWatches() int { return s.api().CutWatches() }

// Close ends all watches and connections, stops everything that the server
// started and waits until it is gone, which takes a second if a client is in
// the middle of a request and goes no further. Closing again does nothing. The
// error is always nil; it is there to satisfy io.Closer.
func (s *Server) Close() error {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.workers.Stop()
	s.pipes.Close()
	s.endRequests()
	s.workers.Wait() // no listener accepts any more
	s.conns.close()
	s.transport.CloseIdleConnections()
	s.back.Load().store.Close()
	return nil
}

// endRequests lets the requests under way end in order, then closes all
// connections, and with them what a client keeps waiting for the rest of a body.
func (s *Server) endRequests() {
	closing := worker.New(context.Background())
	ended := make(chan struct{})
	closing.Go("fakeserver: end of requests", func(context.Context) {
		s.api().Close()
		close(ended)
	})
	grace := time.NewTimer(closeGrace)
	defer grace.Stop()
	select {
	case <-ended:
	case <-grace.C:
	}
	_ = s.http.Close()
	closing.Wait()
}
