package informer

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/klog/v2"

	"github.com/listwatch/listwatch/indexer"
	"github.com/listwatch/listwatch/internal/worker"
	"github.com/listwatch/listwatch/reflector"
)

// Options configure an Informer. The zero value works.
type Options[T Object] struct {
	// Name stands in errors, log lines and Status; "informer" if empty.
	Name string
	// Indexes are the indexes of the cache, by name. More can be added with
	// AddIndex.
	Indexes map[string]indexer.Func[T]
	// Defined are more indexes, known by Go values instead of names. Others can be
	// added with Define.
	Defined []indexer.Definition[T]
	// Transform, if set, is called exactly once for every object received,
	// deleted ones included, before it is cached. It may modify and return its
	// argument; it must keep namespace, name, UID and resourceVersion. It returns
	// ErrDrop for an object that is not to be cached; a version that was cached
	// then leaves with a delete, and a later one may come back. For an object
	// that it fails (or panics) for, the cache keeps what it had before, Status
	// says so, and the next complete list tries again. Called by one goroutine
	// at a time. To cache another type than the received one, see NewMapped.
	Transform func(T) (T, error)
	// MaxPending is the number of deltas that may wait for the cache before
	// those of one key are merged; 0 means the default of package deltafifo.
	MaxPending int
	// Collection says what the source reads, where the source does not say it
	// itself (reflector.FromREST does). It stands in errors, Status and metrics,
	// and is not otherwise used.
	Collection reflector.Collection
	// DetectMutations makes the Informer find objects of the cache that somebody
	// modified although they are shared: it copies every object, and compares at
	// both ends of each call of a handler, when an object leaves the cache, about
	// once a minute, and at the end of Run. This costs a second copy of all
	// objects, and time. It is for tests and for looking for a culprit, and may
	// also be turned on by the environment: LISTWATCH_DETECT_MUTATIONS=1. Off, it
	// costs nothing.
	DetectMutations bool
	// OnMutation is told of each object that was modified, once, from the
	// goroutine that found it: a handler's, the apply loop's, or Run's caller's.
	// Nil panics with the *Mutation, as client-go's detector does; a panic
	// after the call of a handler counts as the handler's.
	OnMutation func(*Mutation)
	// NewUIDUpdates tells handlers of another UID under a known key as of an update,
	// as client-go's informer does, instead of a delete and an add. A DELETED event
	// then ends whatever has the key. Not for joined Informers.
	NewUIDUpdates bool
	// Instruments, if set, is told of each piece of work, for metrics that cannot be
	// read from Status when they are asked for. Nil costs nothing.
	Instruments Instruments
	// Reflector configures how the collection is listed and watched. Its Name
	// is taken from here if empty.
	Reflector reflector.Options
}

// Informer keeps a cache of one collection and tells handlers what changes. All
// methods may be called concurrently, before, during and after Run.
type Informer[T Object] struct {
	name       string
	serial     int64 // its number, in a process
	maxPending int
	newUID     bool // updates
	first      chan struct{}
	index      *indexer.Indexer[T]
	parts      []*part[T] // at least one
	union      *union[T]  // of the parts, used by the apply loop; nil for a single one
	news       news       // of the reflectors
	sizer      sizer[T]
	// indexFailures counts what Status says of it.
	indexFailures atomic.Int64
	processing    latency
	deletions     recent[Deletion]
	detector      *detector[T] // nil: off
	instruments   Instruments  // nil: none

	// state is what readers and new handlers start from. Written by whoever
	// holds the token in writing: the apply loop, AddIndex, or the end of Run.
	state   atomic.Pointer[published[T]]
	writing chan struct{}

	alarm    alarm        // open while Run runs
	patience atomic.Int64 // the least slowAfter of a handler; 0: none has one
	checkAt  int64        // where in the log to look at depths again; guarded by writing

	mu       sync.Mutex // guards the rest
	run      *run[T]    // nil: not running
	leased   *tenancy   // of run, if leases hold it
	ended    chan struct{}
	since    time.Time // of the last start or end of a run
	started  bool      // ever
	cursors  roster[T]
	nameless int // handlers that got a generated name
}

// New makes an Informer for the collection that source lists and watches. It
// starts nothing. Errors: ErrInvalidOptions, or what the other packages say
// about their part of the options.
func New[T Object](source reflector.Source[T], options Options[T]) (*Informer[T], error) {
	return newInformer(source, options.Transform, options)
}

// newInformer makes an Informer whose objects are what transform makes of those
// of source; without transform S has to be T.
func newInformer[S, T Object](source reflector.Source[S], transform func(S) (T, error), options Options[T]) (*Informer[T], error) {
	i, err := newCache(&options)
	if err != nil {
		return nil, err
	}
	p, err := newPart(i, "", source, transform, options)
	if err != nil {
		return nil, err
	}
	i.parts = []*part[T]{p}
	return i, nil
}

// newCache makes an Informer that lacks only a source.
func newCache[T Object](options *Options[T]) (*Informer[T], error) {
	options.Name = nameOr(options.Name)
	if options.Reflector.Name == "" {
		options.Reflector.Name = options.Name
	}
	if options.MaxPending < 0 {
		return nil, fmt.Errorf("informer %q: %w: MaxPending is negative", options.Name, ErrInvalidOptions)
	}
	i := &Informer[T]{
		name:        options.Name,
		serial:      serials.Add(1),
		maxPending:  options.MaxPending,
		newUID:      options.NewUIDUpdates,
		first:       make(chan struct{}),
		writing:     make(chan struct{}, 1),
		ended:       make(chan struct{}),
		since:       time.Now(),
		processing:  latency{base: time.Now()},
		detector:    newDetector(options),
		instruments: options.Instruments,
	}
	var err error
	i.index, err = indexer.New(indexer.Options[T]{
		Indexes: options.Indexes, Defined: options.Defined,
		OnError: func(*indexer.IndexError) { i.indexFailures.Add(1) },
	})
	if err != nil {
		return nil, fmt.Errorf("informer %q: %w", options.Name, err)
	}
	i.state.Store(&published[T]{snapshot: i.index.Snapshot(), mark: &mark{}, tail: newNode[T]()})
	return i, nil
}

// nameOr is name, or the default.
func nameOr(name string) string { return cmp.Or(name, "informer") }

// Name is the name from the options.
func (i *Informer[T]) Name() string { return i.name }

// Snapshot is the newest published state of the cache. Never nil; before the
// first complete list it is empty and its resourceVersion is "".
func (i *Informer[T]) Snapshot() *indexer.Snapshot[T] { return i.index.Snapshot() }

// Run lists and watches until ctx ends, then returns nil; all goroutines are
// gone then, so that Run waits for calls of handlers in progress. Afterwards Run
// may be called again: the cache and each handler's place are kept, the
// collection is listed anew, and handlers are told the differences. Errors:
// ErrRunning if another Run has not returned; ErrExited; or what made the reflector
// give up.
func (i *Informer[T]) Run(ctx context.Context) error {
	ctx = i.logged(ctx)
	r, err := i.begin(ctx)
	if err != nil {
		return err
	}
	return i.carryOut(ctx, r)
}

// logged puts the Informer's name into the logger of ctx.
func (i *Informer[T]) logged(ctx context.Context) context.Context {
	return klog.NewContext(ctx, klog.LoggerWithValues(klog.FromContext(ctx), "informer", i.name))
}

// carryOut is Run once r has begun. What calls foreign functions has goroutines of
// its own, for these may end theirs.
func (i *Informer[T]) carryOut(ctx context.Context, r *run[T]) error {
	receiving, stop := context.WithCancel(ctx)
	defer stop()
	r.interrupt = stop
	applying := worker.New(context.WithoutCancel(ctx))
	applying.Go("informer: apply", func(ctx context.Context) {
		defer r.noteExit(ctx)
		i.apply(ctx, r)
	})
	err := i.receive(receiving, r)
	// Everything received is applied before the end: the cache then is as new as
	// what the reflector has seen.
	r.close()
	applying.Wait()
	applying.Stop()
	i.stopHandlers(r)
	i.finish()
	switch exited := r.exited.Load(); {
	case exited != nil:
		err = *exited
	case err == nil || ctx.Err() != nil:
		return nil
	}
	return fmt.Errorf("informer %q: %w", i.name, err)
}

// begin claims the Informer for one run and starts the handlers.
func (i *Informer[T]) begin(ctx context.Context) (*run[T], error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.run != nil {
		return nil, fmt.Errorf("informer %q: %w", i.name, ErrRunning)
	}
	return i.beginLocked(ctx), nil
}

// beginLocked is begin for who holds mu and knows that there is no run.
func (i *Informer[T]) beginLocked(ctx context.Context) *run[T] {
	// Not ctx itself: handlers are to be stopped last.
	i.run = i.newRun(worker.New(context.WithoutCancel(ctx)), klog.FromContext(ctx))
	if i.started {
		i.ended = make(chan struct{})
	}
	i.started, i.since = true, time.Now()
	i.alarm.open(i.tick)
	for c := range i.cursors.all() {
		i.start(c)
	}
	i.watchCalls(i.since)
	return i.run
}

// stopHandlers waits until no handler is being called any more.
func (i *Informer[T]) stopHandlers(r *run[T]) {
	r.handlers.Stop()
	i.mu.Lock()
	for c := range i.cursors.all() { // later ones were not started
		c.reg.wake()
	}
	i.mu.Unlock()
	r.handlers.Wait()
	i.alarm.close() // until now a handler may be slow
}

// finish gives the Informer back. The cache is no longer in sync: nobody knows
// what happens until the next run has listed.
func (i *Informer[T]) finish() {
	i.writing <- struct{}{}
	state := *i.state.Load()
	state.synced = false
	i.state.Store(&state)
	<-i.writing
	defer i.release() // also if the detector panics
	if i.detector != nil {
		i.detector.end() // before another run may begin
	}
}

// release lets another run begin.
func (i *Informer[T]) release() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.run, i.leased, i.since = nil, nil, time.Now()
	for c := range i.cursors.all() {
		c.reg.resyncDue = time.Time{}
		c.reg.resyncAt.Store(0)
	}
	close(i.ended)
}

// AddIndex adds an index over all cached objects; snapshots taken from now on
// have it. f must not call AddIndex.
func (i *Informer[T]) AddIndex(name string, f indexer.Func[T]) error {
	return i.Define(indexer.NewIndex(name, f))
}
