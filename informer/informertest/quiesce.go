package informertest

import (
	"context"
	"fmt"
)

// Server is what Quiesce needs to know of an API server. fakeserver.Server is
// one. For another server write ResourceVersion with a LIST of anything with
// limit 1 and no resourceVersion: its metadata.resourceVersion is the newest.
type Server interface {
	// ResourceVersion is the newest of the whole server.
	ResourceVersion(ctx context.Context) (string, error)
}

// Bookmarker is a Server that can be asked for bookmarks; fakeserver.Server is
// one.
type Bookmarker interface {
	// SendBookmarks makes every watch that takes bookmarks get one at
	// resourceVersion, or newer, as soon as it has been sent everything before:
	// those that are open, and those opened later at an older version.
	SendBookmarks(ctx context.Context, resourceVersion string) error
}

// Informer is what Quiesce needs of an informer: any *informer.Informer.
type Informer interface {
	// Name of the informer.
	Name() string
	// WaitFor waits until the cache has reached resourceVersion.
	WaitFor(ctx context.Context, resourceVersion string) error
	// WaitForHandlers waits until every handler has been told everything up to
	// resourceVersion.
	WaitForHandlers(ctx context.Context, resourceVersion string) error
}

// Quiesce waits until nothing is on its way from server to the handlers of
// informers any more, and returns the resourceVersion at which that is so: the
// server's newest, which every cache has reached and every handler has been told
// about. Where handlers write to the server it goes on until they do so no more;
// what they start in other goroutines it cannot know.
//
// An informer learns from a bookmark that the rest of the server has moved on
// without its collection. A Bookmarker sends it at once. Other servers send one
// about every minute; a test that writes an object to each of its collections
// last need not wait for it.
//
// Errors wrap ErrNotQuiet and name the informer: ctx's end, or one that is not
// running. Inside a bubble waiting is virtual, so that any ctx will do.
func Quiesce(ctx context.Context, server Server, informers ...Informer) (resourceVersion string, err error) {
	at, err := server.ResourceVersion(ctx)
	if err != nil {
		return "", fmt.Errorf("%w: the server's resourceVersion: %w", ErrNotQuiet, err)
	}
	for {
		if err := rest(ctx, server, informers, at); err != nil {
			return "", err
		}
		now, err := server.ResourceVersion(ctx)
		if err != nil {
			return "", fmt.Errorf("%w: the server's resourceVersion: %w", ErrNotQuiet, err)
		}
		if now == at {
			return at, nil
		}
		at = now
	}
}

// rest waits until all informers have come to resourceVersion.
func rest(ctx context.Context, server Server, informers []Informer, resourceVersion string) error {
	if bookmarker, ok := server.(Bookmarker); ok {
		if err := bookmarker.SendBookmarks(ctx, resourceVersion); err != nil {
			return fmt.Errorf("%w: bookmarks: %w", ErrNotQuiet, err)
		}
	}
	for _, inf := range informers {
		if err := inf.WaitFor(ctx, resourceVersion); err != nil {
			return fmt.Errorf("%w: cache: %w", ErrNotQuiet, err)
		}
	}
	for _, inf := range informers {
		if err := inf.WaitForHandlers(ctx, resourceVersion); err != nil {
			return fmt.Errorf("%w: handlers: %w", ErrNotQuiet, err)
		}
	}
	return nil
}
