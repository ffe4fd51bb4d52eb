package storagetest

import (
	"context"
	"errors"
	"fmt"

	"github.com/listwatch/listwatch/fakeserver/storage"
)

var compactTests = []testCase{
	{"compaction forgets what is older and keeps the rest", func(b *bench) {
		b.history()
		b.compact(4)
		_, err := b.Get(b.context(), "/pods/n/a", 3)
		b.fails(err, storage.ErrCompacted)
		_, err = b.List(b.context(), "/pods/", storage.ListOptions{Revision: 3})
		b.fails(err, storage.ErrCompacted)
		_, err = b.Watch(b.context(), "/pods/", storage.WatchOptions{Revision: 2})
		if err == nil {
			// A store across a network may say so on the first read only.
			_, err = b.watch("/pods/", 2).Next(b.context())
		}
		b.fails(err, storage.ErrCompacted)
		b.same(b.listed("/pods/", storage.ListOptions{Revision: 4}), "/pods/n/a=1@2(2) /pods/n/b=1@3(3) | 2 @4")
		b.same(b.listed("/pods/", storage.ListOptions{}), "/pods/n/a=2@5(2) | 1 @6")
		b.expect(b.watch("/pods/", 4),
			"Put /pods/n/a=2@5(2) was /pods/n/a=1@2(2)",
			"Delete /pods/n/b=1@6(3) was /pods/n/b=1@3(3)")
	}},
	{"compaction changes no revision and refuses other histories", func(b *bench) {
		b.history()
		b.compact(5)
		b.fails(b.Compact(b.context(), 4), storage.ErrCompacted)
		b.fails(b.Compact(b.context(), 7), storage.ErrFutureRevision)
		b.compact(6)
		b.at(6)
		b.same(b.listed("/pods/", storage.ListOptions{}), "/pods/n/a=2@5(2) | 1 @6")
	}},
	{"an open watch that lags behind a compaction misses nothing or fails", func(b *bench) {
		w := b.watch("/pods/", 1)
		kv := b.create("/pods/n/a", "")
		for range 9 {
			kv = b.update(kv, "")
		}
		b.compact(kv.ModRevision)
		for next := int64(2); next <= kv.ModRevision; {
			events, err := w.Next(b.context())
			if errors.Is(err, storage.ErrCompacted) {
				return
			}
			b.check(err)
			for _, event := range events {
				b.same(fmt.Sprint(event.KV.ModRevision), fmt.Sprint(next))
				next++
			}
		}
		b.create("/pods/n/b", "")
		b.expect(w, "Put /pods/n/b=@12(12)")
	}},
	{"an idle watch survives compactions", func(b *bench) {
		w := b.watch("/pods/", 1)
		b.create("/nodes/n1", "")
		b.create("/nodes/n2", "")
		b.compact(3)
		b.create("/pods/n/a", "")
		b.expect(w, "Put /pods/n/a=@4(4)")
	}},
	{"an ended context compacts nothing", func(b *bench) {
		b.history()
		b.fails(b.Compact(b.ended(), 6), context.Canceled)
		b.same(b.listed("/pods/", storage.ListOptions{Revision: 3}), "/pods/n/a=1@2(2) /pods/n/b=1@3(3) | 2 @3")
	}},
}
