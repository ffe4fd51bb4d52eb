package fakeserver

import (
	"net"
	"net/http"
	"sync"
)

// connections knows the open connections of an http.Server, whose own Close
// does not wait for the goroutines that serve them and can miss a connection
// that is just being accepted. The zero value is ready.
type connections struct {
	mu      sync.Mutex
	open    map[net.Conn]struct{}
	closing bool
	none    chan struct{} // made by close, closed when open is empty
}

// track is an http.Server's ConnState hook.
func (c *connections) track(conn net.Conn, state http.ConnState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch state {
	case http.StateNew:
		if c.open == nil {
			c.open = map[net.Conn]struct{}{}
		}
		c.open[conn] = struct{}{}
		if c.closing {
			_ = conn.Close()
		}
	case http.StateClosed, http.StateHijacked:
		delete(c.open, conn)
		if c.closing && len(c.open) == 0 {
			closeOnce(c.none)
		}
	}
}

// close closes every connection and waits until nobody serves one. The
// listeners must have been closed.
func (c *connections) close() {
	c.mu.Lock()
	if !c.closing {
		c.closing = true
		c.none = make(chan struct{})
	}
	for conn := range c.open {
		_ = conn.Close()
	}
	if len(c.open) == 0 {
		closeOnce(c.none)
	}
	c.mu.Unlock()
	<-c.none
}

// closeOnce closes done unless it is closed. Callers hold the lock that guards it.
func closeOnce(done chan struct{}) {
	select {
	case <-done:
	default:
		close(done)
	}
}
