package storagetest

import (
	"context"

	"github.com/listwatch/listwatch/fakeserver/storage"
)

var deleteTests = []testCase{
	{"a deletion returns the last version with its own revision", func(b *bench) {
		kv := b.update(b.create("/pods/n/a", "1"), "2")
		b.same(describe(b.remove(kv)), "/pods/n/a=2@4(2)")
		b.at(4)
		_, err := b.Get(b.context(), "/pods/n/a", 0)
		b.fails(err, storage.ErrNotFound)
	}},
	{"only the version that it expects is deleted", func(b *bench) {
		kv := b.update(b.create("/pods/n/a", "1"), "2")
		for _, expected := range []int64{0, 2, 4} {
			_, err := b.Delete(b.context(), kv.Key, expected)
			b.fails(err, storage.ErrConflict)
		}
		b.at(3)
	}},
	{"a key that is not there is not deleted", func(b *bench) {
		_, err := b.Delete(b.context(), "/pods/n/a", 0)
		b.fails(err, storage.ErrNotFound)
		gone := b.remove(b.create("/pods/n/a", ""))
		_, err = b.Delete(b.context(), "/pods/n/a", gone.ModRevision)
		b.fails(err, storage.ErrNotFound)
		b.at(3)
	}},
	{"of concurrent deletions of one version exactly one succeeds", func(b *bench) {
		kv := b.create("/pods/n/a", "0")
		won := b.race(func() (storage.KeyValue, error) { return b.Delete(b.context(), kv.Key, kv.ModRevision) })
		if won != 1 {
			b.t.Errorf("%d deletions succeeded", won)
		}
		b.at(3)
	}},
	{"an ended context deletes nothing", func(b *bench) {
		kv := b.create("/pods/n/a", "1")
		_, err := b.Delete(b.ended(), kv.Key, kv.ModRevision)
		b.fails(err, context.Canceled)
		b.at(2)
	}},
}
