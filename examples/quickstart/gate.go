package main

import (
	"context"
	"net/http"
	"sync"
)

// gate stands between the informers and the server. Shut, it keeps every
// request waiting, as a network does that lost its way: that is how the
// program writes while the informers are disconnected.
type gate struct {
	mu      sync.Mutex
	asked   int           // watch requests so far
	changed chan struct{} // closed and replaced when asked grows
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

// open lets everybody through. It must follow a shut.
func (g *gate) open() {
	g.mu.Lock()
	defer g.mu.Unlock()
	close(g.way)
}

// watches is the number of watch requests that have come to the gate.
func (g *gate) watches() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.asked
}

// awaitWatches waits until as many watch requests have come to the gate.
func (g *gate) awaitWatches(ctx context.Context, number int) error {
	for {
		g.mu.Lock()
		asked, changed := g.asked, g.changed
		g.mu.Unlock()
		if asked >= number {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// arrive counts a request and returns the way through.
func (g *gate) arrive(isWatch bool) <-chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	if isWatch {
		g.asked++
		close(g.changed)
		g.changed = make(chan struct{})
	}
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
	way := t.gate.arrive(request.URL.Query().Get("watch") == "true")
	select {
	case <-way:
		return t.next.RoundTrip(request)
	case <-request.Context().Done():
		return nil, context.Cause(request.Context())
	}
}
