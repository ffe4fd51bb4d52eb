package configset

import "errors"

// ErrNameTaken is for a ConfigMap that has the name of a child and belongs to
// somebody else.
var ErrNameTaken = errors.New("the name is taken by a ConfigMap that belongs to somebody else")
