package storagetest

import "github.com/listwatch/listwatch/fakeserver/storage"

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

var readTests = []testCase{
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
	{"a list is the content at any revision, in key order", func(b *bench) {
		b.history()
		for _, c := range []struct {
			revision int64
			want     string
		}{
			{0, "/pods/n/a=2@5(2) | 1 @6"},
			{1, " | 0 @1"},
			{3, "/pods/n/a=1@2(2) /pods/n/b=1@3(3) | 2 @3"},
			{5, "/pods/n/a=2@5(2) /pods/n/b=1@3(3) | 2 @5"},
			{6, "/pods/n/a=2@5(2) | 1 @6"},
		} {
			b.same(b.listed("/pods/", storage.ListOptions{Revision: c.revision}), c.want)
		}
		_, err := b.List(b.context(), "/pods/", storage.ListOptions{Revision: 7})
		b.fails(err, storage.ErrFutureRevision)
	}},
	{"a prefix selects whole segments only", func(b *bench) {
		b.create("/pods/n/a", "")
		b.create("/pods/n2/a", "")
		b.create("/pods.x/n/a", "")
		b.create("/podsx/n/a", "")
		b.same(b.listed("/pods/n/", storage.ListOptions{}), "/pods/n/a=@2(2) | 1 @5")
		b.same(b.listed("/pods/", storage.ListOptions{}), "/pods/n/a=@2(2) /pods/n2/a=@3(3) | 2 @5")
	}},
	{"pages at one revision make up the whole list", func(b *bench) {
		kv := b.create("/pods/n/a", "")
		for _, key := range []string{"/pods/n/b", "/pods/n/c", "/pods/n/d", "/pods/n/e"} {
			b.create(key, "")
		}
		b.same(b.listed("/pods/", storage.ListOptions{Limit: 2}),
			"/pods/n/a=@2(2) /pods/n/b=@3(3) |+ 5 @6")
		b.remove(kv)
		b.same(b.listed("/pods/", storage.ListOptions{Limit: 2, Revision: 6, From: "/pods/n/b\x00"}),
			"/pods/n/c=@4(4) /pods/n/d=@5(5) |+ 3 @6")
		b.same(b.listed("/pods/", storage.ListOptions{Limit: 2, Revision: 6, From: "/pods/n/d\x00"}),
			"/pods/n/e=@6(6) | 1 @6")
		b.same(b.listed("/pods/", storage.ListOptions{Limit: 1, From: "/pods/n/e"}), "/pods/n/e=@6(6) | 1 @7")
		b.same(b.listed("/pods/", storage.ListOptions{From: "/pods/n/f"}), " | 0 @7")
		b.same(b.listed("/pods/", storage.ListOptions{From: "/a"}),
			"/pods/n/b=@3(3) /pods/n/c=@4(4) /pods/n/d=@5(5) /pods/n/e=@6(6) | 4 @7")
	}},
}
