package informer

import (
	"context"
	"fmt"
	"path"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"

	"k8s.io/klog/v2"
)

// noteExit, deferred in a goroutine of a run, ends the run if something foreign
// that it called has ended the goroutine with runtime.Goexit, as FailNow of package
// testing does: a transform or a source, an index function, OnMutation.
func (r *run[T]) noteExit(ctx context.Context) {
	who := exiting()
	if who == "" {
		return
	}
	klog.FromContext(ctx).Error(nil, "A function has ended a goroutine of the informer (runtime.Goexit)", "function", who, "stack", string(debug.Stack()))
	err := fmt.Errorf("%w: %s", ErrExited, who)
	r.exited.CompareAndSwap(nil, &err)
	r.interrupt()
}

// assertions are where functions end a goroutine on behalf of others.
var assertions = []string{"runtime.", "testing.", "github.com/stretchr/testify/", "github.com/onsi/"}

// named is how many of the functions that were being called are named.
const named = 3

// exiting names the function that is ending this goroutine with runtime.Goexit, and
// those that called it; "" if none is.
func exiting() string {
	pcs := make([]uintptr, 100)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(1, pcs)])
	exits := false
	var calls []string
	for more := true; more && len(calls) < named; {
		var frame runtime.Frame
		frame, more = frames.Next()
		exits = exits || frame.Function == "runtime.Goexit"
		if exits && !ofAssertion(frame.Function) {
			calls = append(calls, fmt.Sprintf("%s (%s:%d)", path.Base(frame.Function), filepath.Base(frame.File), frame.Line))
		}
	}
	return strings.Join(calls, " from ")
}

func ofAssertion(function string) bool {
	for _, prefix := range assertions {
		if strings.HasPrefix(function, prefix) {
			return true
		}
	}
	return false
}
