package informer

import (
	"fmt"
	"strings"
	"time"
)

// SyncError says why an Informer has not synced. It wraps ErrNotSynced, the
// reason why the wait ended, and the last error of the reflector.
type SyncError struct {
	// Status is that of the Informer when the wait ended.
	Status Status
	// Cause is why the wait ended: the context's error, ErrStopped or ErrDenied.
	Cause error
}

// Error names the informer, its phase and since when, the number of failures in
// a row, and the last error, with HTTP status and reason if the server sent it,
// and what that means: the permission or resource that is missing.
func (e *SyncError) Error() string {
	s := &e.Status
	var b strings.Builder
	fmt.Fprintf(&b, "informer %q has not synced: %s since %s", s.Name, s.Phase, s.Since.UTC().Format(time.RFC3339))
	for _, part := range s.Parts {
		if part.Name != "" {
			fmt.Fprintf(&b, "; part %q %s", part.Name, part.Reflector.Phase)
		}
		describeSource(&b, part)
	}
	fmt.Fprintf(&b, ": %v", e.Cause)
	return b.String()
}

// describeSource writes what keeps one reflector.
func describeSource(b *strings.Builder, source PartStatus) {
	fmt.Fprintf(b, ", %s", failedTries(source.Reflector.Tries))
	if last := source.Reflector.LastError; last != nil {
		fmt.Fprintf(b, ", last error: %s", describe(last))
	}
	if denial, ok := denialOf(source.Reflector, source.Collection); ok {
		fmt.Fprintf(b, " [%s]", denial)
	}
}

func failedTries(n int) string {
	if n == 1 {
		return "1 failed try"
	}
	return fmt.Sprintf("%d failed tries", n)
}

// Denials are what the server refuses at present, and will go on refusing until
// somebody acts; none if something else keeps the Informer.
func (e *SyncError) Denials() []Denial { return e.Status.denials() }

func (s *Status) denials() []Denial {
	var denials []Denial
	for _, source := range s.Parts {
		if denial, ok := denialOf(source.Reflector, source.Collection); ok {
			denials = append(denials, denial)
		}
	}
	return denials
}

// Unwrap gives errors.Is and errors.As all that the error is made of.
func (e *SyncError) Unwrap() []error {
	errs := []error{ErrNotSynced, e.Cause}
	for _, source := range e.Status.Parts {
		if source.Reflector.LastError != nil {
			errs = append(errs, source.Reflector.LastError)
		}
	}
	return errs
}
