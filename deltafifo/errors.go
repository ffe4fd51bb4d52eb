package deltafifo

import "errors"

var (
	// ErrClosed is what Pop returns once the queue was closed and everything
	// that was pending has been popped.
	ErrClosed = errors.New("deltafifo: queue is closed")

	// ErrInvalidOptions is wrapped by what New panics with for Options that
	// make no sense.
	ErrInvalidOptions = errors.New("deltafifo: invalid options")
)
