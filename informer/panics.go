package informer

import (
	"context"
	"runtime/debug"
	"strconv"

	"k8s.io/klog/v2"
)

// PanicPolicy says what a panic in a handler, its filter or its predicates leads
// to. In any case it is logged with the stack, and counted in Status. So is a call
// that ends its goroutine with runtime.Goexit, as FailNow of package testing does:
// PanicRemoves removes the handler then, otherwise it goes on with the next call in
// another goroutine.
type PanicPolicy uint8

const (
	// PanicCrashes raises the panic again, which ends the process, as with
	// client-go: a controller that lost a change silently is worse than one that
	// restarts. In a program that has set utilruntime.ReallyCrash to false it is
	// PanicContinues.
	PanicCrashes PanicPolicy = iota
	// PanicContinues takes the call for made; the next one follows. It is for
	// handlers that can do without a change, or bring themselves up to date with
	// a resync.
	PanicContinues
	// PanicRemoves removes the handler; the others go on.
	PanicRemoves
)

// String names the policy.
func (p PanicPolicy) String() string {
	switch p {
	case PanicCrashes:
		return "PanicCrashes"
	case PanicContinues:
		return "PanicContinues"
	case PanicRemoves:
		return "PanicRemoves"
	}
	return "PanicPolicy(" + strconv.Itoa(int(p)) + ")"
}

// WithPanicPolicy says what a panic in the handler leads to; PanicCrashes without
// it. Events has no use for it: there the loop's own goroutine panics.
func WithPanicPolicy(policy PanicPolicy) HandlerOption {
	return func(c *handlerConfig) { c.panics = policy }
}

// survive, deferred, ends a panic of the handler in the way of a policy other
// than PanicCrashes.
func (r *Registration) survive(ctx context.Context, policy PanicPolicy) {
	p := recover()
	if p == nil {
		return
	}
	r.panicked()
	klog.FromContext(ctx).Error(nil, "Observed a panic in a handler", "panic", p, "policy", policy, "site", r.Site(), "stack", string(debug.Stack()))
	if policy == PanicRemoves {
		r.Remove()
	}
}

// cutShort takes a call for made that has ended the goroutine with runtime.Goexit,
// as FailNow of package testing does; nothing else leaves calling set. It runs
// among the deferred functions, and has the place in order for the next goroutine.
func (c *cursor[T]) cutShort(ctx context.Context) {
	key := ""
	if w := c.reg.work.Load(); w != nil {
		key = w.keys.keyAt(c.reg.passed.Load())
	}
	c.reg.panicked()
	switch {
	case !c.extra:
		c.reg.passed.Add(1)
	case c.latest != nil && c.latest.owed != nil: // the add after a delete is still owed
		c.latest.owed.told.Add(-1)
		delete(c.latest.ahead, key)
	}
	c.extra, c.exited = false, true
	klog.FromContext(ctx).Error(nil, "A handler has ended its goroutine (runtime.Goexit)", "policy", c.tell.panics, "site", c.reg.Site(), "key", key,
		"stack", string(debug.Stack()))
	if c.tell.panics == PanicRemoves {
		c.reg.Remove()
	}
}

// panicked counts a panic, as a call that was made.
func (r *Registration) panicked() {
	r.panics.Add(1)
	r.counted++
	r.made()
}
