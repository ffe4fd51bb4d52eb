package clientgo

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/features"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"github.com/listwatch/listwatch/informer"
	"github.com/listwatch/listwatch/reflector"
)

// sharedIndexInformer is client-go's interface to an Informer.
type sharedIndexInformer struct {
	store     *store
	informer  *informer.Informer[Object]
	name      string
	example   runtime.Object
	lw        cache.ListerWatcher
	defaultBy time.Duration // the resync period of handlers that do not say theirs

	transform atomic.Pointer[cache.TransformFunc]
	trouble   trouble
	metrics   *instruments // nil: none

	mu       sync.Mutex // guards the rest
	checkBy  time.Duration
	started  bool
	stopped  bool
	watching cache.WatchErrorHandlerWithContext
}

var _ cache.SharedIndexInformer = (*sharedIndexInformer)(nil)

// NewSharedInformer is client-go's function of that name with our informer behind it.
func NewSharedInformer(lw cache.ListerWatcher, exampleObject runtime.Object, defaultEventHandlerResyncPeriod time.Duration) cache.SharedInformer {
	return NewSharedIndexInformer(lw, exampleObject, defaultEventHandlerResyncPeriod, nil)
}

// NewSharedIndexInformer is client-go's function of that name with our informer
// behind it; see the package's overview for what is different. It is also the
// function that controller-runtime's cache.Options.NewInformer wants.
func NewSharedIndexInformer(lw cache.ListerWatcher, exampleObject runtime.Object, defaultEventHandlerResyncPeriod time.Duration, indexers cache.Indexers) cache.SharedIndexInformer {
	return NewSharedIndexInformerWithOptions(lw, exampleObject, cache.SharedIndexInformerOptions{
		ResyncPeriod: defaultEventHandlerResyncPeriod, Indexers: indexers,
	})
}

// NewSharedIndexInformerWithOptions is client-go's function of that name with our
// informer behind it. Like client-go's it returns no error; it panics without a
// ListerWatcher or with an indexer that is nil, where client-go panics later.
func NewSharedIndexInformerWithOptions(lw cache.ListerWatcher, exampleObject runtime.Object, options cache.SharedIndexInformerOptions) cache.SharedIndexInformer {
	return newInformer(lw, exampleObject, options, collectionLike(exampleObject))
}

// newInformer is that of a collection that is known, as far as it is.
func newInformer(lw cache.ListerWatcher, exampleObject runtime.Object, options cache.SharedIndexInformerOptions, from reflector.Collection) *sharedIndexInformer {
	if lw == nil {
		panic("clientgo: no ListerWatcher")
	}
	s := &sharedIndexInformer{
		name:    options.ObjectDescription,
		example: exampleObject, lw: lw,
		defaultBy: options.ResyncPeriod, checkBy: options.ResyncPeriod,
		metrics: newInstruments(options),
	}
	if s.name == "" {
		s.name = fmt.Sprintf("%T", exampleObject)
	}
	inside := informer.Options[Object]{
		Name:            s.name,
		Collection:      from,
		NewUIDUpdates:   true,
		DetectMutations: detectsMutations(),
		Reflector: reflector.Options{
			DisableWatchList: !features.FeatureGates().Enabled(features.WatchListClient),
			Observer:         s.observe,
		},
	}
	if options.ObjectDescription == "" && from.Resource != "" {
		inside.Name = from.String()
	}
	if s.metrics != nil {
		inside.Instruments = s.metrics
	}
	inner, err := informer.NewMapped(newSource(lw, exampleObject), s.transformed, inside)
	if err != nil {
		panic(err) // none of it comes from the caller
	}
	s.informer, s.store = inner, &store{informer: inner, indexers: cache.Indexers{}}
	if err := s.store.AddIndexers(options.Indexers); err != nil {
		panic(err)
	}
	return s
}

// detectsMutations is whether client-go's informers would look for modified
// objects.
func detectsMutations() bool {
	on, _ := strconv.ParseBool(os.Getenv("KUBE_CACHE_MUTATION_DETECTOR"))
	return on
}

// Of returns the Informer behind one that this package made: with Snapshot,
// WaitFor, Status, Explain, Watch and all else that client-go's interface does not
// have. Only s may run it. false if s is of another make.
func Of(s cache.SharedInformer) (*informer.Informer[Object], bool) {
	// Not by the type of s, which wrappers like that of generated factories hide.
	ours, ok := s.GetStore().(*store)
	if !ok {
		return nil, false
	}
	return ours.informer, true
}

// transformed is what is cached of an object.
func (s *sharedIndexInformer) transformed(obj Object) (Object, error) {
	transform := s.transform.Load()
	if transform == nil {
		return obj, nil
	}
	value, err := (*transform)(obj)
	if err != nil {
		return nil, err
	}
	return wrap(value)
}

// SetTransform implements cache.SharedInformer. A transform is called exactly once
// for each object received, never with a tombstone.
func (s *sharedIndexInformer) SetTransform(transform cache.TransformFunc) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.started {
		return ErrStarted
	}
	if transform == nil {
		s.transform.Store(nil)
	} else {
		s.transform.Store(&transform)
	}
	return nil
}

// Run implements cache.SharedInformer.
func (s *sharedIndexInformer) Run(stopCh <-chan struct{}) {
	s.RunWithContext(wait.ContextForChannel(stopCh))
}

// RunWithContext implements cache.SharedInformer: it runs once, and returns when
// all goroutines are gone.
func (s *sharedIndexInformer) RunWithContext(ctx context.Context) {
	defer utilruntime.HandleCrashWithContext(ctx)
	if !s.start(ctx) {
		klog.FromContext(ctx).Info("Warning: the informer has started before, and runs only once", "informer", s.name)
		return
	}
	// From its end on no handlers are taken, while those there are may be in a call.
	release := context.AfterFunc(ctx, s.stop)
	defer release()
	defer s.stop()
	if err := s.informer.Run(ctx); err != nil {
		utilruntime.HandleErrorWithContext(ctx, err, "Informer stopped by itself", "informer", s.name)
	}
}

// start claims the one run.
func (s *sharedIndexInformer) start(ctx context.Context) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.started {
		return false
	}
	s.started = true
	s.trouble.begin(ctx, s.watching)
	s.metrics.begin()
	return true
}

func (s *sharedIndexInformer) stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stopped = true
}

// IsStopped implements cache.SharedInformer.
func (s *sharedIndexInformer) IsStopped() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stopped
}

// AddIndexers implements cache.SharedIndexInformer.
func (s *sharedIndexInformer) AddIndexers(indexers cache.Indexers) error {
	if s.IsStopped() {
		return fmt.Errorf("%s: indexers were not added: %w", s.name, ErrStopped)
	}
	return s.store.AddIndexers(indexers)
}

// GetStore implements cache.SharedInformer.
func (s *sharedIndexInformer) GetStore() cache.Store { return s.store }

// GetIndexer implements cache.SharedIndexInformer.
func (s *sharedIndexInformer) GetIndexer() cache.Indexer { return s.store }
