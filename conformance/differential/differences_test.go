package differential

import (
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/resourceversion"
)

// difference is one way in which we deliberately behave other than client-go.
type difference struct {
	name string
	// subject is what the difference is about, theirs and ours what the two do.
	subject, theirs, ours string
	// explains reports whether it is the reason why a line is on one side only.
	explains func(view) bool
}

// differences are all of them. The first ones are what the client half is for,
// the rest, after the empty line, are details; the doc.go of packages reflector
// and informer have them all.
var differences = []difference{
	{"transform-once", "transform under watch-list", "runs twice", "exactly once per received object", transformOnce},
	{"resume", "lost connection, decode error, short watch", "relist",
		"resume from the last version; relist when that fails repeatedly", resume},
	{"quiet-relist", "a relist and unchanged objects", "tells every handler", "tells nobody", quietRelist},
	{"new-uid", "same key, new UID", "one update, or a delete of another object", "delete of the old, add of the new", newUID},
	{"delete-payload", "what comes with a delete", "object or tombstone in any", "Deleted{Last, Exact}", deletePayload},
	{"slow-handler", "a slow handler", "unbounded, unseen", "its depth is told; bounded where it wants the latest state only", slowHandler},
	{"watch-list-fallback", "watch-list without end, or not understood", "again and again, without backoff; or waits for ever",
		"deadline, fallback to list, remembered", watchListFallback},
	{"sync-cause", "failing to sync", "a bool", "an error that says phase, tries, status, verb", asked("why")},
	{"object-errors", "the transform fails for an object", "the object is lost, or the replacement with it",
		"reported, retried at the next list; nothing else is lost", objectErrors},
	{"backoff", "the backoff", "begins anew in an outage; does not honour Retry-After, nor the end of a watch-list's context",
		"begins anew after two healthy minutes; honours both", backoff},
	{"read-own-writes", "reading what was written", "the store's version", "WaitFor", asked("wait")},
	{"rewind", "the server's history goes back", "unnoticed", "reported", trouble("rewinds")},
	{"restart", "run again after a stop", "refused", "lists anew and tells the differences", restart},

	{"unreadable-event", "an event of an unknown type, or without an object", "left out", "the watch is resumed at the last version", unreadable},
	{"no-spin", "a watch that ends early without progress, or a watch-list refused as expired twice", "again at once", "again after a backoff", noSpin},
	{"watch-list-retry", "a watch-list that fails for a passing cause", "list at once", "again after a backoff, list after three tries", watchListRetry},
	{"paged-newest", "the list of the newest state after a refused list at a known version", "unpaged", "in pages", pagedNewest},
	{"paged-for-good", "a first list refused at 0, then paged at the newest state", "all later lists are paged", "they are not", pagedForGood},
	{"not-older-than", "a limit at a known version", "without a match, which means exactly that version", "not older than it", notOlderThan},
	{"typed-list", "a list of other objects", "taken for the collection, without a version", "an error", typedList},
	{"version-never-back", "an event with an older version than the last", "the watch is resumed there", "the version stays", versionNeverBack},
	{"watch-from-0", "the watch after a list without a version", `at ""`, `at "0"`, watchFrom0},
	{"list-timeout", "a list that is never answered", "waited for for ever", "given up after five minutes", listTimeout},
	{"overdue", "a watch that the server does not end at its timeout", "waited for for ever", "given up after half a minute more", overdue},
	{"initial-delete", "a deletion among the initial events", "never was there", "the state before it, then the deletion", initialDelete},
	{"resync-period", "a handler's resync period", "none if the informer has none, not shorter than the informer's once that runs, raised to a second",
		"its own; below a second it is refused", resyncPeriod},
	{"resync-clock", "a relist between two resyncs", "the period begins anew", "the period goes on", resyncAgain},
	{"probe", "a server that went back, or may have, and is silent", "waited for", "asked for one item, and listed if it did", probe},
	{"unknown-delete", "a deletion of an object that is not known", "told", "not told", unknownDelete},
}

// parts of the text of a request.
var (
	gapPart     = regexp.MustCompile(`^after \S+ `)
	versionPart = regexp.MustCompile(` at "\d*"`)
	stampPart   = regexp.MustCompile(` stamped \d+`)
)

// without is a text that lacks a part.
func without(part *regexp.Regexp, text string) string { return part.ReplaceAllString(text, "") }

// sameWithout reports whether the other side has the same line but for a part.
func (v view) sameWithout(parts ...*regexp.Regexp) bool {
	strip := func(text string) string {
		for _, part := range parts {
			text = without(part, text)
		}
		return text
	}
	return slices.ContainsFunc(v.others, func(l line) bool { return strip(l.text) == strip(v.line().text) })
}

func (v view) inHandler() bool { return strings.HasPrefix(v.section, "handler ") }

// cause is the failure that led to a request: that of the one before, where
// what came between succeeded.
func (v view) cause() *request {
	for i := v.i - 1; i >= 0; i-- {
		if r := v.lines[i].request; r.verb != "LIST" || !strings.Contains(r.outcome, " at ") {
			return r
		}
	}
	return nil
}

// failedWith reports whether a request ended in one of some ways.
func (r *request) failedWith(verb string, outcomes *regexp.Regexp) bool {
	if r == nil {
		return false
	}
	is := r.verb
	if r.synced {
		is = "WATCH"
	}
	return is == verb && outcomes.MatchString(r.outcome)
}

// saw reports whether a side made a request that ended in one of some ways.
func (v view) saw(s side, verb string, outcomes *regexp.Regexp) bool {
	return slices.ContainsFunc(v.requests[s], func(l line) bool { return l.request.failedWith(verb, outcomes) })
}

// neverSynced reports whether the line is there, or not, because one side never
// synced.
func (v view) neverSynced() bool {
	switch {
	case v.inHandler():
		return v.side == ours && len(v.opposite) == 0
	case v.section == "store":
		return v.side == theirs && strings.HasPrefix(v.line().text, `at "":`) ||
			v.side == ours && strings.HasPrefix(v.opposite[0].text, `at "":`)
	case v.section == "asked":
		return strings.HasPrefix(v.line().text, "synced: ")
	}
	return false
}

func transformOnce(v view) bool { return v.sameWithout(stampPart) }

// resumable are ends of a watch that say nothing against its version.
var resumable = regexp.MustCompile(`^(4(00|01|03|04|15|22)|50\d|reset|broken|nil|closed at once|ERROR (4(01|03)|50\d|undecodable))`)

func resume(v view) bool {
	return v.section == "requests" && v.cause().failedWith("WATCH", resumable)
}

func unreadable(v view) bool {
	if v.section != "requests" || v.line().request.verb != "WATCH" {
		return false
	}
	hungUp := regexp.MustCompile(`^hung up after \d`)
	return v.side == theirs && v.line().request.outcome == "" && len(v.others) == 2 ||
		v.side == ours && (v.line().request.failedWith("WATCH", hungUp) || v.cause().failedWith("WATCH", hungUp))
}

func quietRelist(v view) bool {
	return v.inHandler() && v.side == theirs && v.line().call.op == "update" && v.line().call.old == v.line().call.new
}

// uidOf is the part of a described object that tells its UID.
func uidOf(described string) string {
	name, _, _ := strings.Cut(described, "@")
	return name
}

func newUID(v view) bool {
	if !v.inHandler() {
		return false
	}
	c := v.line().call
	before := "" // what the handler was told last of the key
	for _, l := range v.lines[:v.i] {
		if l.call.key == c.key {
			before = l.call.new + l.call.old
		}
	}
	if v.side == theirs {
		return c.op == "update" && uidOf(c.old) != uidOf(c.new) || c.op == "delete" && before != "" && uidOf(c.old) != uidOf(before)
	}
	return c.op == "delete" && c.missed && len(v.others) > 0 || c.op == "add" && before != "" && uidOf(c.new) != uidOf(before)
}

func deletePayload(v view) bool { return v.inHandler() && v.line().call.payload != "" }

// trouble explains what is known of trouble, where it has the word.
func trouble(word string) func(view) bool {
	return func(v view) bool {
		lines := append([]line{v.line()}, v.others...)
		return v.section == "asked" && strings.HasPrefix(v.line().text, "trouble: ") &&
			slices.ContainsFunc(lines, func(l line) bool { return strings.Contains(l.text, word) })
	}
}

func slowHandler(v view) bool {
	return trouble("behind")(v) || v.inHandler() && v.line().call.latestOnly
}

func asked(question string) func(view) bool {
	return func(v view) bool { return v.section == "asked" && strings.HasPrefix(v.line().text, question+": ") }
}

// endless are ends of a watch-list that does not end, or is not understood.
var endless = regexp.MustCompile(`^(closed|hung up|400|415|422|$)`)

func watchListFallback(v view) bool {
	if v.section != "requests" {
		return v.neverSynced() && v.saw(theirs, "WATCH-LIST", endless)
	}
	r := v.line().request
	switch {
	case r.failedWith("WATCH-LIST", endless), v.cause().failedWith("WATCH-LIST", endless):
		return true
	}
	// One that is refused is replaced by a list until that works.
	refused := regexp.MustCompile(`^(40[1345]|500)`)
	if v.lines[0].request.failedWith("WATCH-LIST", refused) {
		return v.side == ours && r.verb == "LIST" || v.side == theirs && (r.verb == "WATCH-LIST" || v.previous().failedWith("WATCH-LIST", refused))
	}
	// Later relists do without, on our side.
	return (v.side == ours || r.verb == "WATCH-LIST") && v.lines[0].request.failedWith("WATCH-LIST", endless)
}

// objectErrors: when a list's transform fails, client-go lists again and again.
func objectErrors(v view) bool {
	if v.section != "requests" {
		return v.neverSynced() || trouble("failed")(v) || trouble("none")(v)
	}
	r, listed := v.line().request, regexp.MustCompile(` at "\d+"$`)
	return v.previous().failedWith("LIST", listed) && (v.side == theirs && r.verb == "LIST" || v.side == ours && r.verb == "WATCH")
}

func backoff(v view) bool {
	if v.section == "asked" {
		return v.side == theirs && strings.HasPrefix(v.line().text, "stopping took")
	}
	return v.section == "requests" && v.line().request.gap > 0 && v.sameWithout(gapPart)
}

// restart explains all that is in a second run.
func restart(v view) bool {
	l, requests := v.line(), v.requests[ours]
	again := len(requests) > 0 && requests[len(requests)-1].request.run > 1
	return l.request != nil && l.request.run > 1 || l.call != nil && l.call.run > 1 || again && v.section == "store"
}

var early = regexp.MustCompile(`^closed`)

func noSpin(v view) bool {
	nowhere := v.previous().failedWith("WATCH", early) || v.previous().failedWith("WATCH-LIST", regexp.MustCompile(`^410$`))
	return v.section == "requests" && nowhere && v.sameWithout(gapPart)
}

// passing are ends of a watch-list with a passing cause.
var passing = regexp.MustCompile(`^(50[34]|reset|broken|nil|closed at once|ERROR (500|undecodable))`)

func watchListRetry(v view) bool {
	return v.section == "requests" && v.cause().failedWith("WATCH-LIST", passing)
}

func pagedNewest(v view) bool {
	r := v.line().request
	if r == nil || r.verb != "LIST" || r.options.ResourceVersion != "" || r.isProbe() {
		return false
	}
	return v.side == theirs && r.options.Limit == 0 || v.side == ours && r.options.Limit > 0
}

// probe explains the request, how the watch goes on, the replacement and the watch that follow it if the
// server's history went back, and what that brings.
func probe(v view) bool {
	if v.section == "requests" { // the watch that is ended comes before the probe
		return v.side == ours && slices.ContainsFunc(v.lines[max(0, v.i-2):min(len(v.lines), v.i+2)], line.isProbe) ||
			v.side == theirs && v.line().request.verb == "WATCH" && slices.ContainsFunc(v.others, line.isProbe)
	}
	return (v.section == "store" || v.inHandler() && v.side == ours) && slices.ContainsFunc(v.requests[ours], line.isProbe)
}

func (l line) isProbe() bool { return l.request.isProbe() }

func pagedForGood(v view) bool {
	if v.section != "requests" || !v.lines[0].request.failedWith("LIST", regexp.MustCompile(`^(410|too-large)`)) {
		return false
	}
	r := v.line().request
	return r.verb == "LIST" && (v.side == theirs) == (r.options.Limit > 0)
}

func notOlderThan(v view) bool {
	r := v.line().request
	return r != nil && r.options.Limit > 0 && v.sameWithout(regexp.MustCompile(` match=NotOlderThan`))
}

func watchFrom0(v view) bool {
	return v.section == "requests" && v.line().request.verb == "WATCH" && v.previous().failedWith("LIST", regexp.MustCompile(` at ""$`))
}

// typedList: everything after the list is another story.
func typedList(v view) bool {
	wrong := regexp.MustCompile(`^Secrets$`)
	if v.section == "requests" {
		return v.previous().failedWith("LIST", wrong) || v.cause().failedWith("LIST", wrong)
	}
	return v.saw(theirs, "LIST", wrong) && (v.inHandler() && v.side == theirs || v.section == "store")
}

// versionNeverBack: where client-go's goes back, everything since comes again.
func versionNeverBack(v view) bool {
	if v.section == "requests" {
		return v.line().request.verb == "WATCH" && v.sameWithout(versionPart) && v.cause().failedWith("WATCH", early)
	}
	back := false
	for i, l := range v.requests[theirs] {
		back = back || i > 0 && before(l.request, v.requests[theirs][i-1].request)
	}
	return back && (v.inHandler() && v.side == theirs && v.line().call.op == "update" || v.section == "store")
}

// before reports whether a request is at an older version than another.
func before(a, b *request) bool {
	order, err := resourceversion.CompareResourceVersion(a.options.ResourceVersion, b.options.ResourceVersion)
	return err == nil && order < 0
}

func listTimeout(v view) bool {
	gaveUp := regexp.MustCompile(`^given up after 5m0s`)
	if v.section != "requests" {
		return v.neverSynced() && v.saw(ours, "LIST", gaveUp)
	}
	r := v.line().request
	if v.side == theirs {
		return r.verb == "LIST" && r.outcome == ""
	}
	return r.failedWith("LIST", gaveUp) || v.cause().failedWith("LIST", gaveUp)
}

func overdue(v view) bool {
	hungUp := regexp.MustCompile(`its timeout and a margin`)
	if v.section == "requests" {
		return v.side == ours && v.line().request.failedWith("WATCH", hungUp)
	}
	return v.saw(ours, "WATCH", hungUp) && (v.section == "store" || v.inHandler() && v.side == ours)
}

func initialDelete(v view) bool {
	if !v.inHandler() {
		return false
	}
	c := v.line().call
	if v.side == theirs {
		return c.op == "add" && c.initial
	}
	return c.op == "add" || c.op == "delete" && !c.missed
}

// resyncAgain: we resync where client-go does not.
func resyncAgain(v view) bool {
	return v.inHandler() && v.side == ours && v.line().call.op == "update" && v.line().call.old == v.line().call.new
}

func resyncPeriod(v view) bool {
	if v.inHandler() && v.side == theirs {
		return len(v.opposite) == 0 // ours was refused
	}
	return resyncAgain(v) || v.section == "asked" && strings.HasPrefix(v.line().text, "add ")
}

func unknownDelete(v view) bool {
	if !v.inHandler() || v.side != theirs || v.line().call.op != "delete" {
		return false
	}
	return !slices.ContainsFunc(v.lines[:v.i], func(l line) bool { return l.call.key == v.line().call.key })
}
