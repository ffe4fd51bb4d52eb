package storagetest

import (
	"context"

	"github.com/listwatch/listwatch/fakeserver/storage"
)

var createTests = []testCase{
	{"an empty store is at revision 1", func(b *bench) {
		b.at(1)
	}},
	{"a creation adds one to the revision and a failed one nothing", func(b *bench) {
		b.same(describe(b.create("/pods/n/a", "1")), "/pods/n/a=1@2(2)")
		_, err := b.Create(b.context(), "/pods/n/a", nil)
		b.fails(err, storage.ErrExists)
		b.same(describe(b.create("/pods/n/b", "")), "/pods/n/b=@3(3)")
		b.at(3)
	}},
	{"a key created again has a new creation revision", func(b *bench) {
		b.remove(b.create("/pods/n/a", "1"))
		b.same(describe(b.create("/pods/n/a", "2")), "/pods/n/a=2@4(4)")
	}},
	{"a stored value does not change with the writer's bytes", func(b *bench) {
		mine := []byte("kept")
		_, err := b.Create(b.context(), "/pods/n/a", mine)
		b.check(err)
		copy(mine, "lost")
		b.same(b.listed("/pods/", storage.ListOptions{}), "/pods/n/a=kept@2(2) | 1 @2")
	}},
	{"of concurrent creations of one key exactly one succeeds", func(b *bench) {
		won := b.race(func() (storage.KeyValue, error) { return b.Create(b.context(), "/pods/n/a", nil) })
		if won != 1 {
			b.t.Errorf("%d creations succeeded", won)
		}
		b.at(2)
	}},
	{"an ended context creates nothing", func(b *bench) {
		_, err := b.Create(b.ended(), "/pods/n/a", nil)
		b.fails(err, context.Canceled)
		b.at(1)
	}},
}
