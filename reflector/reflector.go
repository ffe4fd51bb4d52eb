package reflector

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"
)

// Reflector keeps a Sink up to date with one collection of a server. Use New.
type Reflector[T Object] struct {
	source  Source[T]
	sink    Sink[T]
	options Options

	machine machine
	state   state // belongs to whoever set running
	running atomic.Bool
	forcing forcing
	tracker tracker
	kept    atomic.Int64 // objects that the sink held already

	knownSink KnownSink          // nil if the sink is none
	streaming StreamingSource[T] // nil if the source is none
}

// New returns a Reflector that reads source and writes sink once Run is called.
// It starts nothing. The error wraps ErrInvalidOptions.
func New[T Object](source Source[T], sink Sink[T], options Options) (*Reflector[T], error) {
	options, err := options.complete()
	if err != nil {
		return nil, fmt.Errorf("reflector %q: %w", options.Name, err)
	}
	if source == nil || sink == nil {
		return nil, fmt.Errorf("reflector %q: %w: source and sink are needed", options.Name, ErrInvalidOptions)
	}
	if none, ok := source.(interface{ invalid() error }); ok {
		return nil, fmt.Errorf("reflector %q: %w", options.Name, none.invalid())
	}
	r := &Reflector[T]{source: source, sink: sink, options: options, machine: machine{
		pageSize:         options.PageSize,
		notOlderThan:     options.NotOlderThan,
		watchList:        !options.DisableWatchList && !refusesWatchList(source),
		watchListAvoided: options.WatchListAvoided,
		probeAfter:       options.ProbeAfter,
		watchTimeout:     options.WatchTimeout,
		backoff:          options.Backoff,
	}}
	r.knownSink, _ = sink.(KnownSink)
	r.streaming, _ = source.(StreamingSource[T])
	r.tracker.status.Name = options.Name
	return r, nil
}

// Run lists and watches until ctx ends, then returns ctx.Err(). Failures of the
// server do not end it: they are retried, logged and shown in Status. It uses
// no goroutine but the caller's, and returns when the source's are gone. Run
// may be called again after it returned, and then begins with a replacement at
// the last resourceVersion, also where a Source or Sink panicked; a second Run at
// the same time returns ErrRunning.
func (r *Reflector[T]) Run(ctx context.Context) error {
	if !r.running.CompareAndSwap(false, true) {
		return fmt.Errorf("reflector %q: %w", r.options.Name, ErrRunning)
	}
	defer r.running.Store(false)
	r.forcing.run(true)
	defer r.forcing.run(false)
	return r.run(ctx)
}

// Status returns a copy of the current status. It may be called at any time,
// from any goroutine.
func (r *Reflector[T]) Status() Status {
	status := r.tracker.snapshot()
	status.Kept = r.kept.Load()
	if counter, ok := r.source.(decodeCounter); ok {
		status.Decoded, status.DecodeTime = counter.decoded()
	}
	return status
}

// decodeCounter is a Source that decodes by itself.
type decodeCounter interface {
	decoded() (objects int64, took time.Duration)
}
