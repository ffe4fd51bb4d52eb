package fakeserver

import (
	"context"
	"net/http"
	"strings"
	"sync"
)

// cuts knows the open watches and can cut their connections. The zero value is
// ready.
type cuts struct {
	mu   sync.Mutex
	open map[*cut]struct{}
}

// cut is one open watch.
type cut struct {
	cancel context.CancelFunc
	done   bool // guarded by cuts.mu: the connection is to be cut
}

// wrap serves next and registers its watches while they are open.
func (c *cuts) wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !isWatch(r) {
			next.ServeHTTP(w, r)
			return
		}
		ctx, cancel := context.WithCancel(r.Context())
		defer cancel()
		watch := c.add(cancel)
		next.ServeHTTP(w, r.WithContext(ctx))
		if c.remove(watch) {
			// net/http then closes the connection without ending the body, which
			// a client cannot mistake for an orderly end of the stream.
			panic(http.ErrAbortHandler)
		}
	})
}

func (c *cuts) add(cancel context.CancelFunc) *cut {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.open == nil {
		c.open = map[*cut]struct{}{}
	}
	watch := &cut{cancel: cancel}
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
		watch.cancel()
	}
	return len(watches)
}

// isWatch tells watches by the URL alone, as the API does: by the query or by
// the deprecated /watch/ paths.
func isWatch(r *http.Request) bool {
	switch strings.ToLower(r.URL.Query().Get("watch")) {
	case "1", "true", "t":
		return true
	}
	return strings.HasPrefix(r.URL.Path, "/api/v1/watch/") ||
		(strings.HasPrefix(r.URL.Path, "/apis/") && strings.Contains(r.URL.Path, "/watch/"))
}
