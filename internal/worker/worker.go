package worker

import (
	"context"
	"runtime/pprof"
	"sync"
)

// Group is a set of goroutines with one context and one end. Use New; the zero
// value is not usable. All methods may be called concurrently.
type Group struct {
	ctx    context.Context
	cancel context.CancelFunc

	mu      sync.Mutex // guards stopped, and orders Add before Wait
	stopped bool
	running sync.WaitGroup
}

// New returns an empty Group whose goroutines are told to stop when parent ends
// or Stop is called, whichever comes first.
func New(parent context.Context) *Group {
	ctx, cancel := context.WithCancel(parent)
	return &Group{ctx: ctx, cancel: cancel}
}

// Context ends when the Group is told to stop.
func (g *Group) Context() context.Context { return g.ctx }

// Go runs f in a goroutine labelled with name (shown in profiles and in stack
// dumps of tests that find a leak). It reports false, and runs nothing, once
// the Group was stopped.
func (g *Group) Go(name string, f func(ctx context.Context)) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.stopped || g.ctx.Err() != nil {
		return false
	}
	g.running.Add(1)
	go func() {
		defer g.running.Done()
		pprof.Do(g.ctx, pprof.Labels("worker", name), f)
	}()
	return true
}

// Stop tells every goroutine of the Group to stop and does not wait.
func (g *Group) Stop() {
	g.mu.Lock()
	g.stopped = true
	g.mu.Unlock()
	g.cancel()
}

// Wait returns when every goroutine of the Group has returned. It does not stop
// them: call Stop first, or let the parent context end.
func (g *Group) Wait() { g.running.Wait() }

// StopAndWait is Stop, then Wait.
func (g *Group) StopAndWait() {
	g.Stop()
	g.Wait()
}
