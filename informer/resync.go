package informer

import (
	"context"
	"time"

	"github.com/listwatch/listwatch/indexer"
)

// minResync bounds how often a handler may go over everything, as in client-go.
const minResync = time.Second

// WithResync calls OnUpdate(x, x) for every object that the handler knows, again
// and again, a period after the first complete list and after the end of the
// resync before; so a slow handler has never more than one ahead. A resync has
// its place among the changes: x is what the handler was told last. It comes with
// no request to the server. While the Informer is not in sync there is none.
// Predicates do not apply to it.
//
// period is at least a second; 0 is none, as without the option. One timer serves
// all handlers of an Informer; there is none if no handler wants it.
func WithResync(period time.Duration) HandlerOption {
	return func(c *handlerConfig) { c.resync = period }
}

// startResyncs lets the first period of every handler begin. It is called after
// the state was published as synced, so that a handler registered meanwhile
// either is among the cursors or knows.
func (i *Informer[T]) startResyncs() {
	now := time.Now()
	i.mu.Lock()
	defer i.mu.Unlock()
	for c := range i.cursors.all() {
		i.scheduleResync(c.reg, now)
	}
}

// scheduleResync lets a period begin. Called with mu held.
func (i *Informer[T]) scheduleResync(reg *Registration, now time.Time) {
	if reg.resync > 0 && i.run != nil {
		reg.resyncAt.Store(0)
		reg.resyncDue = now.Add(reg.resync)
		i.alarm.by(reg.resyncDue)
	}
}

// assignResyncs has those whose resync is due make it after the last batch before
// next. They cannot have got there yet, since it is not published.
func (i *Informer[T]) assignResyncs(batch *node[T], next *published[T]) {
	now := time.Now()
	i.mu.Lock()
	defer i.mu.Unlock()
	for c := range i.cursors.all() {
		if reg := c.reg; !reg.resyncDue.IsZero() && !reg.resyncDue.After(now) {
			reg.resyncDue = time.Time{}
			reg.resyncAt.Store(next.seq)
			if !reg.latestOnly {
				batch.snapshot = next.snapshot
			}
		}
	}
}

// resynced lets the next period of reg begin.
func (i *Informer[T]) resynced(reg *Registration) {
	now := time.Now()
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.state.Load().synced {
		i.scheduleResync(reg, now)
	}
}

// resync goes over what the handler knows, which is snapshot. One that is
// interrupted is not taken up again; if that was the handler's doing, the next
// period begins.
func (c *cursor[T]) resync(ctx context.Context, snapshot *indexer.Snapshot[T]) {
	s := &sweep[T]{snapshot: snapshot}
	c.reg.again.Store(int64(snapshot.Len()))
	defer func() {
		c.reg.again.Store(0)
		c.extra = false
		if !c.halted(ctx) {
			c.reg.resynced(c.reg)
		}
	}()
	c.extra = true
	c.reg.resyncAt.Store(0)
	c.begin(&work{since: time.Now(), keys: s})
	defer c.end(ctx)
	for key, obj := range snapshot.All() {
		if c.halted(ctx) {
			return
		}
		s.told.Add(1)
		if told, known := c.told(key, obj); known {
			c.call(ctx, &notice[T]{kind: noticeResync, obj: told})
		}
		c.reg.again.Add(-1)
	}
	if c.latest != nil {
		for key, obj := range c.latest.ahead {
			if _, done := snapshot.Get(key); done || isNil(obj) {
				continue
			}
			if c.halted(ctx) {
				return
			}
			c.call(ctx, &notice[T]{kind: noticeResync, obj: obj})
		}
	}
}

// told is what the handler was told of key last, if the snapshot that it is at has
// obj, and whether it was an object.
func (c *cursor[T]) told(key string, obj T) (T, bool) {
	if c.latest != nil {
		if newer, ahead := c.latest.ahead[key]; ahead {
			return newer, !isNil(newer)
		}
	}
	return obj, true
}
