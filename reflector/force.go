package reflector

import (
	"context"
	"errors"
	"sync"
)

// errForced ends the context of what a forced relist interrupts.
var errForced = errors.New("relist was asked for")

// forcing takes the wish for a relist to the goroutine in Run.
type forcing struct {
	mu        sync.Mutex
	running   bool                    // guarded by mu, as the rest
	due       bool                    // asked for, not yet begun
	interrupt context.CancelCauseFunc // ends what Run waits for; nil if it is not to be interrupted
}

// run says whether Run is in progress. A wish lasts no longer.
func (f *forcing) run(running bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.running, f.due, f.interrupt = running, false, nil
}

// ask notes the wish, and interrupts.
func (f *forcing) ask() {
	f.mu.Lock()
	if !f.running {
		f.mu.Unlock()
		return
	}
	f.due = true
	interrupt := f.interrupt
	f.mu.Unlock()
	if interrupt != nil {
		interrupt(errForced)
	}
}

// arm sets what a wish interrupts from now on; nil is nothing. One that is due
// already interrupts at once.
func (f *forcing) arm(interrupt context.CancelCauseFunc) {
	f.mu.Lock()
	f.interrupt = interrupt
	due := f.due
	f.mu.Unlock()
	if due && interrupt != nil {
		interrupt(errForced)
	}
}

// take reports whether a wish was due, which it no longer is.
func (f *forcing) take() (due bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	due, f.due = f.due, false
	return due
}

// mayBeForced: a wish is kept back while a replacement is under way.
func (d *driver[T]) mayBeForced() bool {
	return d.state.phase == Watching || d.state.phase == BackingOff || d.state.phase == Absent
}

// Relist asks a running Reflector to fetch the whole collection again, with
// reason RelistForced. It does not wait. A watch is ended for it at once; a
// replacement that is under way is completed first, and a wait after a failure
// is waited to its end. Requests that come before it began count as one. It
// does nothing while Run is not in progress. Concurrent.
func (r *Reflector[T]) Relist() { r.forcing.ask() }
