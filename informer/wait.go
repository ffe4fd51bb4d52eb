package informer

import (
	"context"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/listwatch/listwatch/reflector"
)

// WaitForSync waits until this run has applied its first complete list; before
// Run it waits for Run as well. The error is a *SyncError that says what keeps
// the Informer from it: phase, number of tries, the last error with its HTTP
// status, and which permission or resource is missing. It wraps ErrNotSynced, the
// last error of the reflector, and one of: ctx's error; ErrStopped, at once if
// the run is over and the next has not begun; with a context of FailFast,
// ErrDenied.
func (i *Informer[T]) WaitForSync(ctx context.Context) error {
	synced := func(p *published[T]) bool { return p.synced }
	err := i.await(ctx, synced)
	if err == nil {
		return nil
	}
	syncError := &SyncError{Status: i.Status(), Cause: err}
	if i.state.Load().synced { // meanwhile, and Status may say so
		return nil
	}
	return syncError
}

// Synced is closed when a run has applied its first complete list, before any
// handler's is. It stays closed when the run ends; Status tells of the current run.
func (i *Informer[T]) Synced() <-chan struct{} { return i.first }

func (i *Informer[T]) hasSynced() bool {
	select {
	case <-i.first:
		return true
	default:
		return false
	}
}

// WaitFor waits until the snapshot's resourceVersion is resourceVersion or
// newer, so that what was written with that version can be read. Errors, which
// name both versions: ErrInvalidResourceVersion at once, ctx's error, and
// ErrStopped, at once if the run is over and the next has not begun. A snapshot
// of the past that is new enough will do.
//
// A joined Informer (NewJoined, or several namespaces of package factory) is as new
// as its oldest part, and a quiet part moves only with bookmarks, about one a
// minute: so long may this take. An Overlay does not wait. The error names the
// parts that are behind.
func (i *Informer[T]) WaitFor(ctx context.Context, resourceVersion string) error {
	if _, err := resourceversion.CompareResourceVersion(resourceVersion, resourceVersion); err != nil {
		return fmt.Errorf("informer %q: wait for %q: %w", i.name, resourceVersion, ErrInvalidResourceVersion)
	}
	err := i.await(ctx, func(p *published[T]) bool {
		// An empty snapshot has no version yet, which is not an error here.
		order, err := resourceversion.CompareResourceVersion(p.snapshot.ResourceVersion(), resourceVersion)
		return err == nil && order >= 0
	})
	if err != nil {
		return fmt.Errorf("informer %q: wait for resourceVersion %s, at %q now%s: %w",
			i.name, resourceVersion, i.Snapshot().ResourceVersion(), i.partsBehind(resourceVersion), err)
	}
	return nil
}

// partsBehind names the parts of a joined Informer that have not heard of
// resourceVersion.
func (i *Informer[T]) partsBehind(resourceVersion string) string {
	var behind strings.Builder
	for _, p := range i.partStatus() {
		if at := p.Reflector.ResourceVersion; p.Name != "" && !notOlder(at, resourceVersion) {
			fmt.Fprintf(&behind, ", part %q at %q", p.Name, at)
		}
	}
	return behind.String()
}

// await waits for a state that satisfies reached; it looks at the states one by
// one as they are published, or fewer if they come fast. With a context of
// FailFast it also looks at each failure.
func (i *Informer[T]) await(ctx context.Context, reached func(*published[T]) bool) error {
	ended := i.end()
	failFast := failsFast(ctx)
	for {
		var failed <-chan struct{}
		if failFast {
			failed = i.news.wait() // before looking
		}
		state := i.state.Load()
		if reached(state) {
			return nil
		}
		if failFast && i.denied() {
			return ErrDenied
		}
		select {
		case <-state.tail.ready:
		case <-failed:
		case <-ended:
			if reached(i.state.Load()) {
				return nil
			}
			return ErrStopped
		case <-ctx.Done():
			return whyEnded(ctx)
		}
	}
}

// whyEnded is the error of a context that has ended, with the cause if one was given:
// who knows nothing of causes looks for the error.
func whyEnded(ctx context.Context) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	if cause == err {
		return err
	}
	return fmt.Errorf("%w: %w", err, cause)
}

// end is closed at the end of the current run, or of the first if there was none.
func (i *Informer[T]) end() <-chan struct{} {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.ended
}

// denied says whether the server refuses what only a person can mend. What an
// earlier run was refused does not count.
func (i *Informer[T]) denied() bool {
	s := i.Status()
	begun := s.Running && s.Phase != reflector.Initial && s.Phase != reflector.Stopped
	return begun && len(s.denials()) > 0
}
