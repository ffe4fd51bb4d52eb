package main

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	listers "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/workqueue"

	"github.com/listwatch/listwatch/examples/controllers/internal/ops"
	"github.com/listwatch/listwatch/informer"
	"github.com/listwatch/listwatch/informer/clientgo"
	"github.com/listwatch/listwatch/internal/worker"
)

const (
	workers = 2
	// A pod that cannot be written is tried again after, doubled each time:
	firstRetry = 50 * time.Millisecond
	lastRetry  = 15 * time.Second
	// grace is how long work may go on after the end: less than it takes for somebody
	// else to get a lost lease.
	grace = 4 * time.Second
)

// controller labels pods. It runs once.
type controller struct {
	client   kubernetes.Interface
	log      *slog.Logger
	metrics  *metrics
	recorder events.EventRecorder // set by Run

	factory    informers.SharedInformerFactory
	pods       *informer.Overlay[clientgo.Object] // the cache, and what we have written
	podLister  listers.PodLister
	namespaces listers.NamespaceLister
	watched    []*informer.Informer[clientgo.Object]
	queue      workqueue.TypedRateLimitingInterface[cache.ObjectName]
}

// newController makes a controller, with nothing running.
func newController(client kubernetes.Interface, log *slog.Logger, m *metrics) (*controller, error) {
	c := &controller{client: client, log: log, metrics: m, factory: informers.NewSharedInformerFactory(client, 0)}
	// The switch: from here on the factory has informers of listwatch.
	if err := clientgo.Register(c.factory, clientgo.Scope{}, &corev1.Pod{}, &corev1.Namespace{}); err != nil {
		return nil, err
	}
	core := c.factory.Core().V1()
	c.podLister, c.namespaces = core.Pods().Lister(), core.Namespaces().Lister()
	pods, namespaces := core.Pods().Informer(), core.Namespaces().Informer()
	for _, one := range []cache.SharedIndexInformer{pods, namespaces} {
		ours, ok := clientgo.Of(one)
		if !ok {
			return nil, fmt.Errorf("an informer of another make: %T", one)
		}
		c.watched = append(c.watched, ours)
	}
	c.pods = informer.NewOverlay(c.watched[0], 0)
	if _, err := pods.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    c.podChanged,
		UpdateFunc: func(_, obj any) { c.podChanged(obj) },
	}); err != nil {
		return nil, err
	}
	_, err := namespaces.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: c.namespaceChanged,
		UpdateFunc: func(old, obj any) {
			if teamOf(old.(*corev1.Namespace)) != teamOf(obj.(*corev1.Namespace)) {
				c.namespaceChanged(obj)
			}
		},
	})
	return c, err
}

// podChanged is told of each version of a pod, our own included.
func (c *controller) podChanged(obj any) {
	c.queue.Add(cache.MetaObjectToName(obj.(*corev1.Pod)))
}

// namespaceChanged looks at all pods of a namespace.
func (c *controller) namespaceChanged(obj any) {
	pods, err := c.podLister.Pods(obj.(*corev1.Namespace).Name).List(labels.Everything())
	if err != nil {
		c.log.Error("list pods of the cache", "err", err)
	}
	for _, pod := range pods {
		c.queue.Add(cache.MetaObjectToName(pod))
	}
}

// Run works until ctx ends. Then it takes in nothing new, does what is in the queue,
// as far as that is possible soon, and returns when all is at rest.
func (c *controller) Run(ctx context.Context) (err error) {
	var stopEvents func()
	if c.recorder, stopEvents, err = ops.Recorder(ctx, c.client, name); err != nil {
		return err
	}
	defer stopEvents()
	// Made here, since it has goroutines from the beginning.
	c.queue = workqueue.NewTypedRateLimitingQueueWithConfig(
		workqueue.NewTypedItemExponentialFailureRateLimiter[cache.ObjectName](firstRetry, lastRetry),
		workqueue.TypedRateLimitingQueueConfig[cache.ObjectName]{Name: name, MetricsProvider: c.metrics.queues})
	defer c.queue.ShutDown()
	if err := c.metrics.informers.Add(c.watched[0], c.watched[1]); err != nil {
		return err
	}
	defer c.metrics.forget(c.watched)

	// Neither informers nor workers end with ctx, but in an order.
	inner, stopInformers := context.WithCancel(context.WithoutCancel(ctx))
	defer c.factory.Shutdown()
	defer stopInformers()
	c.factory.StartWithContext(inner)
	if err := informer.WaitForSync(ctx, c.watched[0], c.watched[1]); err != nil {
		return err
	}
	c.log.Info("the caches are in sync", "pods", c.watched[0].Snapshot().Len(), "namespaces", c.watched[1].Snapshot().Len())

	working := worker.New(inner)
	for range workers {
		working.Go("worker", c.work)
	}
	<-ctx.Done()
	c.queue.ShutDown() // a worker ends when the queue is empty
	abort := time.AfterFunc(grace, working.Stop)
	defer abort.Stop()
	working.Wait()
	return ctx.Err()
}

// work takes pods from the queue until that is shut down and empty.
func (c *controller) work(ctx context.Context) {
	for {
		key, over := c.queue.Get()
		if over {
			return
		}
		if err := c.reconcile(ctx, key); err != nil {
			c.log.Warn("trying again later", "pod", key.String(), "failures", c.queue.NumRequeues(key)+1, "err", err)
			c.queue.AddRateLimited(key)
		} else {
			c.queue.Forget(key)
		}
		c.queue.Done(key)
	}
}
