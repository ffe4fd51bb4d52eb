package golden

import "errors"

var (
	// ErrScenario says that a scenario file does not follow the format.
	ErrScenario = errors.New("golden: invalid scenario")
	// ErrTemplate says that a template cannot be expanded: an unknown variable,
	// wrong arguments, or a result that is too large.
	ErrTemplate = errors.New("golden: cannot expand template")
	// ErrPath says that a path into an answer does not follow the syntax.
	ErrPath = errors.New("golden: invalid path")
	// ErrSetup says that the namespaces of a scenario could not be made or
	// emptied, so that none of its steps means anything.
	ErrSetup = errors.New("golden: cannot prepare the server")
)
