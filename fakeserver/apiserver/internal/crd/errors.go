package crd

import "errors"

// ErrSchema is wrapped by errors about schemas that cannot be used.
var ErrSchema = errors.New("crd: unusable schema")
