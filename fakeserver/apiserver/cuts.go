package apiserver

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"
)

// cuts knows the open watches and can cut their connections. The zero value is
// ready.
type cuts struct {
	mu   sync.Mutex
	open map[*cut]struct{}
}

// cut is one open watch.
type cut struct {
	end  func()
	done bool // guarded by cuts.mu: the connection is to be cut
}

// errCut is why the context of a watch that was cut has ended.
var errCut = errors.New("apiserver: the watch was cut")

// serve lets next answer a watch that is registered while it is open.
func (c *cuts) serve(w http.ResponseWriter, r *http.Request, next func(*http.Request) error) error {
	ctx, cancel := context.WithCancelCause(r.Context())
	defer cancel(nil)
	watch := c.add(func() {
		cancel(errCut)
		// The handler may be stuck with a client that does not read.
		_ = http.NewResponseController(w).SetWriteDeadline(time.Now())
	})
	defer func() {
		if c.remove(watch) {
			// net/http then closes the connection without ending the body, which
			// a client cannot mistake for an orderly end of the stream.
			panic(http.ErrAbortHandler)
		}
	}()
	return next(r.WithContext(ctx))
}

func (c *cuts) add(end func()) *cut {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.open == nil {
		c.open = map[*cut]struct{}{}
	}
	watch := &cut{end: end}
	c.open[watch] = struct{}{}
	return watch
}

// remove forgets the watch and reports whether it was cut.
func (c *cuts) remove(watch *cut) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.open, watch)
	return watch.done
}

// cutAll cuts every open watch and returns how many there were.
func (c *cuts) cutAll() int {
	c.mu.Lock()
	watches := make([]*cut, 0, len(c.open))
	for watch := range c.open {
		if !watch.done {
			watch.done = true
			watches = append(watches, watch)
		}
	}
	c.mu.Unlock()
	for _, watch := range watches {
		watch.end()
	}
	return len(watches)
}
