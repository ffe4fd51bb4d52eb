package reflector

import (
	"time"

	"k8s.io/apimachinery/pkg/watch"
)

// state is everything that decides what a Reflector does next. The comments of
// Phase say what leads out of each phase.
//
// Invariant: replacing only in Listing and WatchListing.
// Invariant: open only in WatchListing and Watching.
// Invariant: held != "" implies replacing.
// Invariant: resourceVersion goes back only by a completed replacement.
type state struct {
	phase Phase
	// resourceVersion up to which the Sink was told everything; it survives a
	// restart.
	resourceVersion string
	// synced: a replacement was completed, in this run or an earlier one, and the
	// resource has not gone since.
	synced bool
	// reason of the replacement that is due or under way.
	reason RelistReason

	replacement replacement
	stream      stream
	doubt       doubt
	retry       retry
}

// replacement is the part of state that concerns lists and watch-lists.
type replacement struct {
	// replacing: the Sink's bracket is open.
	replacing bool
	// unavailable: the server refused the last resourceVersion, so that the
	// next request asks for the newest state instead.
	unavailable bool
	// rewound: the last resourceVersion is more than the server knows. Its
	// history may have gone back, and give versions again that were given: what
	// the Sink holds in the same version may be something else.
	rewound bool
	// requested is the resourceVersion of the request under way.
	requested string
	// limit of the LIST under way, and the token of the page asked for.
	limit     int64
	nextPage  string
	unchunked bool // the LIST was begun again without pages
	// pagedByServer: a LIST at "0" came back in pages, so this server has no
	// watch cache to answer from in one go.
	pagedByServer bool

	// listOnly: sync by LIST until it worked once.
	listOnly bool
	// avoidedUntil: no watch-list before.
	avoidedUntil time.Time
	// attempts at a watch-list in a row that broke off.
	attempts int
	// held is the resourceVersion just before the first event that is held
	// back until the replacement ends; "" while none is.
	held string
}

// stream is the part of state that concerns the open stream.
type stream struct {
	open     bool
	openedAt time.Time
	// heard: an event or a bookmark came.
	heard bool
	// probeAt: when the server is asked where it is, if nothing came by then; zero
	// for never.
	probeAt time.Time
	// progressed: it moved the resourceVersion.
	progressed bool
	// replaying: it began at "0", so ADDED events are in no order of
	// resourceVersion until another kind of event comes.
	replaying bool
	// fruitless streams in a row that ended early without progress.
	fruitless int
}

// retry is the part of state that concerns failures.
type retry struct {
	// tries that failed since the last sign of life.
	tries int
	// level of the backoff, and how much of it is due to refusals by a server
	// that is well.
	level, refused int
	// healthySince is when watching began to go well; zero while it does not.
	healthySince time.Time
	// until is when the wait ends.
	until time.Time
	// relist: what follows the wait is a replacement, not a watch.
	relist bool
}

type inputKind uint8

const (
	inputStart   inputKind = iota // Run was called
	inputPage                     // the rest of a page arrived: page
	inputPart                     // a part of a page arrived, more of it is to come
	inputOpened                   // the stream is open, or the server began to answer a LIST in parts
	inputEvent                    // an event arrived: event
	inputFailed                   // the request or the stream ended: failure
	inputElapsed                  // the wait is over
	inputForced                   // a relist was asked for; kept back during a replacement
	inputStop                     // Run's context ended
)

// input is what happened. at and random are the outside world's: the machine
// reads no clock and throws no dice.
type input struct {
	kind    inputKind
	at      time.Time
	random  float64 // in [0,1)
	page    pageInput
	event   eventInput
	failure failure
}

type pageInput struct{ resourceVersion, continueToken string }

type eventInput struct {
	eventType        watch.EventType
	resourceVersion  string
	initialEventsEnd bool
}

type effectKind uint8

const (
	// The request effects come last and bring the next input.
	effectList  effectKind = iota // ask for a page: resourceVersion, limit, token, notOlderThan
	effectOpen                    // open a stream at resourceVersion, with initialEvents or without
	effectNext                    // read the stream, or the next part of the LIST
	effectWait                    // wait for delay
	effectAwait                   // wait for the resource, at least for delay

	effectClose    // close the stream
	effectProbe    // if nothing comes for delay, see whether the server has got to resourceVersion
	effectBegin    // BeginReplace(reason)
	effectItems    // ReplaceItem for each item of the page or part
	effectItem     // ReplaceItem of the event's object
	effectHold     // keep the event back
	effectEnd      // EndReplace(resourceVersion), reason
	effectRelease  // deliver what was kept back
	effectAbort    // AbortReplace, and forget what was kept back
	effectDeliver  // Add, Update or Delete
	effectBookmark // Bookmark(resourceVersion)
	effectRewound  // the replacement that ends now went back in history
)

// effect is something to be done.
type effect struct {
	kind            effectKind
	resourceVersion string
	limit           int64
	token           string
	notOlderThan    bool
	initialEvents   bool
	resume          bool // this watch goes on where another one ended
	reason          RelistReason
	delay           time.Duration
}

// The effects of an ordinary event, shared because events are many.
var (
	effectsDeliver = []effect{{kind: effectDeliver}, {kind: effectNext}}
	effectsItem    = []effect{{kind: effectItem}, {kind: effectNext}}
	effectsHold    = []effect{{kind: effectHold}, {kind: effectNext}}
	effectsNext    = []effect{{kind: effectNext}}
	effectsPart    = []effect{{kind: effectItems}, {kind: effectNext}}
)

// machine is the constant part of the decisions.
type machine struct {
	pageSize         int64
	notOlderThan     string
	watchList        bool
	watchListAvoided time.Duration
	probeAfter       time.Duration // 0: never
	watchTimeout     time.Duration // a server ends no watch sooner in an orderly way, unless it stops
	backoff          Backoff
}

// step decides. The effects are to be performed in order; unless the machine
// stopped, exactly one brings the next input, and it is the last. They are not
// to be modified. An input that cannot happen in the phase changes nothing and
// has no effect.
func (m machine) step(s state, in input) (state, []effect) {
	if in.kind == inputStop {
		return m.stop(s)
	}
	switch s.phase {
	case Initial, Stopped:
		if in.kind == inputStart {
			return m.start(s, in)
		}
	case Listing:
		switch in.kind {
		case inputOpened:
			return s, append(s.begin(nil), effect{kind: effectNext})
		case inputPart:
			return m.part(s)
		case inputPage:
			return m.page(s, in)
		case inputFailed:
			return m.listFailed(s, in)
		}
	case WatchListing, Watching:
		return m.stepStream(s, in)
	case Absent:
		if in.kind == inputElapsed || in.kind == inputForced {
			return m.sync(s, in.at, nil)
		}
	case BackingOff:
		switch in.kind {
		case inputElapsed:
			return m.elapsed(s, in)
		case inputForced:
			return m.forcedWait(s, in)
		}
	}
	return s, nil
}

// stepStream is step in the two phases with a stream.
func (m machine) stepStream(s state, in input) (state, []effect) {
	initial := s.phase == WatchListing
	switch {
	case in.kind == inputOpened && !s.stream.open:
		return m.opened(s, in)
	case in.kind == inputEvent && s.stream.open && initial:
		return m.initialEvent(s, in)
	case in.kind == inputEvent && s.stream.open:
		return m.event(s, in)
	case in.kind == inputFailed && initial:
		return m.watchListFailed(s, in)
	case in.kind == inputFailed:
		return m.watchFailed(s, in)
	case in.kind == inputForced && !initial:
		s.reason, s.stream.fruitless = RelistForced, 0
		return m.sync(s, in.at, s.leaveStream(nil))
	}
	return s, nil
}

// start begins a run with a replacement: what the Sink kept of an earlier run
// is not known.
func (m machine) start(s state, in input) (state, []effect) {
	rewound := s.reason == RelistRewound // and the run ended before that was mended
	switch {
	case rewound:
	case s.synced:
		s.reason = RelistRestarted
	default:
		s.reason = RelistInitial
	}
	s.stream, s.doubt, s.retry = stream{}, doubt{}, retry{}
	s.replacement.unavailable, s.replacement.listOnly, s.replacement.attempts = rewound, false, 0
	return m.sync(s, in.at, nil)
}

// stop ends whatever is open.
func (m machine) stop(s state) (state, []effect) {
	effects := s.leaveStream(nil)
	effects = s.abort(effects)
	s.phase = Stopped
	return s, effects
}

// elapsed goes on after a wait.
func (m machine) elapsed(s state, in input) (state, []effect) {
	if s.retry.relist {
		return m.sync(s, in.at, nil)
	}
	return m.watch(s, nil, true)
}

// forcedWait makes of a wait one for a replacement. The wait itself stays: the
// server may have asked for it.
func (m machine) forcedWait(s state, in input) (state, []effect) {
	if !s.retry.relist {
		s.retry.relist, s.reason = true, RelistForced
	}
	return s, []effect{{kind: effectWait, delay: max(0, s.retry.until.Sub(in.at))}}
}

// leaveStream closes the stream if one is open.
func (s *state) leaveStream(effects []effect) []effect {
	if s.stream.open {
		s.stream.open = false
		effects = append(effects, effect{kind: effectClose})
	}
	return effects
}

// abort closes the Sink's bracket if it is open.
func (s *state) abort(effects []effect) []effect {
	if s.replacement.replacing {
		s.replacement.replacing, s.replacement.held = false, ""
		effects = append(effects, effect{kind: effectAbort})
	}
	return effects
}
