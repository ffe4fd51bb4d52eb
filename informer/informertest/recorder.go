package informertest

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/listwatch/listwatch/informer"
)

// Recorder is a Handler that records its calls: Expect and its sisters wait for
// them, and Trace gives them to Verify. The zero value is ready; its exported
// fields are to be set before the first call. All methods may be called
// concurrently, in and outside of testing/synctest bubbles.
type Recorder[T informer.Object] struct {
	// Patience bounds every wait for calls; 0 is ten seconds. In a bubble they
	// are virtual ones, and cost nothing.
	Patience time.Duration
	// Content, if set, is compared by Verify, too.
	Content ContentFunc
	// Hold, if set, is called at the beginning of each call, before that is
	// recorded: a Hold that blocks makes a slow handler.
	Hold func()
	// Look makes each call take a snapshot of the informer, for Verify. It needs
	// Attach.
	Look bool

	mu     sync.Mutex // guards the rest
	trace  []Entry
	open   []call // recorded, and not expected yet
	count  int
	came   chan struct{}   // closed by the next call; nil if nobody waits
	synced <-chan struct{} // of the registration; nil if it was marked, or without Attach
	used   bool            // by Attach
}

// Attach registers r with inf. Unlike an r that is registered with AddHandler,
// it then knows when the handler is in sync, to the call. Errors: ErrAttached,
// and those of AddHandler.
func (r *Recorder[T]) Attach(inf *informer.Informer[T], opts ...informer.HandlerOption) (*informer.Registration, error) {
	return r.AttachTo(inf, func() Entry { return ReadSnapshot(inf.Snapshot(), r.Content) }, opts...)
}

// Registrar takes handlers: an *informer.Informer, or a factory.View.
type Registrar[T informer.Object] interface {
	// Name is the informer's.
	Name() string
	// AddHandler registers a handler.
	AddHandler(h informer.Handler[T], opts ...informer.HandlerOption) (*informer.Registration, error)
}

// AttachTo is Attach for anything that takes handlers; look reads its snapshot of
// that moment, for Recorder.Look.
func (r *Recorder[T]) AttachTo(to Registrar[T], look func() Entry, opts ...informer.HandlerOption) (*informer.Registration, error) {
	r.mu.Lock()
	used := r.used
	r.used = true
	r.mu.Unlock()
	if used {
		return nil, fmt.Errorf("informer %q: %w", to.Name(), ErrAttached)
	}
	a := &attached[T]{recorder: r, read: look, known: make(chan struct{})}
	reg, err := to.AddHandler(a, opts...)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	r.synced = reg.Synced()
	r.mu.Unlock()
	close(a.known)
	return reg, nil
}

// Record notes an event of informer.Events as the call that it stands for, so that
// a loop can be verified like a handler.
func (r *Recorder[T]) Record(e informer.Event[T]) {
	switch e.Type {
	case informer.EventAdded:
		r.OnAdd(e.Object, e.Initial)
	case informer.EventUpdated:
		r.OnUpdate(e.Old, e.Object)
	case informer.EventDeleted:
		r.OnDelete(informer.Deleted[T]{Key: e.Key(), Last: e.Object, Exact: e.Exact})
	case informer.EventSynced:
		r.note(Entry{Kind: SyncMark})
	}
}

// OnAdd implements informer.Handler.
func (r *Recorder[T]) OnAdd(obj T, initial bool) {
	r.hold()
	r.record(obj, Entry{Kind: AddCall, Key: KeyOf(obj), Object: VersionOf(obj, r.Content), Initial: initial})
}

// OnUpdate implements informer.Handler.
func (r *Recorder[T]) OnUpdate(old, obj T) {
	r.hold()
	r.record(obj, Entry{Kind: UpdateCall, Key: KeyOf(obj), Old: VersionOf(old, r.Content), Object: VersionOf(obj, r.Content)})
}

// OnDelete implements informer.Handler.
func (r *Recorder[T]) OnDelete(d informer.Deleted[T]) {
	r.hold()
	r.record(d.Last, Entry{Kind: DeleteCall, Key: d.Key, Object: VersionOf(d.Last, r.Content), Exact: d.Exact})
}

func (r *Recorder[T]) hold() {
	if r.Hold != nil {
		r.Hold()
	}
}

// record notes a call, after the mark of the sync if that came before.
func (r *Recorder[T]) record(obj T, e Entry) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.markSync()
	r.trace = append(r.trace, e)
	r.count++
	r.open = append(r.open, call{number: r.count, entry: e, object: obj})
	if r.came != nil {
		close(r.came)
		r.came = nil
	}
}

// markSync notes that the handler is in sync, once. Called with mu held.
func (r *Recorder[T]) markSync() {
	select {
	case <-r.synced:
		r.trace = append(r.trace, Entry{Kind: SyncMark})
		r.synced = nil
	default:
	}
}

// Settled notes in the trace that by now everything up to resourceVersion had
// been told, as after Quiesce. Only then can Verify know that something was not.
func (r *Recorder[T]) Settled(resourceVersion string) {
	r.note(Entry{Kind: SettledMark, ResourceVersion: number(resourceVersion)})
}

// note adds an entry that is no call.
func (r *Recorder[T]) note(e Entry) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.markSync()
	r.trace = append(r.trace, e)
}

// Trace is everything that was recorded, expected or not, for Verify.
func (r *Recorder[T]) Trace() []Entry {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.markSync()
	return slices.Clone(r.trace)
}

// attached is the handler that Attach registers: its calls wait until the
// registration is known, and take snapshots.
type attached[T informer.Object] struct {
	recorder *Recorder[T]
	read     func() Entry
	known    chan struct{}
}

// OnAdd implements informer.Handler.
func (a *attached[T]) OnAdd(obj T, initial bool) {
	<-a.known
	a.recorder.OnAdd(obj, initial)
	a.look()
}

// OnUpdate implements informer.Handler.
func (a *attached[T]) OnUpdate(old, obj T) {
	<-a.known
	a.recorder.OnUpdate(old, obj)
	a.look()
}

// OnDelete implements informer.Handler.
func (a *attached[T]) OnDelete(d informer.Deleted[T]) {
	<-a.known
	a.recorder.OnDelete(d)
	a.look()
}

// look notes the snapshot of this moment.
func (a *attached[T]) look() {
	if a.recorder.Look {
		a.recorder.note(a.read())
	}
}
