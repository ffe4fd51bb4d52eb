package clientgo

import "errors"

// Errors of this package, to be found with errors.Is.
var (
	// ErrStarted: what can only be set before the start was set after it.
	ErrStarted = errors.New("informer has already started")
	// ErrStopped: the informer has stopped, and is never started again.
	ErrStopped = errors.New("informer has stopped already")
	// ErrForeign: the registration is not one of this package's.
	ErrForeign = errors.New("not a registration of this informer")
	// ErrIndexExists: an index of that name exists already.
	ErrIndexExists = errors.New("indexer conflict")
	// ErrUnknownIndex: there is no index of that name.
	ErrUnknownIndex = errors.New("index does not exist")
	// ErrNoInformer: a factory's client cannot list and watch a type.
	ErrNoInformer = errors.New("the factory's client has no such collection")
	// ErrLate: a factory was asked for a type before the type was registered.
	ErrLate = errors.New("the factory has an informer of another make already")
	// ErrScope: a factory and its Scope do not agree.
	ErrScope = errors.New("scope is not the factory's")
)
