package reflector

import (
	"time"

	"k8s.io/apimachinery/pkg/util/resourceversion"
)

// maxQuiet is how many watches in a row may last and bring nothing before the
// server is asked where it is.
const maxQuiet = 2

// doubt is the part of state that concerns whether the server is still the one
// that gave the last resourceVersion. One that was restored from a backup, or
// replaced by another, accepts a watch at a version that it has not reached, and is
// silent, as one at rest is: only the answer to a LIST tells the two apart.
type doubt struct {
	// lost: a connection was lost or refused, and since then nothing came, nor was
	// the server asked.
	lost bool
	// away: in that time nobody was there to answer a request. The server may have
	// been replaced, and may soon have passed the last resourceVersion.
	away bool
	// quiet watches in a row lasted and brought neither event nor bookmark.
	quiet int
	// askedAt is when the server was last asked.
	askedAt time.Time
}

// probe has the server asked where it is, if there is reason for doubt: at once if
// it was away (the wait before this try has spread a fleet), else if nothing comes
// on the watch that was opened. A version that is no number cannot be compared with
// the answer.
func (m machine) probe(s state, in input) (state, []effect) {
	if m.probeAfter == 0 || !s.doubt.lost && s.doubt.quiet < maxQuiet {
		return s, effectsNext
	}
	if _, err := resourceversion.CompareResourceVersion(s.resourceVersion, s.resourceVersion); err != nil {
		return s, effectsNext
	}
	delay := m.probeAfter + time.Duration(in.random*float64(m.probeAfter))
	if s.doubt.away {
		delay = 0
	}
	s.stream.probeAt = in.at.Add(delay)
	return s, []effect{{kind: effectProbe, resourceVersion: s.resourceVersion, delay: delay}, {kind: effectNext}}
}

// weigh finds reasons for doubt in how a watch was refused or ended.
//
//	lost                             → doubt
//	refused, answered by nobody      → doubt, in the latter case that the server was away
//	ended in order before its time   → doubt, as clients of client-go hide a lost connection in that,
//	                                   but no sooner than WatchTimeout after the last question: proxies do it every minute
//	ended in order, or by patience   → doubt if it lasted and was silent, as the one before
//	410, too large, 429, unreadable  → none: the server is up, and something else is the matter
func (m machine) weigh(s *state, in input, wasOpen bool) {
	asked := !s.stream.probeAt.IsZero() && !in.at.Before(s.stream.probeAt)
	if wasOpen && (s.stream.heard || asked) {
		s.doubt = doubt{askedAt: s.doubt.askedAt}
		if !s.stream.heard {
			s.doubt.askedAt = s.stream.probeAt
		}
	}
	lived := in.at.Sub(s.stream.openedAt)
	class := in.failure.class
	switch {
	case class.refusesVersion(), class == classDecode, in.failure.throttled():
	case wasOpen && (class == classEnded || class == classSilent):
		if !s.stream.heard && (lived >= earlyEnd || class == classSilent) {
			s.doubt.quiet++
		}
		if class == classEnded && lived < m.watchTimeout && in.at.Sub(s.doubt.askedAt) >= m.watchTimeout {
			s.doubt.lost = true
		}
	default:
		s.doubt.lost, s.doubt.away = true, s.doubt.away || !wasOpen && in.failure.code == 0
	}
}
