package clientgo

import (
	"context"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/dynamic/dynamiclister"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/metadata/metadatalister"
	"k8s.io/client-go/tools/cache"
)

// NewDynamicSharedInformerFactory is dynamicinformer's function of that name with our
// informers.
func NewDynamicSharedInformerFactory(client dynamic.Interface, defaultResync time.Duration) dynamicinformer.DynamicSharedInformerFactory {
	return NewFilteredDynamicSharedInformerFactory(client, defaultResync, metav1.NamespaceAll, nil)
}

// NewFilteredDynamicSharedInformerFactory is dynamicinformer's function of that name
// with our informers.
func NewFilteredDynamicSharedInformerFactory(client dynamic.Interface, defaultResync time.Duration, namespace string, tweakListOptions dynamicinformer.TweakListOptionsFunc) dynamicinformer.DynamicSharedInformerFactory {
	return newGenericFactory(func(gvr schema.GroupVersionResource) informers.GenericInformer {
		return NewFilteredDynamicInformer(client, gvr, namespace, defaultResync, byNamespace(), tweakListOptions)
	})
}

// NewFilteredDynamicInformer is dynamicinformer's function of that name with our
// informer.
//
// signature: dynamicinformer's
func NewFilteredDynamicInformer(client dynamic.Interface, gvr schema.GroupVersionResource, namespace string, resyncPeriod time.Duration, indexers cache.Indexers, tweakListOptions dynamicinformer.TweakListOptionsFunc) informers.GenericInformer {
	g := &generic{informer: newInformer(
		tweaking(client.Resource(gvr).Namespace(namespace), client, tweakListOptions), &unstructured.Unstructured{},
		cache.SharedIndexInformerOptions{ResyncPeriod: resyncPeriod, ObjectDescription: gvr.String(), Indexers: indexers},
		collectionAt(gvr, namespace),
	)}
	g.lister = dynamiclister.NewRuntimeObjectShim(dynamiclister.New(g.informer.GetIndexer(), gvr))
	return g
}

// NewMetadataSharedInformerFactory is metadatainformer.NewSharedInformerFactory with
// our informers.
func NewMetadataSharedInformerFactory(client metadata.Interface, defaultResync time.Duration) metadatainformer.SharedInformerFactory {
	return NewMetadataSharedInformerFactoryWithOptions(client, defaultResync)
}

// NewFilteredMetadataSharedInformerFactory is
// metadatainformer.NewFilteredSharedInformerFactory with our informers.
func NewFilteredMetadataSharedInformerFactory(client metadata.Interface, defaultResync time.Duration, namespace string, tweakListOptions metadatainformer.TweakListOptionsFunc) metadatainformer.SharedInformerFactory {
	return newGenericFactory(func(gvr schema.GroupVersionResource) informers.GenericInformer {
		return NewFilteredMetadataInformer(client, gvr, namespace, defaultResync, byNamespace(), tweakListOptions)
	})
}

// MetadataOption is an option of NewMetadataSharedInformerFactoryWithOptions.
type MetadataOption func(*metadataOptions)

// metadataOptions are all that there are.
type metadataOptions struct{ transform cache.TransformFunc }

// WithTransform is metadatainformer.WithTransform: a transform of all informers.
func WithTransform(transform cache.TransformFunc) MetadataOption {
	return func(o *metadataOptions) { o.transform = transform }
}

// NewMetadataSharedInformerFactoryWithOptions is
// metadatainformer.NewSharedInformerFactoryWithOptions with our informers. That
// package's options cannot be given to another's factory: WithTransform of this one
// takes the place of its only one.
func NewMetadataSharedInformerFactoryWithOptions(client metadata.Interface, defaultResync time.Duration, options ...MetadataOption) metadatainformer.SharedInformerFactory {
	var chosen metadataOptions
	for _, option := range options {
		option(&chosen)
	}
	return newGenericFactory(func(gvr schema.GroupVersionResource) informers.GenericInformer {
		g := NewFilteredMetadataInformer(client, gvr, metav1.NamespaceAll, defaultResync, byNamespace(), nil)
		_ = g.Informer().SetTransform(chosen.transform) // fails only after the start
		return g
	})
}

// NewFilteredMetadataInformer is metadatainformer's function of that name with our
// informer.
//
// signature: metadatainformer's
func NewFilteredMetadataInformer(client metadata.Interface, gvr schema.GroupVersionResource, namespace string, resyncPeriod time.Duration, indexers cache.Indexers, tweakListOptions metadatainformer.TweakListOptionsFunc) informers.GenericInformer {
	g := &generic{informer: newInformer(
		tweaking(client.Resource(gvr).Namespace(namespace), client, tweakListOptions), &metav1.PartialObjectMetadata{},
		cache.SharedIndexInformerOptions{ResyncPeriod: resyncPeriod, ObjectDescription: gvr.String(), Indexers: indexers},
		collectionAt(gvr, namespace),
	)}
	g.lister = metadatalister.NewRuntimeObjectShim(metadatalister.New(g.informer.GetIndexer(), gvr))
	return g
}

// byNamespace is the index that listers need, and informers of factories have.
func byNamespace() cache.Indexers {
	return cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc}
}

// lister is a dynamic or metadata client of one collection.
type lister[L runtime.Object] interface {
	List(ctx context.Context, options metav1.ListOptions) (L, error)
	Watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error)
}

// tweaking lists and watches with options that tweak has changed.
func tweaking[L runtime.Object](from lister[L], client any, tweak func(*metav1.ListOptions)) cache.ListerWatcher {
	tweaked := func(options metav1.ListOptions) metav1.ListOptions {
		if tweak != nil {
			tweak(&options)
		}
		return options
	}
	return cache.ToListWatcherWithWatchListSemantics(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			return from.List(ctx, tweaked(options))
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			return from.Watch(ctx, tweaked(options))
		},
	}, client)
}

// generic is an informer with its lister.
type generic struct {
	informer cache.SharedIndexInformer
	lister   cache.GenericLister
}

// Informer implements informers.GenericInformer.
func (g *generic) Informer() cache.SharedIndexInformer { return g.informer }

// Lister implements informers.GenericInformer.
func (g *generic) Lister() cache.GenericLister { return g.lister }

// genericFactory makes informers by resource, each once.
type genericFactory struct {
	make    func(schema.GroupVersionResource) informers.GenericInformer
	running sync.WaitGroup

	mu      sync.Mutex // guards the rest
	made    map[schema.GroupVersionResource]informers.GenericInformer
	started map[schema.GroupVersionResource]bool
	closing bool
}

func newGenericFactory(newInformer func(schema.GroupVersionResource) informers.GenericInformer) *genericFactory {
	return &genericFactory{
		make:    newInformer,
		made:    map[schema.GroupVersionResource]informers.GenericInformer{},
		started: map[schema.GroupVersionResource]bool{},
	}
}

// ForResource returns the informer of a resource, of which the first call makes it.
func (f *genericFactory) ForResource(gvr schema.GroupVersionResource) informers.GenericInformer {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.made[gvr] == nil {
		f.made[gvr] = f.make(gvr)
	}
	return f.made[gvr]
}

// Start starts the informers that have not been, until stopCh is closed.
func (f *genericFactory) Start(stopCh <-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for gvr, one := range f.made {
		if f.closing || f.started[gvr] {
			continue
		}
		f.started[gvr] = true
		f.running.Go(func() { one.Informer().Run(stopCh) })
	}
}

// WaitForCacheSync waits until the informers that were started are in sync, or
// stopCh is closed, and tells which are.
func (f *genericFactory) WaitForCacheSync(stopCh <-chan struct{}) map[schema.GroupVersionResource]bool {
	waiting := map[schema.GroupVersionResource]cache.DoneChecker{}
	f.mu.Lock()
	for gvr := range f.started {
		waiting[gvr] = f.made[gvr].Informer().HasSyncedChecker()
	}
	f.mu.Unlock()
	synced := map[schema.GroupVersionResource]bool{}
	ctx := wait.ContextForChannel(stopCh)
	for gvr, one := range waiting {
		synced[gvr] = cache.WaitFor(ctx, "", one)
	}
	return synced
}

// Shutdown has Start start nothing any more, and waits until the informers have
// ended; what they were started with must be closed for that.
func (f *genericFactory) Shutdown() {
	f.mu.Lock()
	f.closing = true
	f.mu.Unlock()
	f.running.Wait()
}
