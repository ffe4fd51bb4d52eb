package storagetest

import (
	"context"

	"github.com/listwatch/listwatch/fakeserver/storage"
)

// history writes two pods and a node: a at 2, b at 3, n1 at 4, a again at 5, b
// gone at 6.
func (b *bench) history() {
	b.t.Helper()
	first := b.create("/pods/n/a", "1")
	second := b.create("/pods/n/b", "1")
	b.create("/nodes/n1", "1")
	b.update(first, "2")
	b.remove(second)
}

var getTests = []testCase{
	{"a key is read as it was at any revision", func(b *bench) {
		b.history()
		for _, c := range []struct {
			revision int64
			want     string
			err      error
		}{
			{0, "/pods/n/a=2@5(2)", nil},
			{1, "", storage.ErrNotFound},
			{2, "/pods/n/a=1@2(2)", nil},
			{4, "/pods/n/a=1@2(2)", nil},
			{5, "/pods/n/a=2@5(2)", nil},
			{6, "/pods/n/a=2@5(2)", nil},
			{7, "", storage.ErrFutureRevision},
		} {
			kv, err := b.Get(b.context(), "/pods/n/a", c.revision)
			b.fails(err, c.err)
			if err == nil {
				b.same(describe(kv), c.want)
			}
		}
		_, err := b.Get(b.context(), "/pods/n/b", 0)
		b.fails(err, storage.ErrNotFound)
	}},
	{"a deleted key is there at revisions before its deletion", func(b *bench) {
		b.history()
		kv, err := b.Get(b.context(), "/pods/n/b", 5)
		b.check(err)
		b.same(describe(kv), "/pods/n/b=1@3(3)")
		_, err = b.Get(b.context(), "/pods/n/b", 6)
		b.fails(err, storage.ErrNotFound)
	}},
	{"an ended context gets nothing", func(b *bench) {
		b.create("/pods/n/a", "")
		_, err := b.Get(b.ended(), "/pods/n/a", 0)
		b.fails(err, context.Canceled)
	}},
}
