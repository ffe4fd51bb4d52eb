package informer

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/listwatch/listwatch/reflector"
)

// Syncer is what can be waited for until it is in sync: any Informer.
type Syncer interface {
	// WaitForSync returns nil once the first complete list has been applied; the
	// error says what keeps it, when ctx ends or nothing is to be expected.
	WaitForSync(ctx context.Context) error
}

// errGivenUp ends the waits that are of no more interest.
var errGivenUp = errors.New("another wait failed")

// WaitForSync waits for all of them at once. The error joins the causes of all
// that have not synced, in the order of the arguments (*SyncError each, for
// errors.Is and errors.As). It returns when ctx ends, or as soon as one of them
// cannot sync any more: it stopped or, with FailFast, the server denies it; then
// only the causes of those are told. A nil among them is ErrInvalidOptions at once.
func WaitForSync(ctx context.Context, informers ...Syncer) error {
	for k, one := range informers {
		if isNilPointer(one) {
			return fmt.Errorf("%w: WaitForSync of informer %d of %d, which is nil", ErrInvalidOptions, k+1, len(informers))
		}
	}
	ctx, giveUp := context.WithCancelCause(ctx)
	defer giveUp(nil)
	errs := make([]error, len(informers))
	var waiting sync.WaitGroup
	for k, one := range informers {
		waiting.Add(1)
		//worker: ends with ctx, and is waited for below
		go func() {
			defer waiting.Done()
			err := one.WaitForSync(ctx)
			if err == nil || context.Cause(ctx) == errGivenUp {
				return
			}
			errs[k] = err
			giveUp(errGivenUp) // no effect if ctx has ended
		}()
	}
	waiting.Wait()
	return errors.Join(errs...)
}

type failFastKey struct{}

// FailFast returns a context with which WaitForSync, of one Informer or several,
// does not wait for what takes a person to mend: it returns a *SyncError that
// wraps ErrDenied as soon as the server has answered 401, 403 or 404. Meant for
// the start of a program. Without it such answers are tried again, as permissions
// may be granted and resources installed at any time; and so they are by Run
// afterwards, whatever a wait returned.
func FailFast(ctx context.Context) context.Context {
	return context.WithValue(ctx, failFastKey{}, true)
}

func failsFast(ctx context.Context) bool { return ctx.Value(failFastKey{}) != nil }

// news wakes those who wait for a reflector to fail or get on. It costs a lock
// per change of phase, none per event. The zero value is usable.
type news struct {
	mu   sync.Mutex    // guards next
	next chan struct{} // closed by the next tell; nil while nobody waits
}

// wait returns a channel that is closed by the next tell. To be called before
// looking at what may have changed.
func (n *news) wait() <-chan struct{} {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.next == nil {
		n.next = make(chan struct{})
	}
	return n.next
}

// tell wakes everyone who waits.
func (n *news) tell() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.next != nil {
		close(n.next)
		n.next = nil
	}
}

// observer is an Observer of a reflector that tells, then calls the user's.
func (n *news) observer(user func(reflector.Status)) func(reflector.Status) {
	return func(s reflector.Status) {
		n.tell()
		if user != nil {
			user(s)
		}
	}
}
