package cacher

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/listwatch/listwatch/fakeserver/storage"
)

// progressPeriod is how often the store is asked how far it is while reads wait.
const progressPeriod = 100 * time.Millisecond

// waiter is a read that waits for a resource version, or a quiet one: a writer
// that does not want the store to be asked for progress.
type waiter struct {
	rv      uint64
	quiet   bool
	reached chan struct{}
}

// waiters are those reads. They are looked through only when the least version
// among them was reached, and only those that reached theirs are woken. Its
// methods need the Cacher's mutex.
type waiters struct {
	list  []waiter
	least uint64
	// idle is closed when the last one is gone that is not quiet; nil while none
	// are there.
	idle chan struct{}
}

// add returns a channel that is closed once rv was reached. To the first waiter
// it also returns one that is closed once none is left.
func (w *waiters) add(rv uint64) (reached, idle chan struct{}) {
	reached = w.join(waiter{rv: rv})
	if w.idle != nil {
		return reached, nil
	}
	w.idle = make(chan struct{})
	return reached, w.idle
}

// addQuiet is add for a quiet waiter.
func (w *waiters) addQuiet(rv uint64) (reached chan struct{}) {
	return w.join(waiter{rv: rv, quiet: true})
}

func (w *waiters) join(added waiter) (reached chan struct{}) {
	if len(w.list) == 0 || added.rv < w.least {
		w.least = added.rv
	}
	added.reached = make(chan struct{})
	w.list = append(w.list, added)
	return added.reached
}

// remove forgets a waiter that gave up.
func (w *waiters) remove(reached chan struct{}) {
	w.list = slices.DeleteFunc(w.list, func(other waiter) bool { return other.reached == reached })
	w.settle()
}

// reached takes out those whose version is at most rv; the caller closes them.
func (w *waiters) reached(rv uint64) []chan struct{} {
	if len(w.list) == 0 || rv < w.least {
		return nil
	}
	var done []chan struct{}
	w.list = slices.DeleteFunc(w.list, func(other waiter) bool {
		if other.rv <= rv {
			done = append(done, other.reached)
		}
		return other.rv <= rv
	})
	w.settle()
	return done
}

// settle recomputes what depends on the list.
func (w *waiters) settle() {
	for i, other := range w.list {
		if i == 0 || other.rv < w.least {
			w.least = other.rv
		}
	}
	reading := func(other waiter) bool { return !other.quiet }
	if w.idle != nil && !slices.ContainsFunc(w.list, reading) {
		close(w.idle)
		w.idle = nil
	}
}

// progress is the feed's watch, as what can be asked how far the store is.
// Guarded by the Cacher's mutex.
type progress struct {
	// source is nil while the feed has no watch.
	source storage.Watch
	// abandon ends the feed's use of the source; nil without one.
	abandon context.CancelCauseFunc
	// asked is when the source was last asked; zero once it has answered.
	asked time.Time
	// wanted is set if it is to be asked again at its answer, or once it is there.
	wanted bool
	// at is when the last answer came.
	at time.Time
	// answers are closed when the next one comes.
	answers []chan struct{}
}

// ask returns the watch to ask for progress, nil if not now: there is none, or
// an answer is on its way. It may have been lost if it takes long.
func (p *progress) ask(now time.Time) storage.Watch {
	if p.source == nil || (!p.asked.IsZero() && now.Sub(p.asked) < progressPeriod) {
		p.wanted = true
		return nil
	}
	p.asked, p.wanted = now, false
	return p.source
}

// arrived takes out those who wait for an answer, and returns what is to be
// asked again for those who came while the answer was on its way.
func (p *progress) arrived(now time.Time) (answered []chan struct{}, again storage.Watch) {
	p.at, p.asked = now, time.Time{}
	answered, p.answers = p.answers, nil
	if p.wanted {
		again = p.ask(now)
	}
	return answered, again
}

// requestProgress asks the store how far it is. The answer arrives through the
// feed. It must be called without mu.
func (c *Cacher) requestProgress() {
	c.mu.Lock()
	source := c.progress.ask(time.Now())
	c.mu.Unlock()
	if source != nil {
		source.RequestProgress()
	}
}

// repeatProgress asks again and again, for stores that lose a request, until
// no read waits any more.
func (c *Cacher) repeatProgress(ctx context.Context, idle <-chan struct{}) {
	ticker := time.NewTicker(progressPeriod)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			c.requestProgress()
		case <-idle:
			return
		case <-ctx.Done():
			return
		}
	}
}

// setSource names the feed's watch, and asks it what was asked meanwhile.
func (c *Cacher) setSource(source storage.Watch, abandon context.CancelCauseFunc) {
	c.mu.Lock()
	c.progress.source, c.progress.abandon, c.progress.asked = source, abandon, time.Time{}
	var ask storage.Watch
	if c.progress.wanted {
		ask = c.progress.ask(time.Now())
	}
	c.mu.Unlock()
	if ask != nil {
		ask.RequestProgress()
	}
}

// dropSource says that the feed has no watch.
func (c *Cacher) dropSource() {
	c.mu.Lock()
	c.progress.source, c.progress.abandon = nil, nil
	c.mu.Unlock()
}

// storeRevision is what the store's current revision was at some moment during
// the call. Callers that come together ask the store once. Errors: 429 if that
// shows that the store went back, the store's, ctx's.
func (c *Cacher) storeRevision(ctx context.Context) (uint64, error) {
	return c.revisions.do(ctx, struct{}{}, func(ctx context.Context) (uint64, error) {
		// What the cache has reached now, the store must have reached afterwards.
		c.mu.Lock()
		phase, seen, generation := c.readiness.phase, c.rv, c.readiness.generation
		c.mu.Unlock()
		revision, err := c.options.Store.CurrentRevision(ctx)
		if err != nil {
			return 0, internal(c.options.GroupResource, err)
		}
		if phase == ready && uint64(revision) < seen {
			c.distrust(generation, wentBack(seen, uint64(revision)))
			return 0, c.refuse()
		}
		return uint64(revision), nil
	})
}

// waitUntilFresh returns when the cache has reached rv. If all changes that lead
// there are of other resources, it learns of it by a progress request. Errors:
// 504 after the block timeout, ErrClosed, ctx's error.
func (c *Cacher) waitUntilFresh(ctx context.Context, rv uint64) error {
	start := time.Now()
	defer func() { c.metrics.waitSeconds(time.Since(start).Seconds()) }()
	c.mu.Lock()
	if c.readiness.phase == ready && c.rv >= rv {
		c.mu.Unlock()
		return nil
	}
	reached, idle := c.waiters.add(rv)
	c.mu.Unlock()
	if idle != nil {
		c.group.Go("cacher progress "+c.options.GroupResource.String(), func(ctx context.Context) {
			c.repeatProgress(ctx, idle)
		})
	}
	c.requestProgress()
	return c.block(ctx, rv, reached)
}

// block waits until a waiter has reached rv.
func (c *Cacher) block(ctx context.Context, rv uint64, reached chan struct{}) error {
	timer := time.NewTimer(c.options.BlockTimeout)
	defer timer.Stop()
	var err error
	select {
	case <-reached:
		return nil
	case <-timer.C:
	case <-ctx.Done():
		err = ctx.Err()
	case <-c.group.Context().Done():
		err = fmt.Errorf("cacher: %s: %w", c.options.GroupResource, ErrClosed)
	}
	c.mu.Lock()
	c.waiters.remove(reached)
	current := c.rv
	c.mu.Unlock()
	if err == nil {
		err = tooLarge(rv, current)
	}
	return err
}

// waitConsistent returns when the cache has reached what the store's current
// revision was at some moment during the call, and returns that. Errors as those
// of storeRevision and waitUntilFresh.
func (c *Cacher) waitConsistent(ctx context.Context) (uint64, error) {
	stored, err := c.storeRevision(ctx)
	if err != nil {
		return 0, err
	}
	return stored, c.waitUntilFresh(ctx, stored)
}
