package cacher

import (
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/listwatch/listwatch/fakeserver/storage"
)

// CheckTuning checks Options that a Cacher will be made of later, when it is
// known what is to be cached: all but Store, Prefix and Decode. Errors:
// ErrOptions.
func (o Options) CheckTuning() error {
	o.Store = storage.Store((*storage.Memory)(nil)) // not used: no Cacher is made
	o.Prefix = "/-/"
	o.Decode = func(storage.KeyValue) (runtime.Object, error) { return nil, nil }
	_, err := o.withDefaults()
	return err
}
