package wire

import (
	"errors"
	"fmt"
)

// Errors of this package; compare with errors.Is.
var (
	// ErrSyntax is wrapped by errors about input that is neither whole nor the
	// beginning of what was expected.
	ErrSyntax = errors.New("syntax error")
	// ErrTooLong is wrapped by errors about a frame or item above MaxItem.
	ErrTooLong = errors.New("object is too long")
)

// MaxItem is the length in bytes up to which a frame or item is read. Servers
// refuse to store objects of more than a few megabytes.
const MaxItem = 64 << 20

// Splitter cuts a stream into frames or items.
type Splitter interface {
	// Split looks at data, the unread rest of what arrived so far. It returns
	// how much of it is done with, and the item that this ends, if it ends one.
	// Zero says that more data is needed; Split is then called again with all of
	// data and more. idle says that there is no more at hand, so that a decision
	// which more data would make easier is to be made now.
	Split(data []byte, idle bool) (advance int, item []byte, err error)
	// End is asked when the stream is over and data could not be split. It
	// returns nil if the stream may end there, and io.ErrUnexpectedEOF if it was
	// cut.
	End(data []byte) error
}

// syntax is an ErrSyntax.
func syntax(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrSyntax}, args...)...)
}
