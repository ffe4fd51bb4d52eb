package factory

import "errors"

// Errors of this package, to be found with errors.Is.
var (
	// ErrInvalidOptions: options that make no sense, or are for another type than
	// the informer's.
	ErrInvalidOptions = errors.New("invalid options")
	// ErrUnknownKind: the scheme does not know the type, or knows it by several
	// kinds, so that its resource must be told with WithResource.
	ErrUnknownKind = errors.New("resource of the type is not known")
	// ErrConflict: an informer of this collection exists, and differs from what is
	// asked for in what all its users see, such as the transform.
	ErrConflict = errors.New("informer exists with other options")
)
