package informertest

import "errors"

// Errors of this package, to be found with errors.Is.
var (
	// ErrIllegal: a trace contradicts the history. The error is a *Violation.
	ErrIllegal = errors.New("illegal trace")
	// ErrHistory: what was to be recorded does not continue the history: a
	// resourceVersion that is no number or goes back, a key that appears twice,
	// or changes without having appeared.
	ErrHistory = errors.New("not a continuation of the history")
	// ErrWatchEnded: a watch that History.Follow recorded ended by itself.
	ErrWatchEnded = errors.New("the watch has ended")
	// ErrAttached: a Recorder records one registration only.
	ErrAttached = errors.New("recorder is attached already")
	// ErrNotQuiet: the informers did not come to rest in time.
	ErrNotQuiet = errors.New("not quiet")
)
