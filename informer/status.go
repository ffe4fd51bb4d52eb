package informer

import (
	"time"

	"github.com/listwatch/listwatch/reflector"
)

// maxListed bounds the objects that a Status lists one by one.
const maxListed = 16

// Status is a picture of an Informer at about one moment. It is a copy, and
// everything in it can be written as JSON.
type Status struct {
	// Time is when the picture was taken.
	Time time.Time
	// Name is the name from the options.
	Name string
	// Collection is what the source reads, as far as it is known.
	Collection reflector.Collection
	// Running says whether Run is in progress.
	Running bool
	// Phase is what the Informer is at: the reflector's phase while it runs,
	// reflector.Initial before, reflector.Stopped after. Since is when that began.
	Phase reflector.Phase
	Since time.Time
	// Synced says that this run has applied its first complete list, and that the
	// resource has not gone since (see reflector.Options.Absence).
	Synced bool
	// ResourceVersion and Objects are those of the published snapshot.
	ResourceVersion string
	Objects         int
	// Bytes is an estimate of the memory that these objects and their keys take,
	// from a sample of them. It counts shared parts of objects as often as they
	// are referred to, and not the indexes.
	Bytes int64

	// QueueDepth is the number of deltas that wait for the cache, and QueueAge
	// how long the oldest of them has waited.
	QueueDepth int
	QueueAge   time.Duration
	// Processing tells how long it took, for each batch of changes taken from the
	// queue, until readers could see it and handlers were woken.
	Processing Histogram
	// Handlers are those that are registered, oldest first.
	Handlers []HandlerStatus
	// Transform tells of objects that Options.Transform failed for.
	Transform TransformStatus
	// IndexErrors tell of objects that an index function failed or panicked for;
	// they are in the cache, but not in that index. They are the first few of
	// IndexErrorsStanding, by index and key.
	IndexErrors         []error
	IndexErrorsStanding int
	// IndexFailures is how often, since New, an index function failed.
	IndexFailures int64

	// Reflector has the counts of lists, watches, relists and reconnects, and
	// the last error: of a joined Informer those of the part that is worst off,
	// which has not synced or failed most often in a row.
	Reflector reflector.Status
	// Parts are the same for each part of the collection, in order: one, unless
	// the Informer is a joined one.
	Parts []PartStatus
}

// PartStatus is the state of one part of the collection.
type PartStatus struct {
	// Name is the part's, "" if it is the only one.
	Name string
	// Collection is what its source reads, as far as it is known.
	Collection reflector.Collection
	Reflector  reflector.Status
}

// HandlerStatus is the state of one handler.
type HandlerStatus struct {
	Name   string
	Synced bool
	// Depth is the number of calls the handler is behind; Age is how long ago
	// the cache took the batch that the handler is in the middle of.
	Depth int
	Age   time.Duration
	// Site is "file:line" of whoever registered the handler.
	Site string
	// ResourceVersion is that of the collection up to which the handler has
	// returned from every call.
	ResourceVersion string
	// Calls counts the calls, Panics those that ended with a panic or ended their
	// goroutine (runtime.Goexit). Slowest is how long the slowest took; where the
	// rest take microseconds, it may include a few of them. All lag a little: a call
	// in progress is not in it.
	Calls, Panics int64
	Slowest       time.Duration
}

// TransformStatus tells of objects that could not be transformed.
type TransformStatus struct {
	// Failures is the number of failed calls since New.
	Failures int
	// Standing is the number of objects whose newest version is not in the
	// cache because of that, and Objects are the first few of them by key.
	Standing int
	Objects  []ObjectError
	// Anonymous is the number of objects received, since New, that the transform
	// took the UID or the resourceVersion off. Such objects count as changed in
	// every list, and are decoded anew each time.
	Anonymous int64
	// Dropped is the number of versions of objects, since New, that the transform
	// dropped; one that is received again, with a list, counts again.
	Dropped int64
}

// Status returns a picture of the Informer. It takes a few microseconds (some
// hundred, about twice a minute, to measure objects), and never waits for the
// server or a handler.
func (i *Informer[T]) Status() Status {
	state := i.state.Load()
	s := Status{
		Time:            time.Now(),
		Name:            i.name,
		Collection:      i.collection(),
		Synced:          state.synced,
		ResourceVersion: state.snapshot.ResourceVersion(),
		Objects:         state.snapshot.Len(),
		Bytes:           i.sizer.estimate(state.snapshot),
		Processing:      i.processing.histogram(),
	}
	s.Parts = i.partStatus()
	s.Reflector = worst(s.Parts)
	standing := i.index.Errors()
	s.IndexFailures, s.IndexErrorsStanding = i.indexFailures.Load(), len(standing)
	for _, err := range standing[:min(len(standing), maxListed)] {
		s.IndexErrors = append(s.IndexErrors, err)
	}
	s.Transform = i.transformStatus()

	i.mu.Lock()
	defer i.mu.Unlock()
	s.Phase, s.Since = s.Reflector.Phase, s.Reflector.Since
	switch {
	case i.run != nil:
		s.Running = true
		s.QueueDepth, s.QueueAge = i.run.pending()
		if s.Since.Before(i.since) { // the reflector is not there yet
			s.Phase, s.Since = reflector.Initial, i.since
		}
	case i.started:
		s.Phase, s.Since = reflector.Stopped, i.since
	default:
		s.Phase, s.Since = reflector.Initial, i.since
	}
	for c := range i.cursors.all() {
		s.Handlers = append(s.Handlers, c.reg.status())
	}
	return s
}

func (r *Registration) status() HandlerStatus {
	return HandlerStatus{
		Name: r.name, Site: r.Site(), Synced: r.isSynced(), ResourceVersion: r.ResourceVersion(),
		Depth: r.Depth(), Age: r.age(),
		Calls: r.calls.Load(), Panics: r.panics.Load(), Slowest: time.Duration(r.slowest.Load()),
	}
}
