package main

import (
	"context"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/listwatch/listwatch/examples/controllers/internal/configset"
	"github.com/listwatch/listwatch/informer/clientgo"
)

// The values of -informers.
const (
	listwatch = "listwatch"
	clientGo  = "client-go"
)

// newInformer makes an informer, for all of the manager's caches.
type newInformer = func(toolscache.ListerWatcher, runtime.Object, time.Duration, toolscache.Indexers) toolscache.SharedIndexInformer

// constructors are what -informers chooses from. This is all that the two have
// different: an operator of your own needs the one line, and no flag.
var constructors = map[string]newInformer{
	listwatch: clientgo.NewSharedIndexInformer,
	clientGo:  toolscache.NewSharedIndexInformer,
}

// ownerIndex finds ConfigMaps by the name of the ConfigSet that controls them.
const ownerIndex = "configset"

// settings are what an operator can be asked for.
type settings struct {
	informers string // a key of constructors
	install   bool   // the definition, where it is missing

	metrics, probes string // addresses; "0": none

	leaderElect               bool
	leaseNamespace, leaseName string
}

// reinstall returns what informers call when they fail. An operator that brings its
// definition along brings it back when the server has none: it may have been deleted, or
// the server may have lost everything.
func reinstall(to *rest.Config, log logr.Logger) toolscache.WatchErrorHandlerWithContext {
	return func(ctx context.Context, from *toolscache.Reflector, err error) {
		toolscache.DefaultWatchErrorHandler(ctx, from, err)
		if !apierrors.IsNotFound(err) {
			return
		}
		if created, err := configset.Install(ctx, to); err != nil {
			log.Error(err, "cannot install the definition of ConfigSets again")
		} else if created {
			log.Info("installed the definition of ConfigSets again")
		}
	}
}

// options are what the manager of a cluster is made with.
func (s settings) options(to *rest.Config, log logr.Logger) (ctrl.Options, error) {
	all := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{scheme.AddToScheme, configset.AddToScheme} {
		if err := add(all); err != nil {
			return ctrl.Options{}, err
		}
	}
	caches := cache.Options{
		NewInformer: constructors[s.informers], // the one line
	}
	if s.install {
		caches.DefaultWatchErrorHandler = reinstall(to, log)
	}
	return ctrl.Options{
		Scheme: all,
		Cache:  caches,
		// Reads wait until the cache has what was written through this client, so that
		// no plan is made for what is out of date by its own doing.
		Client: client.Options{Cache: &client.CacheOptions{EnableReadYourWritesConsistency: new(true)}},
		Controller: config.Controller{
			MaxConcurrentReconciles: 4,
			ReconciliationTimeout:   time.Minute, // such waits take as long as an outage
			SkipNameValidation:      new(true),   // there is one; another of its name is a test's
		},
		Metrics:                       metricsserver.Options{BindAddress: s.metrics},
		HealthProbeBindAddress:        s.probes,
		LeaderElection:                s.leaderElect,
		LeaderElectionNamespace:       s.leaseNamespace,
		LeaderElectionID:              s.leaseName,
		LeaderElectionReleaseOnCancel: true, // main ends when the manager does
		Logger:                        log,
	}, nil
}

// newOperator makes a manager with the controller of ConfigSets, and finds its
// informers. Nothing runs before its Start; the server is asked what it serves, and has
// to serve ConfigSets.
func newOperator(ctx context.Context, to *rest.Config, options ctrl.Options) (ctrl.Manager, *inside, error) {
	mgr, err := ctrl.NewManager(to, options)
	if err != nil {
		return nil, nil, err
	}
	err = mgr.GetFieldIndexer().IndexField(ctx, &corev1.ConfigMap{}, ownerIndex, func(obj client.Object) []string {
		if owner, ok := configset.OwnerOf(obj); ok {
			return []string{owner.Name}
		}
		return nil
	})
	if err != nil {
		return nil, nil, fmt.Errorf("index ConfigMaps: %w", err)
	}
	err = ctrl.NewControllerManagedBy(mgr).
		For(&configset.ConfigSet{}).
		Owns(&corev1.ConfigMap{}).
		WithLogConstructor(func(request *reconcile.Request) logr.Logger {
			if request == nil {
				return mgr.GetLogger()
			}
			return mgr.GetLogger().WithValues("configset", request.String())
		}).
		Complete(&reconciler{client: mgr.GetClient(), live: mgr.GetAPIReader()})
	if err != nil {
		return nil, nil, err
	}
	seen, err := look(ctx, mgr.GetCache(), &configset.ConfigSet{}, &corev1.ConfigMap{})
	if err != nil {
		return nil, nil, err
	}
	if err := mgr.AddHealthzCheck("ping", healthz.Ping); err != nil {
		return nil, nil, err
	}
	if err := mgr.AddReadyzCheck("informers", seen.ready); err != nil {
		return nil, nil, err
	}
	return mgr, seen, nil
}
