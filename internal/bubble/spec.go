package bubble

import (
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/onsi/ginkgo/v2"
)

// SpecLimit is the virtual time after which a body or a cleanup that has not
// returned is given up. A body that waits for ever gets there at once, because
// nothing else is left to happen; one beside a periodic timer has to be driven
// there tick by tick, which is why the limit is no longer than this.
const SpecLimit = 30 * 24 * time.Hour

// RealLimit is the real time after which Run gives a bubble up. A suite may
// change it before its specs run.
var RealLimit = 2 * time.Minute

// current is the bubble of the spec that runs now, nil between specs.
var current atomic.Pointer[run]

// It is ginkgo.It whose body runs inside a bubble of its own. Decorators are
// passed on; those that need a SpecContext (NodeTimeout, SpecTimeout) are
// replaced by SpecLimit and RealLimit.
func It(text string, body func(), decorators ...any) bool {
	args := []any{ginkgo.Offset(1), Body(body)}
	return ginkgo.It(text, append(args, decorators...)...)
}

// Body returns a function that runs body as Run does, for whatever takes a
// func().
func Body(body func()) func() {
	return func() { Run(body) }
}

// Run runs body inside a new bubble and returns when it, its cleanups and every
// goroutine that they started have ended. Failures are recorded on the spec
// that calls it. It must be called in a leaf node, outside any bubble, in a
// suite started with RunSpecs.
func Run(body func()) {
	ginkgo.GinkgoHelper()
	t := suite.Load()
	if t == nil {
		ginkgo.Fail("bubble.Run needs a suite that was started with bubble.RunSpecs")
	}
	if current.Load() != nil {
		ginkgo.Fail("bubble.Run inside a bubble: bubbles do not nest")
	}
	r := &run{}
	current.Store(r)
	defer current.CompareAndSwap(r, nil)

	ended := make(chan string, 1)
	// worker: ends with the bubble, or is shown as stuck
	go r.host(t, body, ended)
	limit := time.NewTimer(RealLimit)
	defer limit.Stop()
	var problem string
	select {
	case problem = <-ended:
	case <-limit.C:
		problem = fmt.Sprintf("bubble given up: still running after %v of real time; "+
			"virtual time cannot advance while something computes, or waits for a mutex, for a socket "+
			"or for a channel made outside the bubble", RealLimit) + goroutinesOf(r.id.Load())
	}
	if problem != "" {
		problem += "\nin the spec at " + ginkgo.CurrentSpecReport().LeafNodeLocation.String()
		ginkgo.GinkgoWriter.Println(problem) // Fail alone is silent when the body has failed already
		ginkgo.Fail(problem)
	}
}

// host runs the bubble and sends what was wrong with it beyond the failures that
// the body reported itself. It needs a goroutine of its own because synctest.Test
// ends its goroutine when the inner *testing.T has failed.
func (r *run) host(t *testing.T, body func(), ended chan<- string) {
	var inner *testing.T
	returned := false
	defer func() {
		switch p := recover(); {
		case p != nil:
			ended <- fmt.Sprint(p) + goroutinesOf(r.id.Load())
		case returned:
			ended <- ""
		case inner != nil && inner.Failed():
			ended <- "the race detector reported a data race in this spec, see its report above"
		default:
			ended <- "the suite's *testing.T was failed from outside while the bubble ran"
		}
	}()
	synctest.Test(t, func(t *testing.T) {
		inner = t
		r.main(body)
	})
	returned = true
}
