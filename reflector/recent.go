package reflector

import (
	"slices"
	"time"
)

// maxRecent bounds Status.Recent.
const maxRecent = 16

// Disconnect is the end of a stream, or a failure that led to a relist.
type Disconnect struct {
	// Time of it.
	Time time.Time
	// Reason in few words, such as "ended by the server" or "connection lost".
	Reason string
	// Err is the error that was seen; nil for a relist that was asked for.
	Err error
	// Lasted is how long the stream had been open; zero if it was refused.
	Lasted time.Duration
	// Relist is the reason of the replacement that follows; "" where a watch
	// resumes at the last resourceVersion.
	Relist RelistReason
}

// disconnect makes an entry of the step from before to after; false if it is
// none: failures to open a stream, or to list, that are merely tried again.
func disconnect(before, after state, in input) (Disconnect, bool) {
	if in.kind != inputFailed && in.kind != inputForced {
		return Disconnect{}, false
	}
	relists := after.phase != Watching && !(after.phase == BackingOff && !after.retry.relist)
	begins := relists && before.phase == Watching
	if !before.stream.open && !begins {
		return Disconnect{}, false
	}
	entry := Disconnect{Time: in.at, Reason: in.failure.class.String(), Err: in.failure.err}
	if in.kind == inputForced {
		entry.Reason = string(RelistForced)
	}
	if before.stream.open {
		entry.Lasted = in.at.Sub(before.stream.openedAt)
	}
	if relists {
		entry.Relist = after.reason
	}
	return entry, true
}

// note adds to the ring, and drops what is too old for it.
func (s *Status) note(entry Disconnect) {
	if len(s.Recent) >= maxRecent {
		s.Recent = slices.Delete(s.Recent, 0, len(s.Recent)-maxRecent+1)
	}
	s.Recent = append(s.Recent, entry)
}

// String is the class in few words.
func (c failureClass) String() string {
	names := [...]string{
		classServer: "server error", classExpired: "expired", classTooLarge: "resourceVersion too large",
		classBusy: "server busy", classDenied: "denied", classInvalid: "request not understood",
		classTransport: "connection lost", classDecode: "unreadable answer", classEnded: "ended by the server",
		classSilent: "silent", classNoInitialEnd: "no end of initial events",
		classRewound: "history went back",
	}
	if int(c) >= len(names) {
		return "unknown"
	}
	return names[c]
}
