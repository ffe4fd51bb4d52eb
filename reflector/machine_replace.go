package reflector

import (
	"cmp"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/apimachinery/pkg/watch"
)

// maxWatchListAttempts is how many watch-lists in a row may break off before
// the collection is listed.
const maxWatchListAttempts = 3

// sync begins a replacement, by watch-list where that may work.
func (m machine) sync(s state, at time.Time, effects []effect) (state, []effect) {
	if m.watchList && !s.replacement.listOnly && !at.Before(s.replacement.avoidedUntil) {
		return m.startWatchList(s, effects)
	}
	return m.startList(s, effects)
}

// startWatchList asks for a state not older than the last known one, or for the
// newest.
func (m machine) startWatchList(s state, effects []effect) (state, []effect) {
	s.phase = WatchListing
	r := &s.replacement
	r.requested = s.resourceVersion
	if r.unavailable {
		r.requested = ""
	}
	return s, append(effects, effect{kind: effectOpen, resourceVersion: r.requested, initialEvents: true, reason: s.reason})
}

// startList asks for the first page: any state at first, or one not older than the
// options say, later one not older than the last known, or the newest after a
// refusal.
func (m machine) startList(s state, effects []effect) (state, []effect) {
	s.phase = Listing
	r := &s.replacement
	r.requested = ""
	if !r.unavailable {
		r.requested = cmp.Or(s.resourceVersion, m.notOlderThan, "0")
	}
	r.nextPage, r.unchunked = "", false
	r.limit = m.limit(s)
	return s, append(effects, firstPage(s))
}

// limit of a LIST at the requested resourceVersion: see Options.PageSize.
func (m machine) limit(s state) int64 {
	fromStorage := s.replacement.requested == "" || s.replacement.requested == "0"
	switch {
	case m.pageSize != 0:
		return m.pageSize
	case fromStorage || s.replacement.pagedByServer:
		return defaultPageSize
	default:
		return 0
	}
}

// firstPage asks for the first page of the LIST in s.
func firstPage(s state) effect {
	r := s.replacement
	return effect{
		kind: effectList, resourceVersion: r.requested, limit: r.limit, reason: s.reason,
		// A limit without a match would mean exactly this version.
		notOlderThan: r.limit > 0 && r.requested != "" && r.requested != "0",
	}
}

// begin opens the Sink's bracket unless it is open.
func (s *state) begin(effects []effect) []effect {
	if s.replacement.replacing {
		return effects
	}
	s.replacement.replacing = true
	return append(effects, effect{kind: effectBegin, reason: s.reason})
}

// part takes in some items of a page.
func (m machine) part(s state) (state, []effect) {
	if s.replacement.replacing {
		return s, effectsPart
	}
	return s, append(s.begin(nil), effectsPart...)
}

// page takes a page in, and asks for the next or goes over to watching.
func (m machine) page(s state, in input) (state, []effect) {
	r := &s.replacement
	effects := append(s.begin(nil), effect{kind: effectItems})
	if token := in.page.continueToken; token != "" {
		if r.requested == "0" && r.nextPage == "" {
			r.pagedByServer = true
		}
		r.nextPage = token
		return s, append(effects, effect{kind: effectList, limit: r.limit, token: token})
	}
	effects = s.completeReplacement(in.page.resourceVersion, effects)
	return m.watch(s, effects, false)
}

// listFailed decides what follows a refused or broken LIST.
//
//	410 on a later page            → once again without pages, same resourceVersion
//	410 or too large               → at once for the newest state, once
//	404, and the resource is gone  → let go of the collection, wait for the resource
//	anything else, or those again  → back off, replace
func (m machine) listFailed(s state, in input) (state, []effect) {
	effects := s.abort(nil)
	r := &s.replacement
	class := in.failure.class
	switch {
	case class == classExpired && r.nextPage != "" && !r.unchunked:
		r.nextPage, r.unchunked, r.limit = "", true, 0
		return s, append(effects, firstPage(s))
	case class.refusesVersion() && r.requested != "":
		r.unavailable, r.rewound = true, r.rewound || class == classTooLarge
		return m.startList(s, effects)
	case in.failure.absent:
		return m.absent(s, in, effects)
	}
	return m.backOff(s, in, true, effects)
}

// initialEvent takes in an event before the end of the initial ones. Objects
// may already change: the last state of a key wins. A deletion cannot be taken
// back out of the bracket, so from the first one on all events are held, and
// the replacement is what was true just before it.
func (m machine) initialEvent(s state, in input) (state, []effect) {
	event, r := in.event, &s.replacement
	switch {
	case event.eventType == watch.Bookmark && event.initialEventsEnd:
		return s.endWatchList(in)
	case event.eventType == watch.Bookmark:
		return s, effectsNext
	case r.held != "":
		return s, effectsHold
	case event.eventType == watch.Deleted:
		before, ok := precedingVersion(event.resourceVersion)
		if !ok { // no way to say what the items before it are
			effects := s.abort(s.leaveStream(nil))
			r.listOnly = true
			return m.startList(s, effects)
		}
		r.held = before
		return s, effectsHold
	}
	return s, effectsItem
}

// endWatchList completes the replacement and goes on with the same stream.
func (s state) endWatchList(in input) (state, []effect) {
	held, resourceVersion := s.replacement.held, in.event.resourceVersion
	at := resourceVersion
	if held != "" {
		at = held
	}
	effects := s.completeReplacement(at, nil)
	if held != "" {
		effects = append(effects, effect{kind: effectRelease})
		if s.advance(resourceVersion) {
			effects = append(effects, effect{kind: effectBookmark, resourceVersion: resourceVersion})
		}
	}
	s.phase = Watching
	s.stream.heard, s.stream.progressed, s.stream.replaying = true, true, false
	s.retry.healthySince = in.at
	return s, append(effects, effect{kind: effectNext})
}

// watchListFailed decides what follows a watch-list that was refused or broke
// off.
//
//	410 or too large                → at once for the newest state, once
//	no end in time, 400 406 415 422 → list, and remember
//	429 503 504, refused connection → back off, watch-list again
//	other refusals (401 403 404 …)  → list, this time
//	broken off                      → back off; the third time list, and
//	                                  remember if the server ended it
//
// A list is put off for as long as the server wants to be left alone.
func (m machine) watchListFailed(s state, in input) (state, []effect) {
	wasOpen := s.stream.open
	effects := s.abort(s.leaveStream(nil))
	r, class := &s.replacement, in.failure.class
	if class.refusesVersion() && r.requested != "" {
		r.unavailable, r.rewound = true, r.rewound || class == classTooLarge
		return m.startWatchList(s, effects)
	}
	lacks, refused := false, false
	switch class {
	case classNoInitialEnd:
		lacks = wasOpen
	case classInvalid:
		lacks = !wasOpen
	case classDenied, classServer:
		refused = !wasOpen
	}
	if !lacks && !refused && !class.refusesVersion() && class != classBusy {
		r.attempts++
		lacks = r.attempts >= maxWatchListAttempts && class == classEnded
		refused = r.attempts >= maxWatchListAttempts
	}
	switch {
	case lacks:
		r.avoidedUntil, r.attempts = in.at.Add(m.watchListAvoided), 0
	case refused:
		r.listOnly, r.attempts = true, 0
	}
	if (lacks || refused) && in.failure.retryAfter == 0 {
		return m.startList(s, effects)
	}
	return m.backOff(s, in, true, effects)
}

// completeReplacement ends the bracket at resourceVersion.
func (s *state) completeReplacement(resourceVersion string, effects []effect) []effect {
	order, err := resourceversion.CompareResourceVersion(resourceVersion, s.resourceVersion)
	if err == nil && order < 0 || s.reason == RelistRewound {
		effects = append(effects, effect{kind: effectRewound})
	}
	effects = append(effects, effect{kind: effectEnd, resourceVersion: resourceVersion, reason: s.reason})
	s.resourceVersion, s.synced, s.reason = resourceVersion, true, ""
	s.replacement = replacement{
		pagedByServer: s.replacement.pagedByServer,
		avoidedUntil:  s.replacement.avoidedUntil,
	}
	s.stream.fruitless, s.doubt = 0, doubt{}
	s.retry.tries, s.retry.relist = 0, false
	return effects
}

// precedingVersion is the resourceVersion just before a given one. Only the
// integers that servers promise since 1.35 have one.
func precedingVersion(resourceVersion string) (string, bool) {
	n, err := strconv.ParseUint(resourceVersion, 10, 64)
	if err != nil || n < 2 {
		return "", false
	}
	return strconv.FormatUint(n-1, 10), true
}
