package informer

import (
	"context"
	"sync/atomic"
	"time"

	"k8s.io/klog/v2"

	"github.com/listwatch/listwatch/deltafifo"
	"github.com/listwatch/listwatch/indexer"
	"github.com/listwatch/listwatch/internal/worker"
)

// run is what exists from the start of one Run to its end.
type run[T Object] struct {
	queues   []*deltafifo.Queue[T] // one for each part
	arrived  chan struct{}         // of capacity 1: look at the queues; nil for a single part
	closed   chan struct{}         // nothing more arrives
	handlers *worker.Group
	log      klog.Logger
	// interrupt ends the receiving; exited, if set, is why.
	interrupt context.CancelFunc
	exited    atomic.Pointer[error]
	told      Instruments // nil: nobody
}

// newRun makes a run with empty queues, to which the sinks write from now on.
func (i *Informer[T]) newRun(handlers *worker.Group, log klog.Logger) *run[T] {
	r := &run[T]{closed: make(chan struct{}), handlers: handlers, log: log, told: i.instruments}
	if i.union != nil {
		r.arrived = make(chan struct{}, 1)
	}
	for _, p := range i.parts {
		queue := deltafifo.New[T](deltafifo.Options{MaxPending: i.maxPending})
		p.sink.attach(queue, r.pushed)
		r.queues = append(r.queues, queue)
	}
	return r
}

// close says that nothing more is received.
func (r *run[T]) close() {
	for _, queue := range r.queues {
		queue.Close()
	}
	close(r.closed)
}

// resync queues a due resync behind what has arrived.
func (r *run[T]) resync() {
	r.queues[0].Resync()
	r.pushed()
}

// pushed is called when something was queued.
func (r *run[T]) pushed() {
	signal(r.arrived)
	r.count()
}

// count tells how much is queued. The last to tell it, of several at a time, is right.
func (r *run[T]) count() {
	if r.told == nil {
		return
	}
	for depth, again := r.depth(), true; again; {
		r.told.Queued(depth)
		now := r.depth()
		depth, again = now, now != depth
	}
}

// depth is the number of deltas that wait for the cache.
func (r *run[T]) depth() int {
	depth := 0
	for _, queue := range r.queues {
		depth += queue.Len()
	}
	return depth
}

// signal leaves a token in c, if c exists and has none.
func signal(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// pending tells how many deltas wait for the cache, and for how long.
func (r *run[T]) pending() (depth int, age time.Duration) {
	for _, queue := range r.queues {
		age = max(age, queue.OldestAge())
	}
	return r.depth(), age
}

// apply moves what arrives to the cache until the queues are closed and empty.
func (i *Informer[T]) apply(ctx context.Context, r *run[T]) {
	if i.union != nil {
		i.applyRounds(ctx, r)
		return
	}
	d := differ[T]{newUID: i.newUID}
	var batch []deltafifo.Delta[T]
	for {
		var err error
		batch, err = r.queues[0].Pop(ctx, batch[:0])
		if err != nil {
			return
		}
		i.process(r, func(p *published[T]) outcome[T] { return d.diff(p.snapshot, batch, !p.synced) })
		clear(batch) // keep no object alive while waiting
		d.release()
	}
}

// applyRounds is apply for several parts: what has arrived of all of them is
// applied together, so that an object that moves is seen to.
func (i *Informer[T]) applyRounds(ctx context.Context, r *run[T]) {
	i.union.restart(i.Snapshot())
	batches := make([][]deltafifo.Delta[T], len(r.queues))
	for open := true; open; {
		select {
		case <-r.arrived:
		case <-r.closed:
			open = false
		}
		any := false
		for k, queue := range r.queues {
			batches[k] = batches[k][:0]
			if queue.Len() > 0 { // then Pop, of which this is the only one, does not wait
				batches[k], _ = queue.Pop(ctx, batches[k])
				any = true
			}
		}
		if !any {
			continue
		}
		i.union.torn = true // until it is in the cache
		i.process(r, func(p *published[T]) outcome[T] { return i.union.round(p.snapshot, batches, !p.synced) })
		i.union.torn = false
		for k := range batches {
			clear(batches[k])
		}
		i.union.differ.release()
	}
}

// process is write for what was taken from the queues of a run.
func (i *Informer[T]) process(r *run[T], decide func(*published[T]) outcome[T]) {
	r.count()
	took := i.write(decide)
	if r.told != nil {
		r.told.Processed(took)
	}
}

// write publishes what decide makes of the newest state: the index first, then
// the notices. It returns how long that took.
func (i *Informer[T]) write(decide func(*published[T]) outcome[T]) (took time.Duration) {
	popped := i.processing.now()
	found := i.publish(decide)
	took = i.processing.now() - popped
	i.processing.observe(took)
	if i.detector != nil {
		i.detector.settle(found)
	}
	return took
}

// publish is write without what follows, and returns the mutations to report. The
// token is given back, and what the index has published is told, also if what it
// calls, Edit's function or one of an index, panics or ends the goroutine.
func (i *Informer[T]) publish(decide func(*published[T]) outcome[T]) (found []*Mutation) {
	i.writing <- struct{}{}
	defer func() { <-i.writing }()
	state := i.state.Load()
	out := decide(state)
	syncAt := -1
	if !state.synced {
		syncAt = out.replacedAt
	}
	vanished := out.vanished && state.synced
	if len(out.changes) == 0 && syncAt < 0 && !out.resync && !vanished && out.resourceVersion == state.snapshot.ResourceVersion() {
		return nil
	}
	if i.detector != nil {
		found = i.detector.protect(state.snapshot, &out)
	}
	defer func() {
		if snapshot := i.index.Snapshot(); snapshot != state.snapshot {
			i.tell(state, snapshot, &out, syncAt)
		}
	}()
	i.index.Apply(out.changes, out.resourceVersion) // keeps no changes
	return found
}

// tell makes public that out led from state to snapshot, and wakes the handlers.
func (i *Informer[T]) tell(state *published[T], snapshot *indexer.Snapshot[T], out *outcome[T], syncAt int) {
	i.checkDepths(state.end)
	next, wake := state.succeed(snapshot, out.notices, syncAt)
	state.tail.repeated = out.repeated
	next.synced = next.synced && !(out.vanished && state.synced)
	if out.resync && next.synced {
		i.assignResyncs(state.tail, next)
	}
	i.state.Store(next)
	noteDeletions(&i.deletions, out.notices)
	defer func() { // also if Stored panics, or ends the goroutine
		if syncAt >= 0 && !i.hasSynced() {
			close(i.first)
		}
		wake()
		if syncAt >= 0 {
			i.startResyncs()
		}
		if len(out.notices) > 0 || out.resync {
			i.watchCalls(state.tail.since)
		}
	}()
	if i.instruments != nil {
		i.instruments.Stored(snapshot.ResourceVersion())
	}
}
