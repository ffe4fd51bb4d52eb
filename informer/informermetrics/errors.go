package informermetrics

import "errors"

// ErrDuplicate is returned by Add for an informer whose name, group, version and
// resource another one has that was added before. Give it another Name.
var ErrDuplicate = errors.New("informer with these labels was added already")
