package storagetest

import (
	"context"

	"github.com/listwatch/listwatch/fakeserver/storage"
)

var listTests = []testCase{
	{"a list of nothing is empty and says the revision", func(b *bench) {
		b.create("/nodes/n1", "")
		b.same(b.listed("/pods/", storage.ListOptions{}), " | 0 @2")
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
	{"an ended context lists nothing", func(b *bench) {
		_, err := b.List(b.ended(), "/pods/", storage.ListOptions{})
		b.fails(err, context.Canceled)
	}},
}
