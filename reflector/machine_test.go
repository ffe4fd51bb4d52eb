package reflector

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/watch"
)

// epoch is the time at which table tests happen.
var epoch = time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)

// testMachine is the machine that New makes of zero Options, without jitter.
func testMachine(t testing.TB, options Options) machine {
	t.Helper()
	options.Backoff.Jitter = -1
	complete, err := options.complete()
	if err != nil {
		t.Fatal(err)
	}
	return machine{
		pageSize: complete.PageSize, notOlderThan: complete.NotOlderThan, watchList: !complete.DisableWatchList,
		watchListAvoided: complete.WatchListAvoided, probeAfter: complete.ProbeAfter, watchTimeout: complete.WatchTimeout, backoff: complete.Backoff,
	}
}

// String shows an effect as the tables write it.
func (e effect) String() string {
	switch e.kind {
	case effectList:
		text := fmt.Sprintf("list %q", e.resourceVersion)
		if e.token != "" {
			text = fmt.Sprintf("list after %q", e.token)
		}
		if e.limit != 0 {
			text += fmt.Sprintf(" limit %d", e.limit)
		}
		if e.notOlderThan {
			text += " not older"
		}
		return text
	case effectOpen:
		text := fmt.Sprintf("watch %q", e.resourceVersion)
		if e.initialEvents {
			text = fmt.Sprintf("watch-list %q", e.resourceVersion)
		}
		if e.resume {
			text = "re" + text
		}
		return text
	case effectWait:
		return fmt.Sprintf("wait %v", e.delay)
	case effectAwait:
		return fmt.Sprintf("await %v", e.delay)
	case effectProbe:
		return fmt.Sprintf("probe %q in %v", e.resourceVersion, e.delay)
	case effectBegin:
		return "begin " + string(e.reason)
	case effectEnd:
		return fmt.Sprintf("end %q", e.resourceVersion)
	case effectBookmark:
		return fmt.Sprintf("bookmark %q", e.resourceVersion)
	}
	return map[effectKind]string{
		effectNext: "next", effectClose: "close", effectItems: "items", effectItem: "item", effectHold: "hold",
		effectRelease: "release", effectAbort: "abort", effectDeliver: "deliver", effectRewound: "rewound",
	}[e.kind]
}

func trace(effects []effect) string {
	var parts []string
	for _, e := range effects {
		parts = append(parts, e.String())
	}
	return strings.Join(parts, ", ")
}

// States that the tables begin with.

func listing(requested string) state {
	s := state{phase: Listing, reason: RelistInitial}
	s.replacement.requested, s.replacement.limit = requested, 500
	if requested != "" && requested != "0" {
		s.resourceVersion, s.synced, s.replacement.limit, s.reason = requested, true, 0, RelistExpired
	}
	return s
}

// onPage is a LIST that waits for a later page.
func onPage(s state, token string) state {
	s.replacement.replacing, s.replacement.nextPage = true, token
	return s
}

func watchListing(requested string) state {
	s := state{phase: WatchListing, reason: RelistInitial}
	s.replacement.requested = requested
	if requested != "" {
		s.resourceVersion, s.synced, s.reason = requested, true, RelistExpired
	}
	return s
}

func watching(resourceVersion string) state {
	return state{phase: Watching, resourceVersion: resourceVersion, synced: true}
}

// opened opens the stream of s at the epoch.
func opened(s state) state {
	s.stream.open, s.stream.openedAt = true, epoch
	s.replacement.replacing = s.phase == WatchListing
	return s
}

func with(s state, change func(*state)) state {
	change(&s)
	return s
}

// Inputs that the tables use, all at the epoch but for later.

func page(resourceVersion, token string) input {
	return input{kind: inputPage, at: epoch, page: pageInput{resourceVersion, token}}
}

func event(eventType watch.EventType, resourceVersion string) input {
	return input{kind: inputEvent, at: epoch, event: eventInput{eventType: eventType, resourceVersion: resourceVersion}}
}

func initialEnd(resourceVersion string) input {
	in := event(watch.Bookmark, resourceVersion)
	in.event.initialEventsEnd = true
	return in
}

func failedWith(class failureClass) input {
	return input{kind: inputFailed, at: epoch, failure: failure{class: class}}
}

func later(d time.Duration, in input) input {
	in.at = epoch.Add(d)
	return in
}

// row is one line of a table: in state from, input in leads to phase and
// effects.
type row struct {
	name    string
	options Options
	from    state
	in      input
	phase   Phase
	effects string
	check   func(state) bool // optional
}

func runTable(t *testing.T, rows []row) {
	t.Helper()
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			next, effects := testMachine(t, r.options).step(r.from, r.in)
			if got := trace(effects); got != r.effects {
				t.Errorf("effects\n got %s\nwant %s", got, r.effects)
			}
			if next.phase != r.phase {
				t.Errorf("phase is %v, want %v", next.phase, r.phase)
			}
			if r.check != nil && !r.check(next) {
				t.Errorf("unexpected state %+v", next)
			}
		})
	}
}

func TestARunBeginsWithAReplacement(t *testing.T) {
	start := input{kind: inputStart, at: epoch}
	stopped := state{phase: Stopped, synced: true, resourceVersion: "7"}
	list := Options{DisableWatchList: true}
	runTable(t, []row{
		{name: "first start asks a watch-list for the newest state", in: start,
			phase: WatchListing, effects: `watch-list ""`},
		{name: "first start lists any state where watch-list is off", options: list, in: start,
			phase: Listing, effects: `list "0" limit 500`},
		{name: "or one that an earlier process saw", options: Options{DisableWatchList: true, NotOlderThan: "5"}, in: start,
			phase: Listing, effects: `list "5"`},
		{name: "which is of no interest to a watch-list", options: Options{NotOlderThan: "5"}, in: start,
			phase: WatchListing, effects: `watch-list ""`},
		{name: "nor once there is a later one", options: Options{DisableWatchList: true, NotOlderThan: "5"}, from: stopped, in: start,
			phase: Listing, effects: `list "7"`},
		{name: "another run watch-lists from the last version", from: stopped, in: start,
			phase: WatchListing, effects: `watch-list "7"`, check: func(s state) bool { return s.reason == RelistRestarted }},
		{name: "another run lists at the last version, from the watch cache", options: list, from: stopped, in: start,
			phase: Listing, effects: `list "7"`},
		{name: "a source without watch-list is remembered over a restart",
			from: with(stopped, func(s *state) { s.replacement.avoidedUntil = epoch.Add(time.Second) }), in: start,
			phase: Listing, effects: `list "7"`},
		{name: "watch-list is tried again after a while",
			from: with(stopped, func(s *state) { s.replacement.avoidedUntil = epoch }), in: start,
			phase: WatchListing, effects: `watch-list "7"`},
		{name: "an own page size pages a known version without pinning it", options: Options{DisableWatchList: true, PageSize: 10},
			from: stopped, in: start, phase: Listing, effects: `list "7" limit 10 not older`},
		{name: "a server without watch cache is listed in pages", options: list,
			from: with(stopped, func(s *state) { s.replacement.pagedByServer = true }), in: start,
			phase: Listing, effects: `list "7" limit 500 not older`},
		{name: "an earlier run's refusals are forgotten",
			from: with(stopped, func(s *state) {
				s.replacement.unavailable, s.replacement.listOnly, s.replacement.attempts = true, true, 2
			}),
			in: start, phase: WatchListing, effects: `watch-list "7"`, check: func(s state) bool { return s.replacement.attempts == 0 }},
		{name: "an earlier run's backoff is forgotten",
			from: with(stopped, func(s *state) { s.retry.level = 9 }), in: start,
			phase: WatchListing, effects: `watch-list "7"`, check: func(s state) bool { return s.retry.level == 0 }},
	})
}

func TestAStopEndsWhatIsOpen(t *testing.T) {
	stop := input{kind: inputStop, at: epoch}
	runTable(t, []row{
		{name: "initial", in: stop, phase: Stopped},
		{name: "listing, first page", from: listing("0"), in: stop, phase: Stopped},
		{name: "listing, later page", from: onPage(listing("0"), "t"), in: stop, phase: Stopped, effects: "abort"},
		{name: "watch-list being opened", from: watchListing(""), in: stop, phase: Stopped},
		{name: "watch-list open", from: opened(watchListing("")), in: stop, phase: Stopped, effects: "close, abort"},
		{name: "watch being opened", from: watching("5"), in: stop, phase: Stopped},
		{name: "watch open", from: opened(watching("5")), in: stop, phase: Stopped, effects: "close"},
		{name: "backing off", from: state{phase: BackingOff}, in: stop, phase: Stopped},
		{name: "stopped", from: state{phase: Stopped}, in: stop, phase: Stopped},
	})
}

func TestAWaitIsFollowedByWhatFailed(t *testing.T) {
	elapsed := input{kind: inputElapsed, at: epoch}
	backingOff := state{phase: BackingOff, synced: true, resourceVersion: "5"}
	runTable(t, []row{
		{name: "a watch resumes", from: backingOff, in: elapsed, phase: Watching, effects: `rewatch "5"`},
		{name: "a replacement is tried again", from: with(backingOff, func(s *state) { s.retry.relist = true }), in: elapsed,
			phase: WatchListing, effects: `watch-list "5"`},
		{name: "a refused version is not sent again", from: with(backingOff, func(s *state) {
			s.retry.relist, s.replacement.unavailable = true, true
		}), in: elapsed, phase: WatchListing, effects: `watch-list ""`},
		{name: "nor by a list", options: Options{DisableWatchList: true}, from: with(backingOff, func(s *state) {
			s.retry.relist, s.replacement.unavailable = true, true
		}), in: elapsed, phase: Listing, effects: `list "" limit 500`},
	})
}

func TestAnInputThatCannotHappenChangesNothing(t *testing.T) {
	runTable(t, []row{
		{name: "page while watching", from: opened(watching("5")), in: page("6", ""), phase: Watching},
		{name: "start while listing", from: listing("0"), in: input{kind: inputStart}, phase: Listing},
		{name: "event before the stream is open", from: watching("5"), in: event(watch.Added, "6"), phase: Watching},
		{name: "second opening", from: opened(watching("5")), in: input{kind: inputOpened}, phase: Watching},
		{name: "failure while backing off", from: state{phase: BackingOff}, in: failedWith(classBusy), phase: BackingOff},
		{name: "event while stopped", from: state{phase: Stopped}, in: event(watch.Added, "6"), phase: Stopped},
	})
}

func TestBackoffGrowsToItsCapAndJitterIsAddedOnTop(t *testing.T) {
	backoff, err := Backoff{}.complete()
	if err != nil {
		t.Fatal(err)
	}
	seconds := []float64{0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 30, 30}
	for level, want := range seconds {
		base := time.Duration(want * float64(time.Second))
		if got := backoff.delay(level, 0); got != base {
			t.Errorf("level %d: %v, want %v", level, got, base)
		}
		if got := backoff.delay(level, 0.5); got != base*3/2 {
			t.Errorf("level %d with half the jitter: %v, want %v", level, got, base*3/2)
		}
	}
	if got := backoff.delay(1_000_000, 0); got != 30*time.Second {
		t.Errorf("after a million failures: %v", got)
	}
}

func TestBackoffStartsAgainOnlyAfterTwoHealthyMinutes(t *testing.T) {
	from := with(watching("5"), func(s *state) { s.retry.level, s.retry.refused = 4, 4 })
	m := testMachine(t, Options{})
	s, _ := m.step(from, input{kind: inputOpened, at: epoch})
	// An orderly end in between is no failure and does not spoil the health.
	s, _ = m.step(s, later(time.Minute, failedWith(classEnded)))
	s, _ = m.step(s, input{kind: inputOpened, at: epoch.Add(time.Minute)})
	for after, want := range map[time.Duration]string{
		2*time.Minute - 1: "close, wait 12.8s",
		2 * time.Minute:   "close, wait 800ms",
	} {
		for _, class := range []failureClass{classBusy, classExpired} {
			_, effects := m.step(s, later(after, failedWith(class)))
			if got := trace(effects); got != want {
				t.Errorf("failure %d after %v: %s, want %s", class, after, got, want)
			}
		}
	}
}

func TestWhatAServerSaysAfterAnOutageIsActedUponSoonButNotAgainAndAgain(t *testing.T) {
	m := testMachine(t, Options{})
	for _, class := range []failureClass{classExpired, classTooLarge, classDenied, classInvalid} {
		s := watching("5")
		fails := func(class failureClass) string {
			s, _ = m.step(s, input{kind: inputElapsed, at: epoch})
			var effects []effect
			s, effects = m.step(with(watching("5"), func(w *state) { w.retry = s.retry }), failedWith(class))
			return trace(effects)
		}
		for _, nobody := range []failureClass{classBusy, classTransport, classServer, classBusy, classTransport, classBusy, classBusy} {
			fails(nobody)
		}
		for i, want := range []string{"wait 3.2s", "wait 6.4s", "wait 12.8s", "wait 25.6s", "wait 30s"} {
			if got := fails(class); got != want {
				t.Errorf("refusal %d of class %d: %s, want %s", i, class, got, want)
			}
		}
		if got := fails(classBusy); got != "wait 30s" {
			t.Errorf("the outage that goes on: %s, want wait 30s", got)
		}
	}
}

func TestRetryAfterIsTheLeastWait(t *testing.T) {
	m := testMachine(t, Options{})
	for retryAfter, want := range map[time.Duration]string{
		100 * time.Millisecond: "wait 800ms",
		17 * time.Second:       "wait 17s",
	} {
		in := failedWith(classBusy)
		in.failure.retryAfter = retryAfter
		s, effects := m.step(watching("5"), in)
		if got := trace(effects); got != want {
			t.Errorf("Retry-After %v: %s, want %s", retryAfter, got, want)
		}
		if s.retry.tries != 1 || !s.retry.until.Equal(epoch.Add(effects[0].delay)) {
			t.Errorf("retry is %+v", s.retry)
		}
	}
}
