package informer

import (
	"context"
	"time"

	"k8s.io/klog/v2"
)

const (
	// defaultSlowAfter is much longer than a healthy handler takes, even one that
	// talks to a server, and short enough for somebody who waits.
	defaultSlowAfter = 30 * time.Second
	// deepAfter calls behind is more than a burst, for longer than deepAge; below
	// shallow calls it is over. Depths are looked at every depthStep notices.
	deepAfter = 1024
	deepAge   = time.Second
	shallow   = deepAfter / 2
	depthStep = 64
)

// WithSlowAfter sets how long one call of the handler may take before a log line
// names the handler, where it was registered, the object and the duration;
// another one tells when the call has returned. 30 seconds without it; 0 turns it
// off. While nobody is being called no timer runs.
//
// Independent of that, a handler that is more than 1,024 calls behind, after its
// initial adds and for longer than a second, is logged once until it has caught
// up; not with WithLatestOnly, which is meant for that.
func WithSlowAfter(d time.Duration) HandlerOption {
	return func(c *handlerConfig) { c.slowAfter = d }
}

// late says whether the call in progress is to be reported now, else after what
// time to look again; 0: no call is in progress.
func (r *Registration) late() (now bool, in time.Duration) {
	took, lap, busy := r.elapsed()
	switch {
	case r.slowAfter == 0 || r.removed.Load():
		return false, 0
	case !busy && r.Depth() > 0: // about to be called
		return false, r.slowAfter
	case !busy || r.reported.Load() == lap:
		return false, 0
	case took < r.slowAfter:
		return false, r.slowAfter - took
	}
	r.reported.Store(lap)
	return true, 0
}

// reportSlow tells of the call in progress.
func (r *Registration) reportSlow(log klog.Logger) {
	took, _, _ := r.elapsed()
	key := ""
	if w := r.work.Load(); w != nil {
		key = w.keys.keyAt(r.passed.Load())
	}
	log.Info("Call of a handler is slow", "handler", r.name, "site", r.Site(), "key", key, "duration", took)
}

// reportReturn is what tells that a call which was reported is over, and has the
// next one looked at.
func (r *Registration) reportReturn(ctx context.Context) func(time.Duration) {
	log := klog.FromContext(ctx)
	return func(took time.Duration) {
		log.Info("Slow call of a handler has returned", "site", r.Site(), "duration", took)
		r.watch(time.Now())
	}
}

// watchCalls sees to it that a call which begins now is looked at in time.
func (i *Informer[T]) watchCalls(now time.Time) {
	if patience := i.patience.Load(); patience > 0 {
		i.alarm.by(now.Add(time.Duration(patience)))
	}
}

// checkDepths reports handlers that are far behind; end is that of the log. It is
// called by whoever writes.
func (i *Informer[T]) checkDepths(end int64) {
	if end < i.checkAt {
		return
	}
	var deep []*Registration
	deepest := 0
	i.mu.Lock()
	run := i.run
	if run == nil { // Edit, with a loop that is still at what came before the end
		i.mu.Unlock()
		return
	}
	for c := range i.cursors.all() {
		depth := c.reg.Depth()
		deepest = max(deepest, depth)
		switch {
		case depth < shallow:
			c.reg.deep = false
		case depth > deepAfter && !c.reg.deep && c.reg.isSynced() && c.reg.age() > deepAge && !c.reg.latestOnly:
			c.reg.deep = true
			deep = append(deep, c.reg)
		}
	}
	i.mu.Unlock()
	i.checkAt = end + max(depthStep, deepAfter-int64(deepest))
	for _, reg := range deep {
		run.log.Info("Handler is far behind", "handler", reg.name, "site", reg.Site(), "depth", reg.Depth(), "age", reg.age())
	}
}
