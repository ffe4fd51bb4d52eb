package informer

import "errors"

// Errors of this package, to be found with errors.Is; what is returned also
// names the informer.
var (
	// ErrRunning: Run was called while another Run of the same Informer had not
	// returned.
	ErrRunning = errors.New("informer is already running")
	// ErrStopped: the Informer stopped, so that what was waited for will not
	// happen in this run.
	ErrStopped = errors.New("informer has stopped")
	// ErrNotSynced: the wait for the first complete list ended before the list
	// was applied. The error is a *SyncError.
	ErrNotSynced = errors.New("informer has not synced")
	// ErrDenied: a wait with FailFast ended because the server answered 401, 403
	// or 404, which does not mend itself.
	ErrDenied = errors.New("the server denies it")
	// ErrInvalidResourceVersion: not a resourceVersion that can be compared,
	// that is, not a positive decimal number.
	ErrInvalidResourceVersion = errors.New("invalid resourceVersion")
	// ErrInvalidOptions: New was called without a source, or with options that
	// make no sense; AddHandler without a handler; Watch without a snapshot; or
	// WaitForSync of a nil informer.
	ErrInvalidOptions = errors.New("invalid options")
	// ErrRemoved: the handler was removed, so that it will not see what was waited
	// for.
	ErrRemoved = errors.New("handler was removed")
	// ErrExited: Run ended because a function that the Informer called, such as an
	// index function, a transform or a source, ended its goroutine with
	// runtime.Goexit, as FailNow of package testing does. The error names it.
	ErrExited = errors.New("a function has ended a goroutine of the informer (runtime.Goexit)")
	// ErrTransform: the transform failed for an object.
	ErrTransform = errors.New("transform failed")
	// ErrDrop is what a transform returns to say that the object is not to be
	// cached. It is no failure.
	ErrDrop = errors.New("object is not to be cached")
)
