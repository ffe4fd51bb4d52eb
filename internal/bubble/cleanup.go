package bubble

import (
	"context"
	"testing"

	"github.com/onsi/ginkgo/v2"
)

// Cleanup has f called inside the bubble when the body has ended, however it
// ended: the last one registered first, each of them although an earlier one
// failed. It may be called from any goroutine of the bubble and from a cleanup.
// ginkgo.DeferCleanup is no substitute: it runs outside, after the bubble.
func Cleanup(f func()) {
	ginkgo.GinkgoHelper()
	inside("Cleanup").addCleanup(f)
}

// Context returns a context that was made inside the bubble and ends when the
// body has ended, before the cleanups. It has no deadline.
func Context() context.Context {
	ginkgo.GinkgoHelper()
	return inside("Context").ctx
}

// TB returns a testing.TB for helpers that want one: its failures are the
// spec's, its Cleanup and Context are the bubble's. The suite's own *testing.T
// must not be used inside a bubble.
func TB() testing.TB {
	ginkgo.GinkgoHelper()
	return &tb{GinkgoTBWrapper: ginkgo.GinkgoTB(), run: inside("TB")}
}

func inside(name string) *run {
	ginkgo.GinkgoHelper()
	r := current.Load()
	if r == nil {
		ginkgo.Fail("bubble." + name + " outside a bubble: call it in the body of bubble.It or bubble.Run")
	}
	return r
}

// tb is ginkgo's TB with the two methods that would leave the bubble.
type tb struct {
	*ginkgo.GinkgoTBWrapper
	run *run
}

func (t *tb) Cleanup(f func())         { t.run.addCleanup(f) }
func (t *tb) Context() context.Context { return t.run.ctx }
