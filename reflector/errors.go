package reflector

import (
	"errors"
	"fmt"
)

// Errors of this package; compare with errors.Is.
var (
	// ErrInvalidOptions is wrapped by New's error when an option is out of
	// range, or source or sink is missing, and by the errors of a Source whose
	// client is nil.
	ErrInvalidOptions = errors.New("invalid options")
	// ErrRunning is returned by Run while another Run of the same Reflector is
	// in progress.
	ErrRunning = errors.New("reflector is running already")
	// ErrListOverdue is reported in Status when a LIST was not answered within
	// Options.ListTimeout.
	ErrListOverdue = errors.New("list was not answered in time")
	// ErrWatchOverdue is reported in Status when the server did not end a watch
	// at its timeout: the connection is taken for dead.
	ErrWatchOverdue = errors.New("watch outlived its timeout")
	// ErrIdle is reported in Status when a watch was silent for
	// Options.IdleTimeout.
	ErrIdle = errors.New("watch was silent for too long")
	// ErrRewound is reported in Status when the server's newest state turned out
	// to be older than the last resourceVersion, while a watch was silent.
	ErrRewound = errors.New("server's history went back")
	// ErrNoInitialEventsEnd is reported in Status when a watch-list did not
	// end its initial events within Options.WatchListTimeout.
	ErrNoInitialEventsEnd = errors.New("watch-list did not end its initial events in time")
	// ErrRepeatedContinue is reported in Status when a server answers a page
	// with the token that asked for it, which would never end.
	ErrRepeatedContinue = errors.New("list page continues at itself")
	// ErrConnectionLost is returned by a Source when the connection broke
	// before the server answered.
	ErrConnectionLost = errors.New("connection lost before the answer")
	// ErrWrongType is wrapped by a DecodeError for an object that can be read
	// and is of another type than the collection's. It is reported in Status
	// and left out; the list or stream goes on.
	ErrWrongType = errors.New("object of another type")
	// ErrMalformed is wrapped by a DecodeError for what is not the expected
	// kind of answer: an unknown type of event, nothing at all.
	ErrMalformed = errors.New("malformed answer")
)

// DecodeError says that an answer arrived and could not be read. What it is
// about is lost, but the stream's resourceVersion is still good.
type DecodeError struct {
	// Subject is what was read: "list", "list item" or "watch event".
	Subject string
	// Err is the cause.
	Err error
}

// Error implements error.
func (e *DecodeError) Error() string { return fmt.Sprintf("decode %s: %v", e.Subject, e.Err) }

// Unwrap returns the cause.
func (e *DecodeError) Unwrap() error { return e.Err }

// malformed is a DecodeError about something that the decoder accepted.
func malformed(subject, format string, args ...any) error {
	return &DecodeError{Subject: subject, Err: fmt.Errorf("%w: "+format, append([]any{ErrMalformed}, args...)...)}
}
