package reflector

import (
	"context"
	"net/http"
	"time"
)

// Absence knows more of a resource that the server answers 404 for than the answer
// says: whether its CustomResourceDefinition is gone, and when it comes back. One may
// serve several Reflectors, as those of a joined collection.
type Absence interface {
	// Absent reports whether the resource is to be taken for gone, after tries
	// failures in a row, each a 404; synced says that the Sink holds a collection,
	// which it then is to let go of. It must not block.
	Absent(tries int, synced bool) bool
	// Await returns when it is worth asking for the resource again, after tries
	// failures in a row; and when ctx ends.
	Await(ctx context.Context, tries int)
}

// absent lets go of the collection and waits for the resource.
func (m machine) absent(s state, in input, effects []effect) (state, []effect) {
	if s.synced {
		s.reason = RelistAbsent
		effects = append(s.begin(effects), effect{kind: effectEnd, resourceVersion: s.resourceVersion, reason: RelistAbsent})
		s.synced, s.replacement.replacing, s.reason = false, false, RelistAppeared
	}
	// What comes is another collection: its versions may be older.
	s.replacement.unavailable, s.replacement.rewound = true, true
	s.stream.fruitless = 0
	r := &s.retry
	r.healthySince = time.Time{}
	r.tries++
	s.phase = Absent
	return s, append(effects, effect{kind: effectAwait, delay: max(m.backoff.Base, in.failure.retryAfter)})
}

// absent reports whether a failure means that the resource is gone. What failed in
// another way before says nothing of that: a server that comes up again may answer
// 404 for a moment.
func (d *driver[T]) absent(f failure) bool {
	if d.options.Absence == nil || f.code != http.StatusNotFound {
		d.missing = 0
		return false
	}
	d.missing = min(d.missing, d.state.retry.tries) + 1 // none, if something went well
	return d.options.Absence.Absent(d.missing, d.state.synced)
}

// await waits until the resource may be there, but at least for the delay: what
// tells of it may be ahead of the server that serves it.
func (d *driver[T]) await(e effect) input {
	ctx, cancel := context.WithCancelCause(d.ctx)
	defer cancel(nil)
	d.forcing.arm(cancel)
	defer d.forcing.arm(nil)
	soonest := time.Now().Add(e.delay)
	d.options.Absence.Await(ctx, d.state.retry.tries)
	if ctx.Err() != nil {
		return d.failed(context.Cause(ctx))
	}
	return d.wait(time.Until(soonest))
}
