package main

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/workqueue"

	"github.com/listwatch/listwatch/examples/controllers/internal/configset"
	"github.com/listwatch/listwatch/examples/controllers/internal/ops"
	"github.com/listwatch/listwatch/informer"
	"github.com/listwatch/listwatch/informer/factory"
	"github.com/listwatch/listwatch/internal/worker"
	"github.com/listwatch/listwatch/reflector"
)

const (
	// workers is how many ConfigSets are worked on at a time.
	workers = 2
	// firstRetry, lastRetry: the pause after a failure grows from one to the other.
	firstRetry, lastRetry = 100 * time.Millisecond, 30 * time.Second
	// byOwner is the index of children by the key of their ConfigSet.
	byOwner = "owner"
)

// settings are what a controller is made with.
type settings struct {
	config  *rest.Config
	log     *slog.Logger
	install bool                      // the definition, where it is missing
	queues  workqueue.MetricsProvider // nil: none
}

// controller keeps ConfigSets and their ConfigMaps. It reads from informers, which
// run as long as the process does, and writes while work is called.
type controller struct {
	settings
	maps   kubernetes.Interface
	sets   *configset.Client
	writes *prometheus.CounterVec

	informers  *factory.Factory
	setCache   *informer.Informer[*configset.ConfigSet]
	childCache *informer.Informer[*corev1.ConfigMap]
	missing    chan struct{} // has an element if the server said that it has no ConfigSets
	atWork     atomic.Bool
}

// newController makes a controller. Nothing runs yet, and nothing is requested.
func newController(s settings) (*controller, error) {
	if s.config.QPS == 0 { // client-go's default would make a hundred ConfigMaps in 20 seconds
		s.config = rest.CopyConfig(s.config)
		s.config.QPS, s.config.Burst = 50, 100
	}
	c := &controller{settings: s, missing: make(chan struct{}, 1), writes: prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "replicas_writes_total", Help: "Objects written, by what was done and with what success.",
	}, []string{"operation", "result"})}
	var err error
	if c.maps, err = kubernetes.NewForConfig(s.config); err != nil {
		return nil, err
	}
	if c.sets, err = configset.NewClient(s.config); err != nil {
		return nil, err
	}
	if err := c.makeInformers(); err != nil {
		return nil, err
	}
	return c, nil
}

func (c *controller) makeInformers() (err error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{configset.AddToScheme, corev1.AddToScheme} {
		if err := add(scheme); err != nil {
			return err
		}
	}
	c.informers, err = factory.New(c.config, factory.Options{
		Scheme: scheme, Defaults: []factory.Option{factory.WithoutManagedFields()}, Reflector: reflector.Options{Observer: c.observe},
	})
	if err != nil {
		return err
	}
	// The definition may come later, or go: so this one waits for it.
	if c.setCache, err = factory.For[*configset.ConfigSet](c.informers, factory.WithWaiting()); err != nil {
		return err
	}
	c.childCache, err = factory.For[*corev1.ConfigMap](c.informers,
		factory.WithTransform(onlyChildren), factory.WithIndex(byOwner, ownerKey))
	return err
}

// onlyChildren keeps the ConfigMaps of everybody else out of the cache: a cluster
// has many. Not by a label selector, since a child that lost its label is to be found
// and repaired.
func onlyChildren(m *corev1.ConfigMap) (*corev1.ConfigMap, error) {
	if _, ok := configset.OwnerOf(m); !ok {
		return nil, informer.ErrDrop
	}
	return m, nil
}

// ownerKey is an index function, and tells what to look at when a child changes.
func ownerKey(m *corev1.ConfigMap) []string {
	if owner, ok := configset.OwnerOf(m); ok {
		return []string{owner.Key()}
	}
	return nil
}

// start has the informers run until ctx ends or stop is called.
func (c *controller) start(ctx context.Context) { c.informers.Start(ctx) }

// stop waits until they have ended.
func (c *controller) stop() { c.informers.Shutdown() }

// diagnostics show the caches, which are the same whoever's turn it is.
func (c *controller) diagnostics(options ops.Options, metrics prometheus.Gatherer) http.Handler {
	return ops.Handler(ops.Diagnostics{
		Metrics:   metrics,
		Ready:     func() error { return ops.Synced(c.setCache, c.childCache) },
		Standby:   func() bool { return options.LeaderElect && !c.atWork.Load() },
		Informers: c.informers.Informers,
	})
}

// term is one time of being at work. What it has in memory, another one that was at
// work in between would have made wrong.
type term struct {
	*controller
	// What this term has written is seen in here at once.
	sets     *informer.Overlay[*configset.ConfigSet]
	children *informer.Overlay[*corev1.ConfigMap]
	queue    workqueue.TypedRateLimitingInterface[string] // of keys of ConfigSets
}

// work keeps everything as it should be until ctx ends, and returns its error. It
// may be called again, but not by two at a time.
func (c *controller) work(ctx context.Context) error {
	t := &term{
		controller: c,
		sets:       informer.NewOverlay(c.setCache, 0),
		children:   informer.NewOverlay(c.childCache, 0),
		queue: workqueue.NewTypedRateLimitingQueueWithConfig(
			workqueue.NewTypedItemExponentialFailureRateLimiter[string](firstRetry, lastRetry),
			workqueue.TypedRateLimitingQueueConfig[string]{Name: configset.Plural, MetricsProvider: c.queues}),
	}
	c.atWork.Store(true)
	defer c.atWork.Store(false)
	group := worker.New(ctx)
	defer group.StopAndWait()
	defer t.queue.ShutDown()
	ofSets, err := c.setCache.AddHandler(t.setHandler(), informer.WithName("replicas"))
	if err != nil {
		return fmt.Errorf("handle ConfigSets: %w", err)
	}
	defer ofSets.Remove()
	ofChildren, err := c.childCache.AddHandler(t.childHandler(), informer.WithName("replicas"))
	if err != nil {
		return fmt.Errorf("handle ConfigMaps: %w", err)
	}
	defer ofChildren.Remove()
	group.Go("definition", t.keepDefinition)
	for range workers {
		group.Go("worker", t.serve)
	}
	c.log.Info("at work", "workers", workers)
	<-ctx.Done()
	return ctx.Err()
}

// setHandler puts every ConfigSet that changes into the queue; those that are there
// already come first.
func (t *term) setHandler() informer.Handler[*configset.ConfigSet] {
	return informer.HandlerFuncs[*configset.ConfigSet]{
		AddFunc:    func(set *configset.ConfigSet, _ bool) { t.queue.Add(set.Namespace + "/" + set.Name) },
		UpdateFunc: func(_, set *configset.ConfigSet) { t.queue.Add(set.Namespace + "/" + set.Name) },
		DeleteFunc: func(gone informer.Deleted[*configset.ConfigSet]) { t.queue.Add(gone.Key) },
	}
}

// childHandler puts the owner of every child that changes into the queue. One that
// does not exist finds its orphans that way: also those that it left while nobody
// was looking, for they are told as added when a term begins.
func (t *term) childHandler() informer.Handler[*corev1.ConfigMap] {
	enqueue := func(m *corev1.ConfigMap) {
		for _, key := range ownerKey(m) {
			t.queue.Add(key)
		}
	}
	return informer.HandlerFuncs[*corev1.ConfigMap]{
		AddFunc: func(m *corev1.ConfigMap, _ bool) { enqueue(m) },
		UpdateFunc: func(old, m *corev1.ConfigMap) {
			enqueue(old) // the owner may be another one now
			enqueue(m)
		},
		DeleteFunc: func(gone informer.Deleted[*corev1.ConfigMap]) { enqueue(gone.Last) },
	}
}

// serve works on what is in the queue until that is shut down or ctx ends.
func (t *term) serve(ctx context.Context) {
	for {
		key, shutdown := t.queue.Get()
		if shutdown {
			return
		}
		switch err := t.sync(ctx, key); {
		case err == nil:
			t.queue.Forget(key)
		case ctx.Err() == nil:
			t.log.Warn("trying again later", "configset", key, "tries", t.queue.NumRequeues(key)+1, "err", err)
			t.queue.AddRateLimited(key)
		}
		t.queue.Done(key)
	}
}
