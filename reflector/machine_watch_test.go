package reflector

import (
	"net/http"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/watch"
)

func TestAWatchMovesTheResourceVersionForward(t *testing.T) {
	at := func(resourceVersion string) func(state) bool {
		return func(s state) bool { return s.resourceVersion == resourceVersion }
	}
	progressed := func(s state) bool { return s.stream.progressed && s.stream.fruitless == 0 && s.retry.tries == 0 }
	replaying := func(s *state) { s.stream.replaying = true }
	tired := with(opened(watching("9")), func(s *state) { s.stream.fruitless, s.retry.tries = 2, 5 })
	runTable(t, []row{
		{name: "opening starts the healthy time", from: watching("5"), in: input{kind: inputOpened, at: epoch}, phase: Watching,
			effects: "next", check: func(s state) bool { return s.retry.healthySince.Equal(epoch) }},
		{name: "an event moves it", from: opened(watching("9")), in: event(watch.Modified, "10"), phase: Watching,
			effects: "deliver, next", check: at("10")},
		{name: "a bookmark moves it", from: opened(watching("9")), in: event(watch.Bookmark, "10"), phase: Watching,
			effects: `bookmark "10", next`, check: at("10")},
		{name: "an end of initial events is a bookmark here", from: opened(watching("9")), in: initialEnd("10"), phase: Watching,
			effects: `bookmark "10", next`, check: at("10")},
		{name: "a bookmark that says nothing new is no progress", from: tired, in: event(watch.Bookmark, "9"), phase: Watching,
			effects: "next", check: func(s state) bool { return !s.stream.progressed && s.stream.fruitless == 2 && s.retry.tries == 5 }},
		{name: "an event is a sign of life", from: tired, in: event(watch.Added, "10"), phase: Watching,
			effects: "deliver, next", check: progressed},
		{name: "an event from the past does not move it back", from: opened(watching("100")), in: event(watch.Modified, "99"),
			phase: Watching, effects: "deliver, next", check: at("100")},
		{name: "nor does a bookmark", from: opened(watching("100")), in: event(watch.Bookmark, "99"),
			phase: Watching, effects: "next", check: at("100")},
		{name: "0 is no version", from: opened(watching("9")), in: event(watch.Bookmark, "0"), phase: Watching,
			effects: "next", check: at("9")},
		{name: "versions that are no numbers follow the stream", from: opened(watching("abc")), in: event(watch.Modified, "abb"),
			phase: Watching, effects: "deliver, next", check: at("abb")},
		{name: "an event without a version is a sign of life", from: tired, in: event(watch.Added, ""), phase: Watching,
			effects: "deliver, next", check: func(s state) bool { return progressed(s) && s.resourceVersion == "9" }},
		{name: "what a watch at 0 repeats does not move it", from: with(opened(watching("0")), replaying), in: event(watch.Added, "7"),
			phase: Watching, effects: "deliver, next", check: func(s state) bool { return s.resourceVersion == "0" && s.stream.replaying }},
		{name: "the first other event does", from: with(opened(watching("0")), replaying), in: event(watch.Deleted, "12"),
			phase: Watching, effects: "deliver, next", check: func(s state) bool { return s.resourceVersion == "12" && !s.stream.replaying }},
		{name: "or a bookmark", from: with(opened(watching("0")), replaying), in: event(watch.Bookmark, "12"),
			phase: Watching, effects: `bookmark "12", next`, check: at("12")},
	})
}

func TestAWatchThatCannotBeOpened(t *testing.T) {
	relists := func(reason RelistReason) func(state) bool {
		return func(s state) bool { return s.retry.relist && s.reason == reason && !s.replacement.unavailable }
	}
	resumes := func(fruitless int) func(state) bool {
		return func(s state) bool {
			return !s.retry.relist && s.stream.fruitless == fruitless && s.resourceVersion == "5"
		}
	}
	rows := []row{
		{name: "410 relists after a backoff, and not for the newest state", from: watching("5"), in: failedWith(classExpired),
			phase: BackingOff, effects: "wait 800ms", check: relists(RelistExpired)},
		{name: "too large relists", from: watching("5"), in: failedWith(classTooLarge),
			phase: BackingOff, effects: "wait 800ms", check: relists(RelistTooLarge)},
		{name: "404 relists the newest state, as what comes may be another collection", from: watching("5"),
			in:    input{kind: inputFailed, at: epoch, failure: failure{class: classDenied, code: http.StatusNotFound}},
			phase: BackingOff, effects: "wait 800ms", check: func(s state) bool {
				return s.retry.relist && s.reason == RelistAppeared && s.replacement.unavailable && s.replacement.rewound
			}},
		{name: "no answer until overdue backs off", from: watching("5"), in: failedWith(classSilent),
			phase: BackingOff, effects: "wait 800ms", check: resumes(0)},
	}
	for class, name := range map[failureClass]string{
		classBusy: "429, 503 or refused", classDenied: "401 or 403", classTransport: "no connection",
	} {
		rows = append(rows, row{name: name + " resumes, however often",
			from: with(watching("5"), func(s *state) { s.stream.fruitless = 2 }), in: failedWith(class),
			phase: BackingOff, effects: "wait 800ms", check: resumes(2)})
	}
	for class, name := range map[failureClass]string{classServer: "500", classInvalid: "400", classDecode: "an unreadable answer"} {
		rows = append(rows,
			row{name: name + " resumes", from: watching("5"), in: failedWith(class),
				phase: BackingOff, effects: "wait 800ms", check: resumes(1)},
			row{name: name + " for the third time relists", from: with(watching("5"), func(s *state) { s.stream.fruitless = 2 }),
				in: failedWith(class), phase: BackingOff, effects: "wait 800ms", check: relists(RelistStalled)})
	}
	runTable(t, rows)
}

func TestAnOpenWatchThatEnds(t *testing.T) {
	relists := func(reason RelistReason) func(state) bool {
		return func(s state) bool { return s.retry.relist && s.reason == reason && !s.replacement.unavailable }
	}
	resumes := func(fruitless int) func(state) bool {
		return func(s state) bool {
			return !s.retry.relist && s.stream.fruitless == fruitless && s.resourceVersion == "5"
		}
	}
	open := opened(watching("5"))
	tired := with(open, func(s *state) { s.stream.fruitless = 2 })
	moved := with(open, func(s *state) { s.stream.progressed = true })
	rows := []row{
		{name: "410 relists after a backoff", from: moved, in: failedWith(classExpired),
			phase: BackingOff, effects: "close, wait 800ms", check: relists(RelistExpired)},
		{name: "too large relists", from: open, in: failedWith(classTooLarge),
			phase: BackingOff, effects: "close, wait 800ms", check: relists(RelistTooLarge)},
		{name: "orderly with progress resumes at once", from: moved, in: failedWith(classEnded),
			phase: Watching, effects: `close, rewatch "5"`},
		{name: "orderly after a while resumes at once", from: tired, in: later(earlyEnd, failedWith(classEnded)),
			phase: Watching, effects: `close, rewatch "5"`, check: resumes(0)},
		{name: "orderly but early backs off", from: open, in: later(earlyEnd-1, failedWith(classEnded)),
			phase: BackingOff, effects: "close, wait 800ms", check: resumes(1)},
		{name: "for the third time relists", from: tired, in: later(earlyEnd-1, failedWith(classEnded)),
			phase: BackingOff, effects: "close, wait 800ms", check: relists(RelistStalled)},
		{name: "silent resumes at once", from: tired, in: failedWith(classSilent),
			phase: Watching, effects: `close, rewatch "5"`, check: resumes(2)},
		{name: "a connection lost after a while resumes at once", from: tired, in: later(earlyEnd, failedWith(classTransport)),
			phase: Watching, effects: `close, rewatch "5"`, check: resumes(2)},
		{name: "a busy server is let alone", from: tired, in: failedWith(classBusy),
			phase: BackingOff, effects: "close, wait 800ms", check: resumes(2)},
		{name: "a withdrawn permission is waited for", from: tired, in: failedWith(classDenied),
			phase: BackingOff, effects: "close, wait 800ms", check: resumes(2)},
	}
	for class, name := range map[failureClass]string{
		classTransport: "lost connection", classDecode: "unreadable frame", classServer: "ERROR 500", classInvalid: "ERROR 400",
	} {
		rows = append(rows,
			row{name: name + " with progress resumes", from: moved, in: failedWith(class),
				phase: BackingOff, effects: "close, wait 800ms", check: resumes(0)},
			row{name: name + " without progress resumes", from: open, in: failedWith(class),
				phase: BackingOff, effects: "close, wait 800ms", check: resumes(1)},
			row{name: name + " for the third time relists", from: tired, in: failedWith(class),
				phase: BackingOff, effects: "close, wait 800ms", check: relists(RelistStalled)})
	}
	for class, name := range map[failureClass]string{classDecode: "unreadable frame", classServer: "ERROR 500"} {
		rows = append(rows, row{name: name + " counts however long the stream lasted", from: tired,
			in: later(time.Hour, failedWith(class)), phase: BackingOff, effects: "close, wait 800ms", check: relists(RelistStalled)})
	}
	runTable(t, rows)
}
