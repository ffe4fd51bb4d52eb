package informer

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/listwatch/listwatch/indexer"
)

// WithLatestOnly tells the handler the newest state of each object instead of
// every change. While a call takes its time, changes of one object become one,
// from what the handler was told last to what is in the cache when its turn
// comes; an object that came and went is not told at all. The history of each key
// stays legal, also across a UID; the objects of one catching up come in no
// particular order, and a delete then has the last state that was told and is not
// Exact. A handler that keeps pace is told just what others are.
//
// However long the handler takes, it keeps no more alive than one or two old
// versions of each object, and nothing of the notice log. Depth then is an upper
// bound: it cannot exceed the number of objects that the handler may have to be
// told of.
func WithLatestOnly() HandlerOption {
	return func(c *handlerConfig) { c.latestOnly = true }
}

// latest is the place of a handler with WithLatestOnly. It goes from snapshot to
// snapshot instead of along the log, and holds no node of the log while the
// handler is called.
//
// Invariant: the handler was told base, but for the keys that it is owed, and
// those that it was told ahead.
type latest[T Object] struct {
	base *indexer.Snapshot[T]
	seq  int64 // of base
	mark *mark // of base; nil once reached
	// synced says that base belongs to a run in sync.
	synced bool
	owed   *debts[T]    // on the way to base; nil: none
	ahead  map[string]T // told newer than in base; nil: told as deleted
	// at is the blank node after base, while nothing is owed and nothing newer
	// was there; else nil.
	at *node[T]
}

// debts are the keys to be told to get to base.
type debts[T Object] struct {
	list []debt[T]
	told atomic.Int64 // how many were told, or are being told
}

type debt[T Object] struct {
	key       string
	told, now T // what the handler was told last, and what base has; nil: nothing
	// last is the state that came with the deletion, if base is the only batch
	// since told; exact is the notice's.
	last  T
	exact bool
	// merged: there may have been versions between told and now.
	merged bool
}

// keyAt implements keyer.
func (d *debts[T]) keyAt(int64) string {
	if k := d.told.Load() - 1; k >= 0 && k < int64(len(d.list)) {
		return d.list[k].key
	}
	return ""
}

func same[T Object](a, b T) bool { return any(a) == any(b) }

// advanceLatest is advance for latest-only handlers.
func (c *cursor[T]) advanceLatest(ctx context.Context) <-chan struct{} {
	l := c.latest
	for c.settle(ctx) {
		if at := c.reg.resyncAt.Load(); at != 0 && at <= l.seq {
			c.resync(ctx, l.base)
			continue
		}
		p := c.state()
		if p.seq == l.seq {
			l.base = p.snapshot // an index may have been added
			l.at = p.tail
			return p.tail.ready
		}
		c.owe(p)
	}
	return nil
}

// owe makes p the base, and finds out what the handler has to be told for it.
func (c *cursor[T]) owe(p *published[T]) {
	l := c.latest
	var list []debt[T]
	if at := l.at; at != nil && p.seq == at.seq && !at.repeated {
		list = debtsOf(at.notices)
	} else {
		list = l.differences(p.snapshot)
	}
	l.at, l.owed = nil, nil
	if len(list) > 0 {
		l.owed = &debts[T]{list: list}
	}
	c.reg.passed.Store(p.end - int64(len(list)))
	c.reg.holds.Store(int64(len(list) + l.base.Len()))
	l.base, l.seq, l.mark, l.synced = p.snapshot, p.seq, p.mark, p.synced
	c.target = p.mark
}

// debtsOf is what a batch amounts to in which each key occurs once.
func debtsOf[T Object](notices []notice[T]) []debt[T] {
	list := make([]debt[T], len(notices))
	for k := range notices {
		n := &notices[k]
		switch n.kind {
		case noticeDelete:
			list[k] = debt[T]{key: n.key, told: n.old, last: n.obj, exact: n.exact}
			if isNil(n.old) {
				list[k].told = n.obj
			}
		default:
			list[k] = debt[T]{key: keyOf(n.obj), told: n.old, now: n.obj, merged: n.merged}
		}
	}
	return list
}

// differences is what lies between what the handler was told and newer.
func (l *latest[T]) differences(newer *indexer.Snapshot[T]) []debt[T] {
	var list []debt[T]
	for d := range newer.Differences(l.base, same[T]) {
		told := d.Old
		if obj, yes := l.ahead[d.Key]; yes {
			delete(l.ahead, d.Key)
			if told = obj; same(told, d.New) {
				continue
			}
		}
		list = append(list, debt[T]{key: d.Key, told: told, now: d.New, merged: true})
	}
	for key, told := range l.ahead { // an object may have come back as it was
		if now, _ := newer.Get(key); !same(told, now) {
			list = append(list, debt[T]{key: key, told: told, now: now, merged: true})
		}
	}
	l.ahead = nil
	return list
}

// settle tells the handler what it is owed; false if that was interrupted.
func (c *cursor[T]) settle(ctx context.Context) bool {
	l := c.latest
	if l.owed != nil {
		c.begin(&work{since: time.Now(), keys: l.owed})
		defer c.end(ctx)
		for k := l.owed.told.Load(); k < int64(len(l.owed.list)); k++ {
			if c.halted(ctx) {
				return false
			}
			l.owed.told.Store(k + 1)
			c.pay(ctx, &l.owed.list[k])
			c.reg.passed.Add(1)
		}
		l.owed = nil
	}
	if l.synced {
		c.markSynced()
	}
	if l.mark != nil {
		c.reg.reach(l.mark)
		l.mark = nil
	}
	return !c.halted(ctx)
}

// pay tells the handler what became of one key, as the cache has it now.
func (c *cursor[T]) pay(ctx context.Context, d *debt[T]) {
	now, last, exact, merged := d.now, d.last, d.exact, d.merged
	if p := c.state(); p.seq != c.latest.seq {
		if newest, _ := p.snapshot.Get(d.key); !same(newest, now) {
			if c.latest.ahead == nil {
				c.latest.ahead = make(map[string]T)
			}
			c.latest.ahead[d.key] = newest
			now, exact, merged = newest, false, true
		}
	}
	if isNil(last) || !exact {
		last = d.told
	}
	var none T
	was, is := !isNil(d.told), !isNil(now)
	gone := notice[T]{kind: noticeDelete, key: d.key, old: d.told, obj: last, exact: exact}
	switch {
	case was && is && same(d.told, now):
	case was && is && !otherUID(d.told, now):
		c.call(ctx, &notice[T]{kind: noticeUpdate, old: d.told, obj: now, merged: merged})
	case was && is:
		d.told, c.extra = none, true // should the call end the goroutine, the add is left
		c.call(ctx, &gone)
		c.extra = false
		if !c.reg.removed.Load() {
			c.call(ctx, &notice[T]{kind: noticeAdd, initial: true, obj: now})
		}
	case was:
		c.call(ctx, &gone)
	case is:
		c.call(ctx, &notice[T]{kind: noticeAdd, initial: true, obj: now})
	}
}
