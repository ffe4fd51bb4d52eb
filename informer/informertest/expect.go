package informertest

import (
	"context"
	"errors"
	"time"
)

// TB is the part of testing.TB that this package needs; ginkgo's GinkgoT has it
// as well. In a testing/synctest bubble it must be the bubble's, because of its
// context.
type TB interface {
	// Helper marks the caller as a helper.
	Helper()
	// Context ends before the cleanup of the test.
	Context() context.Context
	// Fatalf fails the test, which need not stop.
	Fatalf(format string, args ...any)
}

// defaultPatience is long for what happens in one process, and short for a
// person who waits for a failure.
const defaultPatience = 10 * time.Second

func (r *Recorder[T]) patience() time.Duration {
	if r.Patience > 0 {
		return r.Patience
	}
	return defaultPatience
}

// Expect waits until the calls have come that the wants describe: those about
// one key in the order given, others between them, or before, allowed (an
// informer may skip versions, and a test seldom cares for each); see InOrder
// for an order between keys. It then is done with all calls about those keys up to
// the last one wanted, which no later Expect will find again.
func (r *Recorder[T]) Expect(tb TB, wants ...Want) {
	tb.Helper()
	var calls []call
	var places []int
	waited, err := r.await(tb.Context(), func(now []call) bool {
		var complete bool
		calls = now
		places, complete = match(calls, wants)
		return complete
	})
	if err != nil {
		tb.Fatalf("expected calls did not come within %v (%v):%s", waited, err, report(calls, wants, places))
		return
	}
	r.done(calls, taken(calls, places))
}

// ExpectExactly is Expect that allows no other calls: since those that are done
// with, exactly what the wants describe has come, in the order given for each
// key. It fails at the first call that does not fit, but does not wait for
// whether there comes one more: see ExpectNone.
func (r *Recorder[T]) ExpectExactly(tb TB, wants ...Want) {
	tb.Helper()
	var calls []call
	var places []int
	var odd *call
	waited, err := r.await(tb.Context(), func(now []call) bool {
		var complete bool
		calls = now
		places, complete, odd = matchExactly(calls, wants)
		return complete || odd != nil
	})
	switch {
	case odd != nil:
		tb.Fatalf("a call was not expected, or not yet: %v; expected:%s", *odd, report(calls, wants, places))
		return
	case err != nil:
		tb.Fatalf("expected calls did not come within %v (%v):%s", waited, err, report(calls, wants, places))
		return
	}
	all := make([]bool, len(calls))
	for k := range all {
		all[k] = true
	}
	r.done(calls, all)
}

// ExpectNone waits until server and informers are quiet (see Quiesce), marks
// the trace as settled there, and fails if there were calls that no Expect is
// done with. Without a server only what has come by now is looked at, which is
// right where the test knows that all is quiet: after synctest.Wait.
func (r *Recorder[T]) ExpectNone(tb TB, server Server, informers ...Informer) {
	tb.Helper()
	if server != nil {
		ctx, cancel := context.WithTimeoutCause(tb.Context(), r.patience(), errPatience)
		defer cancel()
		at, err := Quiesce(ctx, server, informers...)
		if err != nil {
			tb.Fatalf("%v", err)
			return
		}
		r.Settled(at)
	}
	if calls, _ := r.opened(); len(calls) > 0 {
		tb.Fatalf("no calls were expected; %s", list(calls))
	}
}

var errPatience = errors.New("the recorder's patience ended")

// await calls enough, with what is open, after every call until it is true.
func (r *Recorder[T]) await(ctx context.Context, enough func([]call) bool) (time.Duration, error) {
	begin := time.Now()
	ctx, cancel := context.WithTimeoutCause(ctx, r.patience(), errPatience)
	defer cancel()
	for {
		calls, came := r.opened()
		if enough(calls) {
			return time.Since(begin), nil
		}
		select {
		case <-came:
		case <-ctx.Done():
			return time.Since(begin), context.Cause(ctx)
		}
	}
}

// opened returns the calls that are open, and a channel that is closed by the
// next.
func (r *Recorder[T]) opened() ([]call, <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.came == nil {
		r.came = make(chan struct{})
	}
	return append([]call(nil), r.open...), r.came
}

// done forgets those of calls, which were open, that are marked.
func (r *Recorder[T]) done(calls []call, marked []bool) {
	numbers := map[int]bool{}
	for k, c := range calls {
		if marked[k] {
			numbers[c.number] = true
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	open := make([]call, 0, len(r.open))
	for _, c := range r.open {
		if !numbers[c.number] {
			open = append(open, c)
		}
	}
	r.open = open
}
