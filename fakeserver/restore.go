package fakeserver

import (
	"context"
	"fmt"
	"strconv"
)

// Restore takes the server back to what it was at resourceVersion, as when etcd
// is restored from a backup and the API servers are started anew: everything
// written since is gone, and the resourceVersions after that are given again, to
// other things. Connections of watches are cut, requests in progress fail, and
// older resourceVersions get 410. What a client has that is newer it will
// not be told of.
//
// It returns when the old API server is gone, which takes a second if a client is
// in the middle of a request and goes no further. Errors: a resourceVersion that is
// no number, that was compacted or that the server has not reached; ErrClosed.
func (s *Server) Restore(ctx context.Context, resourceVersion string) error {
	revision, err := strconv.ParseInt(resourceVersion, 10, 64)
	if err != nil || revision <= 0 {
		return fmt.Errorf("fakeserver: restore: %q is no resourceVersion", resourceVersion)
	}
	old := s.back.Load()
	store, err := old.store.Restored(ctx, revision)
	if err != nil {
		return fmt.Errorf("fakeserver: restore: %w", err)
	}
	back, err := newBackend(s.options, store)
	if err != nil {
		return fmt.Errorf("fakeserver: restore: %w", err)
	}
	s.mu.Lock()
	closed := s.closed
	if !closed {
		old = s.back.Swap(back)
	}
	s.mu.Unlock()
	if closed {
		back.close()
		return fmt.Errorf("fakeserver: restore: %w", ErrClosed)
	}
	old.api.CutWatches()
	old.close()
	return nil
}
