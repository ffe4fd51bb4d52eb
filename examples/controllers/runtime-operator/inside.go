package main

import (
	"context"
	"fmt"
	"net/http"

	toolscache "k8s.io/client-go/tools/cache"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/listwatch/listwatch/examples/controllers/internal/ops"
	"github.com/listwatch/listwatch/informer"
	"github.com/listwatch/listwatch/informer/clientgo"
	"github.com/listwatch/listwatch/informer/informermetrics"
)

// inside are the informers of a manager's cache.
type inside struct {
	all  []cache.Informer
	ours []*informer.Informer[clientgo.Object] // behind those of all that are listwatch's
}

// look finds the informers of objects. Those that there are not yet are made.
func look(ctx context.Context, in cache.Cache, objects ...client.Object) (*inside, error) {
	found := &inside{}
	for _, obj := range objects {
		inf, err := in.GetInformer(ctx, obj, cache.BlockUntilSynced(false))
		if err != nil {
			return nil, fmt.Errorf("informer of %T: %w", obj, err)
		}
		found.all = append(found.all, inf)
		// One for each namespace would be in a wrapper, which cannot be seen through.
		shared, ok := inf.(toolscache.SharedInformer)
		if !ok {
			continue
		}
		if ours, ok := clientgo.Of(shared); ok {
			found.ours = append(found.ours, ours)
		}
	}
	return found, nil
}

// ready is a check that fails until all are in sync; ours tell why they are not.
func (i *inside) ready(*http.Request) error {
	syncers := make([]informer.Syncer, len(i.ours))
	for n, ours := range i.ours {
		syncers[n] = ours
	}
	if err := ops.Synced(syncers...); err != nil {
		return err
	}
	for _, inf := range i.all {
		if !inf.HasSynced() {
			return fmt.Errorf("not in sync")
		}
	}
	return nil
}

// show adds what ours can tell to what the manager serves, and returns what ends
// that: their series in /metrics, and /informers, which has their status and explains
// why an object is in them or not.
func (i *inside) show(mgr ctrl.Manager) (hide func(), err error) {
	collector := informermetrics.New()
	inspected := make([]informer.Inspectable, len(i.ours))
	for n, ours := range i.ours {
		inspected[n] = ours
		if err := collector.Add(ours); err != nil {
			return nil, err
		}
	}
	if err := mgr.AddMetricsServerExtraHandler("/informers", informer.StatusHandler(inspected...)); err != nil {
		return nil, err
	}
	// The registry is the process's, not the manager's.
	if err := metrics.Registry.Register(collector); err != nil {
		return nil, err
	}
	return func() { metrics.Registry.Unregister(collector) }, nil
}
