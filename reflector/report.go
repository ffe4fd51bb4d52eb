package reflector

import (
	"time"

	"k8s.io/apimachinery/pkg/watch"
)

// report publishes the step from one state to the next, and tells the log and
// the observer where it is worth it.
func (d *driver[T]) report(before, after state, in input) {
	// An orderly end that the next watch follows at once is no failure.
	failed := in.kind == inputFailed && (in.failure.class != classEnded || after.phase != Watching)
	if in.kind == inputEvent {
		d.reportEvent(&after, &in)
	}
	entry, lost := disconnect(before, after, in)
	if !failed && !lost && before.phase == after.phase {
		return
	}
	d.tracker.update(func(s *Status) {
		if s.Phase != after.phase {
			s.Phase, s.Since = after.phase, in.at
		}
		s.ResourceVersion, s.Tries = after.resourceVersion, after.retry.tries
		s.NextRetry = time.Time{}
		if after.phase == BackingOff {
			s.NextRetry = after.retry.until
		}
		s.WatchListAvoidedUntil = after.replacement.avoidedUntil
		if lost {
			s.note(entry)
		}
		if failed {
			s.LastError, s.LastErrorTime, s.LastVerb = in.failure.err, in.at, verb(before.phase)
			s.HTTPStatus, s.Reason = in.failure.code, in.failure.reason
		}
	})
	if failed {
		d.logFailure(before, after, in.failure)
	}
	d.observe()
}

// reportEvent publishes what an event changes, which are too many for more.
func (d *driver[T]) reportEvent(after *state, in *input) {
	d.tracker.mu.Lock()
	defer d.tracker.mu.Unlock()
	s := &d.tracker.status
	s.ResourceVersion, s.Tries = after.resourceVersion, after.retry.tries
	if in.event.eventType == watch.Bookmark {
		s.LastBookmark = in.at
	} else {
		s.LastEvent = in.at
	}
}

// verb of the request that a phase makes. A watch-list needs "watch" in RBAC.
func verb(phase Phase) string {
	if phase == Listing {
		return "list"
	}
	return "watch"
}

// logFailure logs what a 410 or a dead connection makes routine at a higher
// level.
func (d *driver[T]) logFailure(before, after state, f failure) {
	log := d.log
	if f.class == classExpired || f.class == classSilent {
		log = log.V(4)
	}
	log.Info("Request failed", "phase", before.phase, "resourceVersion", before.resourceVersion,
		"next", after.phase, "tries", after.retry.tries, "err", f.err)
}

// skipped publishes that an object was left out.
func (d *driver[T]) skipped(err error) {
	d.foreign = err
	d.tracker.update(func(s *Status) {
		s.Skipped++
		s.LastSkipped = err
	})
	d.log.Info("Object left out", "err", err)
}

// ended publishes that a replacement was completed.
func (d *driver[T]) ended(e effect) {
	if d.stream != nil {
		d.stream.synced(d.options.IdleTimeout)
		d.forcing.arm(d.stream.cancel)
	}
	d.tracker.update(func(s *Status) {
		s.Synced = e.reason != RelistAbsent
		if s.Relists == nil {
			s.Relists = map[RelistReason]int64{}
		}
		s.Relists[e.reason]++
	})
	if e.reason == RelistAbsent {
		d.log.Info("Resource is gone, waiting for it", "resourceVersion", e.resourceVersion)
		return
	}
	d.log.V(2).Info("Caches populated", "resourceVersion", e.resourceVersion, "reason", e.reason)
}

// countOpen counts a stream that is asked for.
func (d *driver[T]) countOpen(e effect) {
	d.tracker.update(func(s *Status) {
		switch {
		case e.initialEvents:
			s.WatchLists++
		case e.resume:
			s.Reconnects++
			s.Watches++
		default:
			s.Watches++
		}
	})
}

// observe calls the observer.
func (d *driver[T]) observe() {
	if d.options.Observer != nil {
		d.options.Observer(d.Status())
	}
}
