package main

import (
	"context"
	"io"
	"net/http"
	"sync"
)

// gate stands between the informers and the server. Shut, it keeps every
// request waiting, as a network does that lost its way: that is how the
// program writes while the informers are disconnected.
type gate struct {
	mu      sync.Mutex
	asked   int           // watch requests so far
	flowing int           // watches that the server has answered and nobody closed
	changed chan struct{} // closed and replaced when either changes
	way     chan struct{} // closed: open
}

func newGate() *gate {
	g := &gate{changed: make(chan struct{}), way: make(chan struct{})}
	close(g.way)
	return g
}

// shut makes all requests from now on wait until open is called.
func (g *gate) shut() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.way = make(chan struct{})
}

// open lets everybody through.
func (g *gate) open() {
	g.mu.Lock()
	defer g.mu.Unlock()
	select {
	case <-g.way: // it is open
	default:
		close(g.way)
	}
}

// watches is the number of watch requests that have come to the gate.
func (g *gate) watches() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.asked
}

// awaitWatches waits until as many watch requests have come to the gate.
func (g *gate) awaitWatches(ctx context.Context, number int) error {
	return g.await(ctx, func() bool { return g.asked >= number })
}

// awaitFlowing waits until as many watches are open at the server.
func (g *gate) awaitFlowing(ctx context.Context, number int) error {
	return g.await(ctx, func() bool { return g.flowing >= number })
}

// await waits until reached, which may read what mu guards.
func (g *gate) await(ctx context.Context, reached func() bool) error {
	for {
		g.mu.Lock()
		done, changed := reached(), g.changed
		g.mu.Unlock()
		if done {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// count adds to asked and flowing, and returns the way through.
func (g *gate) count(asked, flowing int) <-chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.asked += asked
	g.flowing += flowing
	close(g.changed)
	g.changed = make(chan struct{})
	return g.way
}

// in puts the gate in front of next.
func (g *gate) in(next http.RoundTripper) http.RoundTripper {
	return gated{gate: g, next: next}
}

type gated struct {
	gate *gate
	next http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (t gated) RoundTrip(request *http.Request) (*http.Response, error) {
	isWatch, asked := request.URL.Query().Get("watch") == "true", 0
	if isWatch {
		asked = 1
	}
	select {
	case <-t.gate.count(asked, 0):
	case <-request.Context().Done():
		return nil, context.Cause(request.Context())
	}
	response, err := t.next.RoundTrip(request)
	if err == nil && isWatch && response.StatusCode == http.StatusOK {
		t.gate.count(0, 1)
		ended := sync.OnceFunc(func() { t.gate.count(0, -1) })
		response.Body = stream{ReadCloser: response.Body, ended: ended}
	}
	return response, err
}

// stream is the body of a watch, which tells when it is closed.
type stream struct {
	io.ReadCloser
	ended func()
}

// Close implements io.Closer.
func (s stream) Close() error {
	s.ended()
	return s.ReadCloser.Close()
}
