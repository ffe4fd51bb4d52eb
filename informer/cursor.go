package informer

import (
	"context"
	"time"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/klog/v2"

	"github.com/listwatch/listwatch/indexer"
)

// cursor walks one handler along the notice log. Its fields belong to the one
// goroutine inside run; between two runs they keep the place.
type cursor[T Object] struct {
	reg     *Registration
	handler Handler[T]

	initial  *indexer.Snapshot[T] // to be replayed as adds; nil when done
	replayed int                  // objects of initial that were delivered
	ready    bool                 // initial was complete: synced after the replay
	synced   bool                 // reg.synced is closed

	at     *node[T] // the batch to read next
	within int      // its notices that were delivered
}

// newCursor starts at p: first its snapshot, then what follows it.
func newCursor[T Object](p *published[T], handler Handler[T], reg *Registration) *cursor[T] {
	reg.passed.Store(p.end - int64(p.snapshot.Len()))
	return &cursor[T]{reg: reg, handler: handler, initial: p.snapshot, ready: p.synced, at: p.tail}
}

// run calls the handler until ctx ends or the registration is removed; to be
// woken in either case. It may be called again to go on where it stopped.
func (c *cursor[T]) run(ctx context.Context) {
	if !c.reg.enter() {
		return
	}
	defer c.reg.leave()
	ctx = klog.NewContext(ctx, klog.LoggerWithValues(klog.FromContext(ctx), "handler", c.reg.name)) // for panics
	if !c.replay(ctx) {
		return
	}
	for !c.halted(ctx) {
		select {
		case <-c.at.ready:
			c.deliver(ctx)
		case <-c.reg.nudge:
		}
	}
}

// replay delivers the snapshot of the registration; false if it was interrupted.
func (c *cursor[T]) replay(ctx context.Context) bool {
	if c.initial == nil {
		return true
	}
	c.reg.working.Store(time.Now().UnixNano())
	defer c.reg.working.Store(0)
	skip := c.replayed
	for _, obj := range c.initial.All() {
		if skip > 0 {
			skip--
			continue
		}
		if c.halted(ctx) {
			return false
		}
		c.replayed++
		c.call(ctx, &notice[T]{kind: noticeAdd, initial: true, obj: obj})
	}
	c.initial = nil
	if c.ready {
		c.markSynced()
	}
	return true
}

// deliver works through the batch at hand, unless it is interrupted, and steps to
// the next.
func (c *cursor[T]) deliver(ctx context.Context) {
	batch := c.at
	c.reg.working.Store(batch.written.UnixNano())
	defer c.reg.working.Store(0)
	for c.within < len(batch.notices) {
		if c.halted(ctx) {
			return
		}
		if c.within == batch.syncAt {
			c.markSynced()
		}
		n := &batch.notices[c.within]
		c.within++
		c.call(ctx, n)
	}
	if batch.syncAt == len(batch.notices) {
		c.markSynced()
	}
	c.at, c.within = batch.next, 0
}

// call makes one call. A panic is logged and raised again, which ends the
// process, unless the program has set utilruntime.ReallyCrash to false: then
// the notice counts as delivered.
func (c *cursor[T]) call(ctx context.Context, n *notice[T]) {
	defer c.reg.passed.Add(1)
	defer utilruntime.HandleCrashWithContext(ctx)
	switch n.kind {
	case noticeAdd:
		c.handler.OnAdd(n.obj, n.initial && !c.synced)
	case noticeUpdate:
		c.handler.OnUpdate(n.old, n.obj)
	case noticeDelete:
		c.handler.OnDelete(Deleted[T]{Key: n.key, Last: n.obj, Exact: n.exact})
	}
}

func (c *cursor[T]) halted(ctx context.Context) bool {
	return c.reg.removed.Load() || ctx.Err() != nil
}

// markSynced says that all initial adds have returned; only the first counts.
func (c *cursor[T]) markSynced() {
	if !c.synced {
		c.synced = true
		close(c.reg.synced)
	}
}
