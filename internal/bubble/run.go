package bubble

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/onsi/ginkgo/v2"
)

// run is one bubble.
type run struct {
	id     atomic.Int64 // the runtime's number of the bubble, 0 before it is known
	ctx    context.Context
	cancel context.CancelFunc

	mu       sync.Mutex // guards cleanups
	cleanups []func()
}

// main is the bubble's main goroutine: the body, then the cleanups. It never
// fails or exits itself, so the bubble's *testing.T fails for data races only.
func (r *run) main(body func()) {
	r.id.Store(bubbleID())
	r.ctx, r.cancel = context.WithCancel(context.Background())
	r.watch("the body", body)
	r.cancel()
	for f := r.nextCleanup(); f != nil; f = r.nextCleanup() {
		r.watch("a cleanup", f)
	}
}

// watch runs f in a goroutine of its own, so that one which never returns or
// ends its goroutine can be reported, and the cleanups still run.
func (r *run) watch(what string, f func()) {
	exited := make(chan bool, 1)
	// worker: reports its end to watch, or is shown as stuck
	go func() {
		returned := false
		defer func() { exited <- !returned }()
		recovering(f)
		returned = true
	}()
	limit := time.NewTimer(SpecLimit)
	defer limit.Stop()
	select {
	case bad := <-exited:
		if bad {
			fail(what + " ended its goroutine with runtime.Goexit (t.FailNow, t.Fatal or t.Skip of the suite's *testing.T?): " +
				"use Expect, ginkgo.Fail or bubble.TB() instead")
		}
	case <-limit.C:
		fail(fmt.Sprintf("deadlock: %s waits for something that never happens (given up after %v of virtual time)",
			what, SpecLimit) + goroutinesOf(r.id.Load()))
	}
}

func (r *run) addCleanup(f func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cleanups = append(r.cleanups, f)
}

// nextCleanup removes and returns the youngest cleanup, nil when none is left.
func (r *run) nextCleanup() func() {
	r.mu.Lock()
	defer r.mu.Unlock()
	last := len(r.cleanups) - 1
	if last < 0 {
		return nil
	}
	f := r.cleanups[last]
	r.cleanups = r.cleanups[:last]
	return f
}

// recovering calls f and returns also when it failed or panicked, which is then
// recorded on the spec with the place where it happened.
func recovering(f func()) {
	defer ginkgo.GinkgoRecover()
	f()
}

// fail records a failure of the spec and returns. The spec keeps only its first
// one, so the message goes to its output as well.
func fail(message string) {
	defer ginkgo.GinkgoRecover()
	ginkgo.GinkgoWriter.Println(message)
	ginkgo.Fail(message)
}
