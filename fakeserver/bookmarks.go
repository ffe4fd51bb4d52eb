package fakeserver

import (
	"context"
	"fmt"
	"strconv"
)

// ResourceVersion is the newest of the whole server: that of the last write. A
// closed server still knows it.
func (s *Server) ResourceVersion(ctx context.Context) (string, error) {
	revision, err := s.api().Revision(ctx)
	if err != nil {
		return "", fmt.Errorf("fakeserver: resourceVersion: %w", err)
	}
	return strconv.FormatInt(revision, 10), nil
}

// SendBookmarks lets every watch that takes bookmarks have one at
// resourceVersion or newer as soon as it has been sent everything before, be it
// open or opened later, instead of within a minute. A client then knows how far
// it is also where its own collection rests: this is how tests come to know that
// nothing more is on its way. It does not wait. Error: a resourceVersion that is
// no number, or that the server has not reached.
func (s *Server) SendBookmarks(ctx context.Context, resourceVersion string) error {
	revision, err := strconv.ParseInt(resourceVersion, 10, 64)
	if err != nil {
		return fmt.Errorf("fakeserver: bookmarks: %w", err)
	}
	newest, err := s.api().Revision(ctx)
	if err != nil {
		return fmt.Errorf("fakeserver: bookmarks: %w", err)
	}
	if revision > newest {
		return fmt.Errorf("fakeserver: bookmarks at %d: the server is at %d", revision, newest)
	}
	s.api().SendBookmarks(revision)
	return nil
}
