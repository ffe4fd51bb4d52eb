package clientgo

import (
	"context"

	"k8s.io/client-go/tools/cache"
)

// done is a cache.DoneChecker.
type done struct {
	name func() string
	when <-chan struct{}
}

// Name implements cache.DoneChecker.
func (d done) Name() string { return d.name() }

// Done implements cache.DoneChecker.
func (d done) Done() <-chan struct{} { return d.when }

// HasSynced implements cache.SharedInformer. It stays true after the end.
func (s *sharedIndexInformer) HasSynced() bool { return cache.IsDone(s.HasSyncedChecker()) }

// HasSyncedChecker implements cache.SharedInformer.
func (s *sharedIndexInformer) HasSyncedChecker() cache.DoneChecker {
	return done{name: func() string { return "SharedIndexInformer " + s.name }, when: s.informer.Synced()}
}

// LastSyncResourceVersion implements cache.SharedInformer: it is that of the
// store, so that what it tells of can be read.
func (s *sharedIndexInformer) LastSyncResourceVersion() string {
	return s.store.LastStoreSyncResourceVersion()
}

// GetController implements cache.SharedInformer. What it returns does nothing, as
// client-go's.
func (s *sharedIndexInformer) GetController() cache.Controller { return controller{s} }

// controller shows an informer that something else runs.
type controller struct{ informer *sharedIndexInformer }

// RunWithContext implements cache.Controller, and does nothing.
func (c controller) RunWithContext(context.Context) {}

// Run implements cache.Controller, and does nothing.
func (c controller) Run(<-chan struct{}) {}

// HasSynced implements cache.Controller.
func (c controller) HasSynced() bool { return c.informer.HasSynced() }

// HasSyncedChecker implements cache.Controller.
func (c controller) HasSyncedChecker() cache.DoneChecker { return c.informer.HasSyncedChecker() }

// LastSyncResourceVersion implements cache.Controller.
func (c controller) LastSyncResourceVersion() string { return c.informer.LastSyncResourceVersion() }
