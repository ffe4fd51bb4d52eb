package storagetest

import (
	"context"

	"github.com/listwatch/listwatch/fakeserver/storage"
)

var watchTests = []testCase{
	{"a watch delivers what comes, under its prefix only", func(b *bench) {
		pods, one := b.watch("/pods/", 1), b.watch("/pods/m/", 1)
		b.history()
		b.create("/pods/m/a", "1")
		pod := []string{
			"Put /pods/n/a=1@2(2)",
			"Put /pods/n/b=1@3(3)",
			"Put /pods/n/a=2@5(2) was /pods/n/a=1@2(2)",
			"Delete /pods/n/b=1@6(3) was /pods/n/b=1@3(3)",
			"Put /pods/m/a=1@7(7)",
		}
		b.expect(pods, pod...)
		b.expect(one, pod[4])
	}},
	{"a watch from a past revision delivers what came after it", func(b *bench) {
		b.history()
		b.expect(b.watch("/pods/", 3),
			"Put /pods/n/a=2@5(2) was /pods/n/a=1@2(2)",
			"Delete /pods/n/b=1@6(3) was /pods/n/b=1@3(3)")
		b.expect(b.watch("/pods/", 0), "Put /pods/n/a=1@2(2)", "Put /pods/n/b=1@3(3)",
			"Put /pods/n/a=2@5(2) was /pods/n/a=1@2(2)", "Delete /pods/n/b=1@6(3) was /pods/n/b=1@3(3)")
		b.expect(b.watch("/pods/", 5), "Delete /pods/n/b=1@6(3) was /pods/n/b=1@3(3)")
	}},
	{"a watch from a future revision skips what comes before it", func(b *bench) {
		w := b.watch("/pods/", 3)
		b.create("/pods/n/a", "")
		b.create("/pods/n/b", "")
		b.create("/pods/n/c", "")
		b.expect(w, "Put /pods/n/c=@4(4)")
	}},
	{"each of two watches gets every event", func(b *bench) {
		first, second := b.watch("/pods/", 1), b.watch("/pods/", 1)
		b.history()
		want := []string{"Put /pods/n/a=1@2(2)", "Put /pods/n/b=1@3(3)",
			"Put /pods/n/a=2@5(2) was /pods/n/a=1@2(2)", "Delete /pods/n/b=1@6(3) was /pods/n/b=1@3(3)"}
		b.expect(first, want...)
		b.expect(second, want...)
	}},
	{"Next ends with its context, and the watch goes on", func(b *bench) {
		w := b.watch("/pods/", 1)
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		_, err := w.Next(ctx)
		b.fails(err, context.Canceled)
		b.create("/pods/n/a", "")
		b.expect(w, "Put /pods/n/a=@2(2)")
	}},
	{"Close ends a waiting Next", func(b *bench) {
		w := b.watch("/pods/", 1)
		ended := make(chan error)
		go func() {
			_, err := w.Next(context.Background())
			ended <- err
		}()
		w.Close()
		w.Close()
		b.fails(<-ended, storage.ErrClosed)
	}},
	{"two thousand events arrive in order whatever the batches", func(b *bench) {
		w := b.watch("/pods/", 1)
		kv := b.create("/pods/n/a", "")
		for range 2000 {
			kv = b.update(kv, "")
		}
		next := int64(2)
		for next <= kv.ModRevision {
			events, err := w.Next(b.context())
			b.check(err)
			for _, event := range events {
				if event.KV.ModRevision != next {
					b.t.Fatalf("revision %d came, want %d", event.KV.ModRevision, next)
				}
				next++
			}
		}
	}},
	{"an ended context opens no watch", func(b *bench) {
		_, err := b.Watch(b.ended(), "/pods/", storage.WatchOptions{Revision: 1})
		b.fails(err, context.Canceled)
	}},
}

// wholeTests look at several resources at once.
var wholeTests = []testCase{
	{"a watch of everything delivers the events of all resources in order", func(b *bench) {
		all := b.watch("/", 1)
		b.history()
		b.expect(all, "Put /pods/n/a=1@2(2)", "Put /pods/n/b=1@3(3)", "Put /nodes/n1=1@4(4)",
			"Put /pods/n/a=2@5(2) was /pods/n/a=1@2(2)", "Delete /pods/n/b=1@6(3) was /pods/n/b=1@3(3)")
	}},
	{"a list of everything holds all resources", func(b *bench) {
		b.history()
		b.same(b.listed("/", storage.ListOptions{}), "/nodes/n1=1@4(4) /pods/n/a=2@5(2) | 2 @6")
	}},
}
