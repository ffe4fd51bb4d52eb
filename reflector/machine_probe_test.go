package reflector

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

var (
	noDoubt    = func(s state) bool { return !s.doubt.lost && s.doubt.quiet == 0 }
	lost       = func(s state) bool { return s.doubt.lost && !s.doubt.away }
	away       = func(s state) bool { return s.doubt.lost && s.doubt.away }
	quietTimes = func(n int) func(state) bool {
		return func(s state) bool { return !s.doubt.lost && s.doubt.quiet == n }
	}
	inDoubt = func(s *state) { s.doubt.lost = true }
	quiet2  = func(s *state) { s.doubt.quiet = 2 }
)

func TestAWatchOpenedInDoubtIsProbed(t *testing.T) {
	open := input{kind: inputOpened, at: epoch}
	half := open
	half.random = 0.5
	at := func(d time.Duration) func(state) bool {
		return func(s state) bool { return s.stream.probeAt.Equal(epoch.Add(d)) }
	}
	runTable(t, []row{
		{name: "not without doubt", from: watching("5"), in: open, phase: Watching, effects: "next"},
		{name: "nor after one quiet watch", from: with(watching("5"), func(s *state) { s.doubt.quiet = 1 }), in: open, phase: Watching, effects: "next"},
		{name: "after a lost connection", from: with(watching("5"), inDoubt), in: open, phase: Watching,
			effects: `probe "5" in 10s, next`, check: at(10 * time.Second)},
		{name: "at once after it was away", from: with(watching("5"), func(s *state) { s.doubt = doubt{lost: true, away: true} }), in: half, phase: Watching,
			effects: `probe "5" in 0s, next`, check: at(0)},
		{name: "after two quiet watches", from: with(watching("5"), quiet2), in: open, phase: Watching,
			effects: `probe "5" in 10s, next`, check: at(10 * time.Second)},
		{name: "later by what was drawn", from: with(watching("5"), inDoubt), in: half, phase: Watching,
			effects: `probe "5" in 15s, next`, check: at(15 * time.Second)},
		{name: "after the time of the options", options: Options{ProbeAfter: time.Second}, from: with(watching("5"), inDoubt), in: half,
			phase: Watching, effects: `probe "5" in 1.5s, next`},
		{name: "not if it is turned off", options: Options{ProbeAfter: -1}, from: with(watching("5"), inDoubt), in: open,
			phase: Watching, effects: "next"},
		{name: "not without a version", from: with(watching(""), inDoubt), in: open, phase: Watching, effects: "next"},
		{name: "not at 0", from: with(watching("0"), inDoubt), in: open, phase: Watching, effects: "next"},
		{name: "not at what is no number", from: with(watching("abc"), inDoubt), in: open, phase: Watching, effects: "next"},
		{name: "a watch-list needs none", from: with(watchListing("5"), inDoubt), in: open, phase: WatchListing, effects: "begin expired, next"},
	})
}

func TestWhatHappenedToAWatchGivesReasonForDoubt(t *testing.T) {
	open := opened(watching("5"))
	heard := with(open, func(s *state) { s.stream.heard = true })
	throttled := failedWith(classBusy)
	throttled.failure.code = 429
	answered := failedWith(classDenied)
	answered.failure.code = 404
	told := failedWith(classBusy)
	told.failure.reason = metav1.StatusReasonTooManyRequests
	resumed, waits := `close, rewatch "5"`, "close, wait 800ms"
	runTable(t, []row{
		{name: "a lost connection", from: open, in: failedWith(classTransport), phase: BackingOff, effects: waits, check: lost},
		{name: "a lost connection after a while", from: heard, in: later(time.Minute, failedWith(classTransport)), phase: Watching, effects: resumed, check: lost},
		{name: "none: a frame that cannot be read", from: open, in: failedWith(classDecode), phase: BackingOff, effects: waits, check: noDoubt},
		{name: "an error of the server", from: open, in: failedWith(classServer), phase: BackingOff, effects: waits, check: lost},
		{name: "a refused connection", from: watching("5"), in: failedWith(classBusy), phase: BackingOff, effects: "wait 800ms", check: away},
		{name: "a server that lacks the resource", from: watching("5"), in: answered, phase: BackingOff, effects: "wait 800ms", check: lost},
		{name: "nobody who answers", from: watching("5"), in: failedWith(classSilent), phase: BackingOff, effects: "wait 800ms", check: away},
		{name: "none: 429", from: open, in: throttled, phase: BackingOff, effects: waits, check: noDoubt},
		{name: "none: 429 of a proxy that hides the code", from: watching("5"), in: told, phase: BackingOff, effects: "wait 800ms", check: noDoubt},
		{name: "a lost connection after one that was refused", from: with(open, func(s *state) { s.doubt.away = true }), in: failedWith(classTransport),
			phase: BackingOff, effects: waits, check: away},
		{name: "429 takes nothing back", from: with(watching("5"), inDoubt), in: throttled, phase: BackingOff, effects: "wait 800ms", check: lost},
		{name: "none: 410", from: open, in: failedWith(classExpired), phase: BackingOff, effects: waits, check: noDoubt},
		{name: "none: too large", from: open, in: failedWith(classTooLarge), phase: BackingOff, effects: waits, check: noDoubt},
		{name: "none: an orderly end of a watch that brought something", from: heard, in: later(time.Hour, failedWith(classEnded)),
			phase: Watching, effects: resumed, check: noDoubt},
		{name: "an orderly end before its time", from: open, in: failedWith(classEnded), phase: BackingOff, effects: waits, check: lost},
		{name: "an orderly end before its time of a watch that lasted", from: heard, in: later(5*time.Minute-1, failedWith(classEnded)),
			phase: Watching, effects: resumed, check: lost},
		{name: "none: an orderly end in time", from: heard, in: later(5*time.Minute, failedWith(classEnded)), phase: Watching, effects: resumed, check: noDoubt},
		{name: "none: an orderly end soon after the server was asked", from: with(heard, func(s *state) { s.doubt.askedAt = epoch.Add(-4 * time.Minute) }),
			in: later(time.Minute-1, failedWith(classEnded)), phase: Watching, effects: resumed, check: noDoubt},
		{name: "an orderly end a while after the server was asked", from: with(heard, func(s *state) { s.doubt.askedAt = epoch.Add(-4 * time.Minute) }),
			in: later(time.Minute, failedWith(classEnded)), phase: Watching, effects: resumed, check: lost},
		{name: "a quiet watch counts", from: open, in: later(time.Hour, failedWith(classEnded)), phase: Watching, effects: resumed, check: quietTimes(1)},
		{name: "and another", from: with(open, func(s *state) { s.doubt.quiet = 1 }), in: later(time.Hour, failedWith(classEnded)),
			phase: Watching, effects: resumed, check: quietTimes(2)},
		{name: "one that outlived its timeout as well", from: open, in: later(time.Hour, failedWith(classSilent)), phase: Watching, effects: resumed, check: quietTimes(1)},
	})
}

func TestDoubtEndsWhenSomethingIsHeardOrAsked(t *testing.T) {
	probed := with(opened(watching("5")), func(s *state) { s.doubt, s.stream.probeAt = doubt{lost: true, quiet: 2}, epoch.Add(10*time.Second) })
	heard := with(probed, func(s *state) { s.stream.heard = true })
	resumed := `close, rewatch "5"`
	hears := func(s state) bool { return s.stream.heard }
	runTable(t, []row{
		{name: "an event is heard", from: probed, in: event(watch.Modified, "6"), phase: Watching, effects: "deliver, next", check: hears},
		{name: "an old event as well", from: probed, in: event(watch.Modified, "4"), phase: Watching, effects: "deliver, next", check: hears},
		{name: "a bookmark is heard", from: probed, in: event(watch.Bookmark, "6"), phase: Watching, effects: `bookmark "6", next`, check: hears},
		{name: "a bookmark of nothing new as well", from: probed, in: event(watch.Bookmark, "5"), phase: Watching, effects: "next", check: hears},
		{name: "what was heard ends it", from: heard, in: later(time.Hour, failedWith(classEnded)), phase: Watching, effects: resumed, check: noDoubt},
		{name: "but a new outage is a new reason", from: heard, in: later(time.Hour, failedWith(classTransport)), phase: Watching, effects: resumed,
			check: func(s state) bool { return s.doubt == doubt{lost: true} }},
		{name: "an answer ends it, and the quiet watch is the first", from: probed, in: later(10*time.Second, failedWith(classEnded)),
			phase: Watching, effects: resumed, check: func(s state) bool {
				return s.doubt == doubt{quiet: 1, askedAt: epoch.Add(10 * time.Second)}
			}},
		{name: "a watch that ended before it was probed does not", from: probed, in: later(10*time.Second-1, failedWith(classSilent)),
			phase: Watching, effects: resumed, check: func(s state) bool { return s.doubt == doubt{lost: true, quiet: 3} }},
		{name: "a list does", from: with(listing("5"), inDoubt), in: page("6", ""), phase: Watching, effects: `begin expired, items, end "6", watch "6"`, check: noDoubt},
		{name: "a watch-list does", from: with(opened(watchListing("5")), inDoubt), in: initialEnd("6"), phase: Watching, effects: `end "6", next`,
			check: func(s state) bool { return noDoubt(s) && hears(s) }},
		{name: "another run does", from: with(state{phase: Stopped, synced: true, resourceVersion: "7"}, inDoubt), in: input{kind: inputStart, at: epoch},
			phase: WatchListing, effects: `watch-list "7"`, check: noDoubt},
	})
}

func TestARewoundHistoryIsReplacedAtOnce(t *testing.T) {
	newest := func(s state) bool {
		return s.reason == RelistRewound && s.replacement.unavailable && s.replacement.rewound
	}
	rewound := func(s *state) { s.reason, s.replacement.unavailable, s.replacement.rewound = RelistRewound, true, true }
	runTable(t, []row{
		{name: "by a watch-list", from: opened(watching("50")), in: failedWith(classRewound), phase: WatchListing,
			effects: `close, watch-list ""`, check: newest},
		{name: "by a list", options: Options{DisableWatchList: true}, from: opened(watching("50")), in: failedWith(classRewound), phase: Listing,
			effects: `close, list "" limit 500`, check: newest},
		{name: "which is an older one", from: with(listing("50"), rewound), in: page("6", ""), phase: Watching,
			effects: `begin history rewound, items, rewound, end "6", watch "6"`},
		{name: "or has overtaken the last meanwhile", from: with(listing("50"), rewound), in: page("60", ""), phase: Watching,
			effects: `begin history rewound, items, rewound, end "60", watch "60"`},
		{name: "by another run, if one ended before", from: with(state{phase: Stopped, synced: true, resourceVersion: "50"}, rewound), in: input{kind: inputStart, at: epoch},
			phase: WatchListing, effects: `watch-list ""`, check: newest},
		{name: "again after a failure", from: with(listing(""), func(s *state) { rewound(s); s.synced, s.resourceVersion = true, "50" }), in: failedWith(classBusy),
			phase: BackingOff, effects: "wait 800ms", check: newest},
	})
}
