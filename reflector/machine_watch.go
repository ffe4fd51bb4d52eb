package reflector

import (
	"math"
	"net/http"
	"time"

	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/apimachinery/pkg/watch"
)

const (
	// earlyEnd: a watch that ended sooner, without progress, may have been
	// refused in disguise.
	earlyEnd = 10 * time.Second
	// maxFruitless is how many such ends in a row lead to a relist.
	maxFruitless = 3
)

// watch opens a watch at the last resourceVersion. A list without one (only
// fakes do that) is followed by a watch at "0": "" would ask a real server to
// begin with its newest state.
func (m machine) watch(s state, effects []effect, resume bool) (state, []effect) {
	s.phase = Watching
	at := s.resourceVersion
	if at == "" {
		at = "0"
	}
	s.stream = stream{fruitless: s.stream.fruitless, replaying: at == "0"}
	return s, append(effects, effect{kind: effectOpen, resourceVersion: at, resume: resume})
}

// opened notes when. A watch-list also opens the Sink's bracket.
func (m machine) opened(s state, in input) (state, []effect) {
	s.stream.open, s.stream.openedAt = true, in.at
	if s.phase == WatchListing {
		s.stream.progressed, s.stream.replaying, s.stream.probeAt = false, false, time.Time{}
		s.replacement.replacing = true
		return s, []effect{{kind: effectBegin, reason: s.reason}, {kind: effectNext}}
	}
	if s.retry.healthySince.IsZero() {
		s.retry.healthySince = in.at
	}
	return m.probe(s, in)
}

// event takes in an event of a synced stream.
func (m machine) event(s state, in input) (state, []effect) {
	event := in.event
	if event.eventType == watch.Bookmark {
		s.stream.heard, s.stream.replaying = true, false
		if !s.advance(event.resourceVersion) {
			return s, effectsNext
		}
		return s, []effect{{kind: effectBookmark, resourceVersion: event.resourceVersion}, {kind: effectNext}}
	}
	s.objectEvent(event)
	return s, effectsDeliver
}

// objectEvent takes in an event of an object while watching. All that is to be done
// is to deliver it. Apart from step because events are many, and a state is large.
func (s *state) objectEvent(event eventInput) {
	s.stream.heard = true
	if s.stream.replaying && event.eventType == watch.Added {
		return
	}
	s.stream.replaying = false
	if event.resourceVersion == "" { // a fake that knows no versions: the event itself must do
		s.progress()
	} else {
		s.advance(event.resourceVersion)
	}
}

// advance moves the resourceVersion, never back, and reports whether it moved.
// Versions that are no numbers cannot be ordered: the newest is the last one.
func (s *state) advance(resourceVersion string) bool {
	if resourceVersion == "" || resourceVersion == "0" || resourceVersion == s.resourceVersion {
		return false
	}
	order, err := resourceversion.CompareResourceVersion(resourceVersion, s.resourceVersion)
	if err == nil && order < 0 {
		return false
	}
	s.resourceVersion = resourceVersion
	s.progress()
	return true
}

// progress notes a sign of life.
func (s *state) progress() {
	s.stream.progressed, s.stream.fruitless = true, 0
	s.retry.tries = 0
}

// watchFailed decides what follows a watch that was refused or ended.
//
//	410, too large                       → back off, replace
//	the server's history went back       → replace at once by the newest state
//	silent or overdue once open          → resume at once
//	lost or ended after lasting a while  → resume at once
//	ended by the server, with progress   → resume at once
//	404, and the resource is gone        → let go of the collection, wait for the resource
//	404                                  → back off, replace by the newest state
//	anything else                        → back off, resume
//
// Of anything else, what may come from the resourceVersion itself counts as
// fruitless: an early end without progress, a frame that cannot be read, an
// error of the server that names no passing cause. The third in a row leads to
// a replacement instead.
func (m machine) watchFailed(s state, in input) (state, []effect) {
	wasOpen := s.stream.open
	effects := s.leaveStream(nil)
	m.weigh(&s, in, wasOpen)
	if in.failure.absent {
		return m.absent(s, in, effects)
	}
	class := in.failure.class
	lasted := wasOpen && in.at.Sub(s.stream.openedAt) >= earlyEnd
	fruitless := false
	switch class {
	case classExpired:
		s.reason = RelistExpired
		return m.backOff(s, in, true, effects)
	case classTooLarge:
		s.reason = RelistTooLarge
		return m.backOff(s, in, true, effects)
	case classRewound:
		s.reason = RelistRewound
		s.replacement.unavailable, s.replacement.rewound = true, true
		return m.sync(s, in.at, effects)
	case classDenied:
		// What a resource has that is served again may be another collection: its
		// definition was deleted and created, or all that the server had is gone.
		if in.failure.code == http.StatusNotFound {
			s.reason = RelistAppeared
			s.replacement.unavailable, s.replacement.rewound = true, true
			return m.backOff(s, in, true, effects)
		}
	case classSilent:
		if wasOpen {
			return m.watch(s, effects, true)
		}
	case classEnded:
		if lasted || s.stream.progressed {
			s.stream.fruitless = 0
			return m.watch(s, effects, true)
		}
		fruitless = true
	case classTransport:
		if lasted { // some proxies cut what is healthy
			return m.watch(s, effects, true)
		}
		fruitless = wasOpen
	case classDecode, classServer, classInvalid:
		fruitless = true
	}
	if fruitless && !s.stream.progressed {
		s.stream.fruitless++
	}
	relist := s.stream.fruitless >= maxFruitless
	if relist {
		s.reason = RelistStalled
	}
	return m.backOff(s, in, relist, effects)
}

// outageCounts is for how many failures an outage counts once the server is back.
const outageCounts = 2

// backOff waits before a replacement or, without relist, before resuming.
func (m machine) backOff(s state, in input, relist bool, effects []effect) (state, []effect) {
	r := &s.retry
	if !r.healthySince.IsZero() && in.at.Sub(r.healthySince) >= m.backoff.HealthyAfter {
		r.level, r.refused = 0, 0
	}
	r.healthySince = time.Time{}
	level := r.level
	if in.failure.class.answered() { // an outage is over: what is said now is to be acted upon soon
		level = min(level, r.refused+outageCounts)
		r.refused++
	}
	delay := max(m.backoff.delay(level, in.random), in.failure.retryAfter)
	r.level++
	r.tries++
	r.relist, r.until = relist, in.at.Add(delay)
	s.phase = BackingOff
	return s, append(effects, effect{kind: effectWait, delay: delay})
}

// delay of the level-th wait in a row, counted from zero.
func (b Backoff) delay(level int, random float64) time.Duration {
	delay := min(float64(b.Cap), float64(b.Base)*math.Pow(b.Factor, float64(level)))
	return time.Duration(delay * (1 + b.Jitter*random))
}
