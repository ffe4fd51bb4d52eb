package clientgo

import (
	"fmt"
	"time"

	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"github.com/listwatch/listwatch/informer"
)

// minResync bounds how often a handler may go over everything.
const minResync = time.Second

// registration is a handler's place in an informer.
type registration struct {
	*informer.Registration
	in *sharedIndexInformer
}

// HasSynced implements cache.ResourceEventHandlerRegistration.
func (r *registration) HasSynced() bool { return cache.IsDone(r.HasSyncedChecker()) }

// HasSyncedChecker implements cache.ResourceEventHandlerRegistration.
func (r *registration) HasSyncedChecker() cache.DoneChecker {
	return done{name: func() string { return r.in.name + " " + r.Name() }, when: r.Synced()}
}

// ShutdownChan is what cache.ShutDownEventHandler waits for: it is closed when the
// handler was removed and will not be called again.
func (r *registration) ShutdownChan() <-chan struct{} { return r.Done() }

// AddEventHandler implements cache.SharedInformer.
func (s *sharedIndexInformer) AddEventHandler(handler cache.ResourceEventHandler) (cache.ResourceEventHandlerRegistration, error) {
	return s.AddEventHandlerWithOptions(handler, cache.HandlerOptions{})
}

// AddEventHandlerWithResyncPeriod implements cache.SharedInformer.
func (s *sharedIndexInformer) AddEventHandlerWithResyncPeriod(handler cache.ResourceEventHandler, resyncPeriod time.Duration) (cache.ResourceEventHandlerRegistration, error) {
	return s.AddEventHandlerWithOptions(handler, cache.HandlerOptions{ResyncPeriod: &resyncPeriod})
}

// AddEventHandlerWithOptions implements cache.SharedInformer. The handler may be
// added at any time before the end, also from inside a handler.
func (s *sharedIndexInformer) AddEventHandlerWithOptions(handler cache.ResourceEventHandler, options cache.HandlerOptions) (cache.ResourceEventHandlerRegistration, error) {
	if handler == nil {
		return nil, fmt.Errorf("%s: no handler", s.name)
	}
	log := klog.Background()
	if options.Logger != nil {
		log = *options.Logger
	}
	period := s.defaultBy
	if options.ResyncPeriod != nil {
		period = *options.ResyncPeriod
	}
	period, err := s.admit(log, period)
	if err != nil {
		return nil, fmt.Errorf("handler %T was not added to %s: %w", handler, s.name, err)
	}
	opts := []informer.HandlerOption{}
	if period > 0 {
		opts = append(opts, informer.WithResync(period))
	}
	inner, err := s.informer.AddHandler(teller{handler}, opts...)
	if err != nil {
		return nil, err
	}
	return &registration{Registration: inner, in: s}, nil
}

// admit says which resync period a new handler gets, by client-go's rules: none if
// the informer has none; a second at least; after the start no less than what the
// informer started with.
func (s *sharedIndexInformer) admit(log klog.Logger, period time.Duration) (time.Duration, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	asked := period
	switch {
	case s.stopped:
		return 0, ErrStopped
	case period <= 0:
		return 0, nil
	case s.checkBy <= 0:
		log.Info("Warning: the informer was made without a resync period, so that no handler has one", "informer", s.name, "asked", asked)
		return 0, nil
	}
	period = max(period, minResync)
	switch {
	case period >= s.checkBy:
	case s.started:
		period = s.checkBy
	default:
		s.checkBy = period
	}
	if period != asked {
		log.Info("Warning: the resync period of a handler was raised", "informer", s.name, "asked", asked, "to", period)
	}
	return period, nil
}

// RemoveEventHandler implements cache.SharedInformer: calls still owed to the
// handler are dropped. May be called from inside the handler, and again. Errors:
// ErrForeign for a registration that no informer of this package made.
func (s *sharedIndexInformer) RemoveEventHandler(handle cache.ResourceEventHandlerRegistration) error {
	r, ok := handle.(*registration)
	if !ok {
		return fmt.Errorf("%s: %w: %T", s.name, ErrForeign, handle)
	}
	if r.in == s {
		r.Remove()
	}
	return nil
}

// teller tells a client-go handler what an Informer tells.
type teller struct{ handler cache.ResourceEventHandler }

// OnAdd implements informer.Handler.
func (t teller) OnAdd(obj Object, initial bool) { t.handler.OnAdd(Value(obj), initial) }

// OnUpdate implements informer.Handler.
func (t teller) OnUpdate(old, obj Object) { t.handler.OnUpdate(Value(old), Value(obj)) }

// OnDelete implements informer.Handler. An end that was not seen comes as a
// tombstone.
func (t teller) OnDelete(deleted informer.Deleted[Object]) {
	if deleted.Exact {
		t.handler.OnDelete(Value(deleted.Last))
		return
	}
	t.handler.OnDelete(cache.DeletedFinalStateUnknown{Key: deleted.Key, Obj: Value(deleted.Last)})
}
