package factory

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/listwatch/listwatch/informer"
	"github.com/listwatch/listwatch/internal/worker"
)

// session is one Run or Start: it holds a lease on each informer.
type session struct {
	ctx  context.Context
	stop context.CancelFunc
	done chan struct{} // closed when all of it is gone

	mu     sync.Mutex // guards the rest
	ended  bool
	leases map[*entry]*informer.Lease
}

// Run runs the informers, those made later as well, until ctx ends; all goroutines
// that it started are gone then. It may be called again, also while another Run or
// Start is in progress: an informer runs as long as one of them wants it, or
// somebody else has a lease. What somebody else runs by its Run is left alone.
//
// Afterwards informers that nobody refers to are forgotten, unless they have
// handlers. The others go on with the next Run: handlers are told what has changed
// in between.
//
// The error joins those of informers that ended by themselves.
func (f *Factory) Run(ctx context.Context) error {
	s := f.begin(ctx)
	<-s.ctx.Done()
	return f.end(s)
}

// Start is Run in the background: when it returns all informers have begun, so that
// WaitForSync waits for them. It ends with ctx, or by Shutdown.
func (f *Factory) Start(ctx context.Context) {
	s := f.begin(ctx)
	group := worker.New(context.WithoutCancel(ctx))
	group.Go("factory: start", func(context.Context) {
		<-s.ctx.Done()
		_ = f.end(s) // Status has the errors
		group.Stop()
	})
}

// Shutdown ends all that Run and Start have begun, and returns when all of it is
// gone. It must not be called from a handler. Start may be called again.
func (f *Factory) Shutdown() {
	f.mu.Lock()
	sessions := slices.Clone(f.sessions)
	f.mu.Unlock()
	for _, s := range sessions {
		s.stop()
	}
	for _, s := range sessions {
		<-s.done
	}
}

// begin starts what there is.
func (f *Factory) begin(ctx context.Context) *session {
	s := &session{done: make(chan struct{}), leases: map[*entry]*informer.Lease{}}
	s.ctx, s.stop = context.WithCancel(ctx)
	f.mu.Lock()
	f.sessions = append(f.sessions, s)
	entries, informers := f.living()
	for k, e := range entries {
		e.strong = informers[k]
	}
	f.mu.Unlock()
	for k, e := range entries {
		s.hold(e, informers[k])
	}
	return s
}

// hold keeps an informer running as long as the session goes on.
func (s *session) hold(e *entry, one shared) {
	lease, err := one.Acquire(s.ctx)
	if err != nil {
		return // somebody else runs it, or the session is over
	}
	s.mu.Lock()
	unneeded := s.ended || s.leases[e] != nil
	if !unneeded {
		s.leases[e] = lease
	}
	s.mu.Unlock()
	if unneeded {
		lease.Release()
	}
}

// give takes a lease away from the session, nil if it has none.
func (s *session) give(e *entry) *informer.Lease {
	s.mu.Lock()
	defer s.mu.Unlock()
	lease := s.leases[e]
	delete(s.leases, e)
	return lease
}

// end stops what nobody else holds.
func (f *Factory) end(s *session) error {
	defer close(s.done)
	s.stop()
	s.mu.Lock()
	s.ended = true
	leases := s.leases
	s.leases = nil
	s.mu.Unlock()
	for _, lease := range leases { // all at once
		lease.Release()
	}
	var errs []error
	for _, lease := range leases {
		errs = append(errs, lease.Close())
	}
	f.mu.Lock()
	f.sessions = slices.DeleteFunc(f.sessions, func(other *session) bool { return other == s })
	f.mu.Unlock()
	f.loosen()
	return errors.Join(errs...)
}

// loosen leaves informers without handlers to those who refer to them, unless the
// Factory runs. A Factory that kept them would fill up over the years.
func (f *Factory) loosen() {
	idle := map[shared]bool{}
	for _, one := range f.all() {
		idle[one] = len(one.Status().Handlers) == 0
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, e := range f.entries {
		if len(f.sessions) == 0 && e.strong != nil && idle[e.strong] {
			e.strong = nil
		}
	}
}

// Forget has the Factory run an informer no more, and make a new one when it is
// asked for again. It waits until the informer has stopped, unless somebody else has
// a lease; so it must not be called from one of its handlers.
func (f *Factory) Forget(one informer.Member) {
	f.mu.Lock()
	k := slices.IndexFunc(f.entries, func(e *entry) bool { return e.weak() == one })
	if k < 0 {
		f.mu.Unlock()
		return
	}
	e, sessions := f.entries[k], slices.Clone(f.sessions)
	f.entries = slices.Delete(f.entries, k, k+1)
	f.mu.Unlock()
	for _, s := range sessions {
		if lease := s.give(e); lease != nil {
			_ = lease.Close() // of no interest any more
		}
	}
}

// WaitForSync waits until these informers are in sync, or all that there are if
// none is named. For what the error says see informer.WaitForSync; for how not to
// wait for what somebody has to mend see informer.FailFast.
func (f *Factory) WaitForSync(ctx context.Context, informers ...informer.Syncer) error {
	if len(informers) == 0 {
		for _, one := range f.all() {
			informers = append(informers, one)
		}
	}
	return informer.WaitForSync(ctx, informers...)
}

// Informers are all that there are, oldest first, for informer.StatusHandlerOf.
func (f *Factory) Informers() []informer.Inspectable {
	var all []informer.Inspectable
	for _, one := range f.all() {
		all = append(all, one)
	}
	return all
}

// Status is that of each informer, oldest first.
func (f *Factory) Status() []informer.Status {
	var all []informer.Status
	for _, one := range f.all() {
		all = append(all, one.Status())
	}
	return all
}

// Snapshot takes a snapshot of all informers that there are, at one moment: see
// informer.Together, and SnapshotIn of an Informer.
func (f *Factory) Snapshot() *informer.Moment {
	var all []informer.Member
	for _, one := range f.all() {
		all = append(all, one)
	}
	return informer.Together(all...)
}
