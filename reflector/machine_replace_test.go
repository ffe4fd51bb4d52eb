package reflector

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/watch"
)

func TestAListStreamsItsPagesIntoOneBracket(t *testing.T) {
	runTable(t, []row{
		{name: "an only page", from: listing("0"), in: page("9", ""),
			phase: Watching, effects: `begin initial, items, end "9", watch "9"`,
			check: func(s state) bool { return s.synced && s.resourceVersion == "9" && !s.replacement.replacing }},
		{name: "a first page", from: listing(""), in: page("9", "t1"),
			phase: Listing, effects: `begin initial, items, list after "t1" limit 500`,
			check: func(s state) bool { return !s.replacement.pagedByServer && s.resourceVersion == "" }},
		{name: "a first page at 0 gives away that there is no watch cache", from: listing("0"), in: page("9", "t1"),
			phase: Listing, effects: `begin initial, items, list after "t1" limit 500`,
			check: func(s state) bool { return s.replacement.pagedByServer }},
		{name: "a middle page", from: onPage(listing(""), "t1"), in: page("9", "t2"),
			phase: Listing, effects: `items, list after "t2" limit 500`},
		{name: "the last page", from: onPage(listing(""), "t2"), in: page("9", ""),
			phase: Watching, effects: `items, end "9", watch "9"`},
		{name: "a relist", from: listing("5"), in: page("9", ""),
			phase: Watching, effects: `begin expired, items, end "9", watch "9"`},
		{name: "a relist that goes back in history says so", from: listing("15"), in: page("9", ""),
			phase: Watching, effects: `begin expired, items, rewound, end "9", watch "9"`,
			check: func(s state) bool { return s.resourceVersion == "9" }},
		{name: "a fake that knows no versions is watched at 0", from: listing("0"), in: page("", ""),
			phase: Watching, effects: `begin initial, items, end "", watch "0"`,
			check: func(s state) bool { return s.stream.replaying }},
		{name: "success clears what failures left", from: with(listing(""), func(s *state) {
			s.replacement.unavailable, s.replacement.listOnly, s.retry.tries, s.retry.relist = true, true, 4, true
		}), in: page("9", ""), phase: Watching, effects: `begin initial, items, end "9", watch "9"`,
			check: func(s state) bool {
				return !s.replacement.unavailable && !s.replacement.listOnly && s.retry.tries == 0 && !s.retry.relist
			}},
	})
}

func TestAListInPartsOpensItsBracketBeforeItIsRead(t *testing.T) {
	begun := func(s *state) { s.replacement.replacing = true }
	part := input{kind: inputPart, at: epoch}
	runTable(t, []row{
		{name: "the answer begins", from: listing("0"), in: input{kind: inputOpened, at: epoch}, phase: Listing, effects: `begin initial, next`},
		{name: "a part", from: with(listing("0"), begun), in: part, phase: Listing, effects: `items, next`},
		{name: "the end of a page", from: with(listing("0"), begun), in: page("9", "t1"),
			phase: Listing, effects: `items, list after "t1" limit 500`, check: func(s state) bool { return s.replacement.pagedByServer }},
		{name: "a part of a later page", from: onPage(listing("0"), "t1"), in: part, phase: Listing, effects: `items, next`},
		{name: "the end of the last page", from: onPage(listing("0"), "t1"), in: page("9", ""), phase: Watching, effects: `items, end "9", watch "9"`},
		{name: "a break in the first page", from: with(listing("0"), begun), in: failedWith(classTransport), phase: BackingOff, effects: `abort, wait 800ms`},
		{name: "a stop in a page", from: with(listing("0"), begun), in: input{kind: inputStop}, phase: Stopped, effects: `abort`},
	})
}

// doubts is whether the newest state is asked for because the server's history may have
// gone back, so that versions that are held say nothing; or else because it forgot.
func doubts(rewound bool) func(state) bool {
	return func(s state) bool { return s.replacement.unavailable && s.replacement.rewound == rewound }
}

func TestAFailedList(t *testing.T) {
	unchunked := func(s *state) { s.replacement.unchunked = true }
	rows := []row{
		{name: "expired at a known version asks for the newest state at once", from: listing("5"), in: failedWith(classExpired),
			phase: Listing, effects: `list "" limit 500`, check: doubts(false)},
		{name: "too large at a known version asks for the newest state at once", from: listing("5"), in: failedWith(classTooLarge),
			phase: Listing, effects: `list "" limit 500`, check: doubts(true)},
		{name: "nor is what was too large forgotten where the newest state expires", from: with(listing("5"), func(s *state) { s.replacement.rewound = true }),
			in: failedWith(classExpired), phase: Listing, effects: `list "" limit 500`, check: doubts(true)},
		{name: "too large at 0 asks for the newest state at once", from: listing("0"), in: failedWith(classTooLarge),
			phase: Listing, effects: `list "" limit 500`},
		{name: "so it does if an earlier process saw more", options: Options{NotOlderThan: "5"}, from: with(listing("0"), func(s *state) { s.replacement.requested = "5" }),
			in: failedWith(classTooLarge), phase: Listing, effects: `list "" limit 500`},
		{name: "expired at the newest state backs off", from: listing(""), in: failedWith(classExpired),
			phase: BackingOff, effects: `wait 800ms`},
		{name: "too large at the newest state backs off", from: listing(""), in: failedWith(classTooLarge),
			phase: BackingOff, effects: `wait 800ms`},
		{name: "expired on a later page lists once without pages", from: onPage(listing(""), "t1"), in: failedWith(classExpired),
			phase: Listing, effects: `abort, list ""`, check: func(s state) bool { return s.replacement.unchunked }},
		{name: "that again backs off", from: with(onPage(listing(""), "t1"), unchunked), in: failedWith(classExpired),
			phase: BackingOff, effects: `abort, wait 800ms`},
		{name: "at a known version it keeps the version", options: Options{PageSize: 10},
			from: onPage(listing("5"), "t1"), in: failedWith(classExpired), phase: Listing, effects: `abort, list "5"`},
		{name: "that again asks for the newest state", from: with(onPage(listing("5"), "t1"), unchunked), in: failedWith(classExpired),
			phase: Listing, effects: `abort, list "" limit 500`},
	}
	for class, name := range map[failureClass]string{
		classServer: "500", classBusy: "429", classDenied: "403", classInvalid: "400",
		classTransport: "lost connection", classDecode: "unreadable answer",
	} {
		rows = append(rows,
			row{name: name + " backs off", from: listing("5"), in: failedWith(class), phase: BackingOff, effects: `wait 800ms`,
				check: func(s state) bool { return s.retry.relist && s.reason == RelistExpired }},
			row{name: name + " on a later page aborts the bracket", from: onPage(listing(""), "t1"), in: failedWith(class),
				phase: BackingOff, effects: `abort, wait 800ms`})
	}
	runTable(t, rows)
}

func TestAWatchListStreamsIntoOneBracketAndGoesOnAsTheWatch(t *testing.T) {
	held := func(s *state) { s.replacement.held = "8" }
	runTable(t, []row{
		{name: "opening begins the bracket", from: watchListing(""), in: input{kind: inputOpened, at: epoch},
			phase: WatchListing, effects: `begin initial, next`},
		{name: "an initial object", from: opened(watchListing("")), in: event(watch.Added, "3"),
			phase: WatchListing, effects: `item, next`, check: func(s state) bool { return s.resourceVersion == "" }},
		{name: "a change before the end is the newer state of the item", from: opened(watchListing("")), in: event(watch.Modified, "9"),
			phase: WatchListing, effects: `item, next`},
		{name: "an ordinary bookmark before the end says nothing", from: opened(watchListing("5")), in: event(watch.Bookmark, "9"),
			phase: WatchListing, effects: `next`, check: func(s state) bool { return s.resourceVersion == "5" }},
		{name: "the end", from: opened(watchListing("")), in: initialEnd("9"),
			phase: Watching, effects: `end "9", next`,
			check: func(s state) bool {
				return s.synced && s.stream.open && s.stream.progressed && s.retry.healthySince.Equal(epoch)
			}},
		{name: "the end behind the last version", from: opened(watchListing("15")), in: initialEnd("9"),
			phase: Watching, effects: `rewound, end "9", next`},
		{name: "the first deletion is held", from: opened(watchListing("")), in: event(watch.Deleted, "9"),
			phase: WatchListing, effects: `hold, next`, check: func(s state) bool { return s.replacement.held == "8" }},
		{name: "and what follows it", from: with(opened(watchListing("")), held), in: event(watch.Added, "10"),
			phase: WatchListing, effects: `hold, next`, check: func(s state) bool { return s.replacement.held == "8" }},
		{name: "the replacement is what was true before the deletion", from: with(opened(watchListing("")), held), in: initialEnd("12"),
			phase: Watching, effects: `end "8", release, bookmark "12", next`,
			check: func(s state) bool { return s.resourceVersion == "12" && s.replacement.held == "" }},
		{name: "a deletion at a version without a predecessor falls back to a list", from: opened(watchListing("")),
			in: event(watch.Deleted, "x"), phase: Listing, effects: `close, abort, list "0" limit 500`,
			check: func(s state) bool { return s.replacement.listOnly }},
	})
}

// leaveAlone is a failure of a server that wants to be left alone for 7 seconds.
func leaveAlone(class failureClass) input {
	in := failedWith(class)
	in.failure.retryAfter = 7 * time.Second
	return in
}

func TestAFailedWatchList(t *testing.T) {
	attempts := func(n int) func(*state) { return func(s *state) { s.replacement.attempts = n } }
	avoids := func(s state) bool { return s.replacement.avoidedUntil.Equal(epoch.Add(10 * time.Minute)) }
	listsOnce := func(s state) bool { return s.replacement.listOnly && s.replacement.avoidedUntil.IsZero() }
	syncing := func(n int) func(state) bool {
		return func(s state) bool { return s.retry.relist && s.replacement.attempts == n }
	}
	rows := []row{
		{name: "expired in the stream asks for the newest state at once", from: opened(watchListing("5")), in: failedWith(classExpired),
			phase: WatchListing, effects: `close, abort, watch-list ""`, check: doubts(false)},
		{name: "too large in the stream asks for the newest state at once", from: opened(watchListing("5")), in: failedWith(classTooLarge),
			phase: WatchListing, effects: `close, abort, watch-list ""`, check: doubts(true)},
		{name: "expired at the newest state backs off", from: watchListing(""), in: failedWith(classExpired),
			phase: BackingOff, effects: `wait 800ms`, check: syncing(0)},
		{name: "no end in time lists and remembers", from: opened(watchListing("")), in: failedWith(classNoInitialEnd),
			phase: Listing, effects: `close, abort, list "0" limit 500`, check: avoids},
		{name: "an opening that takes as long says nothing of watch-list", from: watchListing(""), in: failedWith(classNoInitialEnd),
			phase: BackingOff, effects: `wait 800ms`, check: syncing(1)},
		{name: "not understood lists and remembers", from: watchListing("5"), in: failedWith(classInvalid),
			phase: Listing, effects: `list "5"`, check: avoids},
		{name: "not understood, and to be left alone", from: watchListing("5"), in: leaveAlone(classInvalid),
			phase: BackingOff, effects: `wait 7s`, check: avoids},
		{name: "a server error, and to be left alone", from: watchListing(""), in: leaveAlone(classServer),
			phase: BackingOff, effects: `wait 7s`, check: listsOnce},
		{name: "a denied watch lists this time", from: watchListing(""), in: failedWith(classDenied),
			phase: Listing, effects: `list "0" limit 500`, check: listsOnce},
		{name: "a server error lists this time", from: watchListing(""), in: failedWith(classServer),
			phase: Listing, effects: `list "0" limit 500`, check: listsOnce},
		{name: "busy backs off however often", from: with(watchListing(""), attempts(2)), in: failedWith(classBusy),
			phase: BackingOff, effects: `wait 800ms`, check: syncing(2)},
		{name: "busy in the stream backs off", from: opened(watchListing("")), in: failedWith(classBusy),
			phase: BackingOff, effects: `close, abort, wait 800ms`, check: syncing(0)},
		{name: "ended without bookmark backs off", from: opened(watchListing("")), in: failedWith(classEnded),
			phase: BackingOff, effects: `close, abort, wait 800ms`, check: syncing(1)},
		{name: "for the third time lists and remembers", from: with(opened(watchListing("")), attempts(2)), in: failedWith(classEnded),
			phase: Listing, effects: `close, abort, list "0" limit 500`, check: avoids},
		{name: "broken while opening backs off", from: watchListing(""), in: failedWith(classTransport),
			phase: BackingOff, effects: `wait 800ms`, check: syncing(1)},
		{name: "a held deletion is forgotten with the bracket", from: with(opened(watchListing("")), func(s *state) { s.replacement.held = "8" }),
			in: failedWith(classEnded), phase: BackingOff, effects: `close, abort, wait 800ms`,
			check: func(s state) bool { return s.replacement.held == "" }},
	}
	for class, name := range map[failureClass]string{
		classTransport: "broken", classDecode: "unreadable", classServer: "server error in the stream",
		classSilent: "overdue", classDenied: "denied in the stream", classInvalid: "invalid in the stream",
	} {
		rows = append(rows,
			row{name: name + " backs off", from: opened(watchListing("")), in: failedWith(class),
				phase: BackingOff, effects: `close, abort, wait 800ms`, check: syncing(1)},
			row{name: name + " for the third time lists this time", from: with(opened(watchListing("")), attempts(2)), in: failedWith(class),
				phase: Listing, effects: `close, abort, list "0" limit 500`, check: listsOnce})
	}
	runTable(t, rows)
}

func TestTheVersionBeforeAVersion(t *testing.T) {
	for version, before := range map[string]string{
		"2": "1", "10": "9", "18446744073709551615": "18446744073709551614",
		"": "", "0": "", "1": "", "-5": "", "x": "", "18446744073709551616": "",
	} {
		if got, ok := precedingVersion(version); got != before || ok != (before != "") {
			t.Errorf("before %q: %q, %v", version, got, ok)
		}
	}
}
