package informer

import (
	"context"
	"sync/atomic"
	"time"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/klog/v2"

	"github.com/listwatch/listwatch/indexer"
	"github.com/listwatch/listwatch/internal/worker"
)

// cursor walks one handler along the notice log. Its fields belong to the one
// goroutine that runs it; between two runs they keep the place.
type cursor[T Object] struct {
	reg    *Registration
	tell   teller[T]
	state  func() *published[T] // the newest
	latest *latest[T]           // nil: every change
	pulled bool                 // by a loop, so that Run does not run it
	onSync func()               // told of synced; may be nil

	// Of calls that end the goroutine: extra says that the one in progress is none
	// that passed counts, exited that one did.
	extra, exited bool

	initial *sweep[T] // to be replayed as adds; nil when done
	start   *mark     // of initial
	ready   bool      // initial was complete: synced after the replay
	synced  bool      // reg.synced is closed
	target  *mark     // of the snapshot that the calls in progress lead to

	at     *node[T] // the batch to read next; nil if latest is not
	within int      // its notices that were delivered
}

// sweep goes once over the objects of a snapshot.
type sweep[T Object] struct {
	snapshot *indexer.Snapshot[T]
	told     atomic.Int64 // objects that were told, or are being told
}

// keyAt implements keyer. It takes long, but is wanted for log lines only.
func (s *sweep[T]) keyAt(int64) string {
	left := s.told.Load()
	for key := range s.snapshot.All() {
		if left--; left == 0 {
			return key
		}
	}
	return ""
}

// startAt makes p the place to start from: first its snapshot, then what follows.
func (c *cursor[T]) startAt(p *published[T]) {
	c.reg.passed.Store(p.end - int64(p.snapshot.Len()))
	c.initial, c.start, c.ready = &sweep[T]{snapshot: p.snapshot}, p.mark, p.synced
	if c.reg.latestOnly {
		c.reg.holds.Store(int64(p.snapshot.Len()))
		c.latest = &latest[T]{base: p.snapshot, seq: p.seq}
	} else {
		c.at = p.tail
	}
}

// run calls the handler until ctx ends or the registration is removed; to be
// woken in either case. It may be called again to go on where it stopped.
func (c *cursor[T]) run(ctx context.Context) {
	if !c.reg.enter() {
		return
	}
	defer c.reg.leave()
	ctx = klog.NewContext(ctx, klog.LoggerWithValues(klog.FromContext(ctx), "handler", c.reg.name)) // for panics
	c.reg.returned = c.reg.reportReturn(ctx)
	c.reg.startRun()
	if !c.replay(ctx) {
		return
	}
	for {
		more := c.advance(ctx)
		if more == nil {
			return
		}
		select {
		case <-more:
		case <-c.reg.nudge:
			if c.halted(ctx) {
				return
			}
		}
	}
}

// advance delivers all there is, and returns what is closed when there is more;
// nil if it was interrupted.
func (c *cursor[T]) advance(ctx context.Context) <-chan struct{} {
	if c.latest != nil {
		return c.advanceLatest(ctx)
	}
	for {
		batch := c.at
		select {
		case <-batch.ready:
		default:
			return batch.ready
		}
		if !c.deliver(ctx) {
			return nil
		}
		if batch.snapshot != nil && c.reg.resyncAt.Load() == batch.seq {
			c.resync(ctx, batch.snapshot)
		}
	}
}

// replay delivers the snapshot of the registration; false if it was interrupted.
func (c *cursor[T]) replay(ctx context.Context) bool {
	if c.initial == nil {
		return true
	}
	c.target = c.start
	c.begin(&work{since: time.Now(), keys: c.initial})
	defer c.end(ctx)
	skip := c.initial.told.Load()
	for key, obj := range c.initial.snapshot.All() {
		if skip > 0 {
			skip--
			continue
		}
		if c.halted(ctx) {
			return false
		}
		c.initial.told.Add(1)
		if c.latest != nil {
			c.pay(ctx, &debt[T]{key: key, now: obj})
		} else {
			c.call(ctx, &notice[T]{kind: noticeAdd, initial: true, obj: obj})
		}
		c.reg.passed.Add(1)
	}
	if c.ready {
		c.markSynced()
	}
	c.initial = nil
	c.reg.reach(c.start)
	return true
}

// deliver works through the batch at hand and steps to the next; false if it was
// interrupted.
func (c *cursor[T]) deliver(ctx context.Context) bool {
	batch := c.at
	c.target = batch.mark
	c.begin(&batch.work)
	defer c.end(ctx)
	for c.within < len(batch.notices) {
		if c.halted(ctx) {
			return false
		}
		if c.within == batch.syncAt {
			c.markSynced()
		}
		n := &batch.notices[c.within]
		c.within++
		c.call(ctx, n)
		c.reg.passed.Add(1)
	}
	if batch.syncAt == len(batch.notices) {
		c.markSynced()
	}
	c.at, c.within = batch.next, 0
	c.reg.reach(batch.mark)
	return true
}

// begin notes, for others, what the cursor is at.
func (c *cursor[T]) begin(w *work) {
	c.reg.startWork(w.since)
	c.reg.work.Store(w)
}

// end notes that it is at nothing. It is deferred, for panics that someone else
// recovers, and for calls that end the goroutine.
func (c *cursor[T]) end(ctx context.Context) {
	if c.reg.calling {
		c.cutShort(ctx)
	}
	c.reg.work.Store(nil)
	c.reg.endWork()
}

// startIn runs the cursor in a goroutine of group, and in another one if a call of
// the handler ends that.
func (c *cursor[T]) startIn(group *worker.Group) {
	group.Go("informer: "+c.reg.name, func(ctx context.Context) {
		defer func() {
			if c.exited {
				c.exited = false
				c.startIn(group) // nothing, if the run is over: the next one goes on
			}
		}()
		c.run(ctx)
	})
}

// call makes one call. A panic is dealt with, by default as client-go does: it is
// logged and raised again, which ends the process, unless the program has set
// utilruntime.ReallyCrash to false. Then, as with other policies, it counts as a
// call that was made.
func (c *cursor[T]) call(ctx context.Context, n *notice[T]) {
	c.reg.calling = !c.tell.raw
	switch {
	case c.tell.raw:
	case c.tell.panics == PanicCrashes:
		defer utilruntime.HandleCrashWithContext(ctx, c.reg.onPanic...)
	default:
		defer c.reg.survive(ctx, c.tell.panics)
	}
	if c.tell.tell(n, n.initial && !c.synced) {
		c.reg.counted++
	}
	c.reg.made()
}

func (c *cursor[T]) halted(ctx context.Context) bool {
	return c.reg.removed.Load() || ctx.Err() != nil
}

// markSynced says that all initial adds have returned; only the first counts.
func (c *cursor[T]) markSynced() {
	if !c.synced {
		c.synced = true
		close(c.reg.synced)
		if c.onSync != nil {
			c.onSync()
		}
	}
}
