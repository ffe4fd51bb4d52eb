package storagetest

import (
	"context"

	"github.com/listwatch/listwatch/fakeserver/storage"
)

var updateTests = []testCase{
	{"an update replaces the version that it expects and no other", func(b *bench) {
		first := b.create("/pods/n/a", "1")
		second := b.update(first, "2")
		b.same(describe(second), "/pods/n/a=2@3(2)")
		for _, expected := range []int64{0, first.ModRevision, 4} {
			_, err := b.Update(b.context(), "/pods/n/a", nil, expected)
			b.fails(err, storage.ErrConflict)
		}
		b.at(3)
		b.same(b.listed("/pods/", storage.ListOptions{}), "/pods/n/a=2@3(2) | 1 @3")
	}},
	{"a key that is not there is not updated", func(b *bench) {
		_, err := b.Update(b.context(), "/pods/n/a", nil, 0)
		b.fails(err, storage.ErrNotFound)
		gone := b.remove(b.create("/pods/n/a", ""))
		_, err = b.Update(b.context(), "/pods/n/a", nil, gone.ModRevision)
		b.fails(err, storage.ErrNotFound)
		b.at(3)
	}},
	{"an update to the same value is a version of its own", func(b *bench) {
		b.same(describe(b.update(b.create("/pods/n/a", "1"), "1")), "/pods/n/a=1@3(2)")
	}},
	{"of concurrent updates of one version exactly one succeeds", func(b *bench) {
		kv := b.create("/pods/n/a", "0")
		won := b.race(func() (storage.KeyValue, error) { return b.Update(b.context(), kv.Key, nil, kv.ModRevision) })
		if won != 1 {
			b.t.Errorf("%d updates succeeded", won)
		}
		b.at(3)
	}},
	{"an ended context updates nothing", func(b *bench) {
		kv := b.create("/pods/n/a", "1")
		_, err := b.Update(b.ended(), kv.Key, nil, kv.ModRevision)
		b.fails(err, context.Canceled)
		b.at(2)
	}},
}
