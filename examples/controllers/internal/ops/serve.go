package ops

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/listwatch/listwatch/internal/worker"
)

// Endpoint is an HTTP server for diagnostics.
type Endpoint struct {
	// URL is its base URL.
	URL string

	server *http.Server
	group  *worker.Group
}

// Serve serves handler at the address of the options until Close, and logs where that
// is. There is no authentication: an address without a host means loopback. Errors:
// an address that is not host:port or cannot be listened on.
func Serve(log *slog.Logger, o Options, handler http.Handler) (*Endpoint, error) {
	host, port, err := net.SplitHostPort(o.Listen)
	if err != nil {
		return nil, fmt.Errorf("-listen: %w", err)
	}
	if host == "" {
		host = "127.0.0.1"
	}
	listener, err := net.Listen("tcp", net.JoinHostPort(host, port))
	if err != nil {
		return nil, fmt.Errorf("-listen: %w", err)
	}
	e := &Endpoint{
		URL:    "http://" + listener.Addr().String(),
		server: &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second},
		group:  worker.New(context.Background()),
	}
	e.group.Go("diagnostics", func(context.Context) {
		_ = e.server.Serve(listener) // ends with http.ErrServerClosed after Close
	})
	log.Info("serving /metrics, /healthz, /readyz and /informers", "url", e.URL)
	return e, nil
}

// Close ends the endpoint; requests in progress have a second to end.
func (e *Endpoint) Close() {
	grace, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if e.server.Shutdown(grace) != nil {
		_ = e.server.Close()
	}
	e.group.StopAndWait()
}
