package storagetest

import (
	"context"
	"errors"
	"fmt"

	"github.com/listwatch/listwatch/fakeserver/storage"
)

var watchTests = []testCase{
	{"a watch delivers what comes, under its prefix only", func(b *bench) {
		all, pods, one := b.watch("/", 1), b.watch("/pods/", 1), b.watch("/pods/m/", 1)
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
		b.expect(all, pod[0], pod[1], "Put /nodes/n1=1@4(4)", pod[2], pod[3], pod[4])
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
	{"progress comes after the events that precede it", func(b *bench) {
		w := b.watch("/pods/", 1)
		w.RequestProgress()
		b.expect(w, "Progress@1")
		b.create("/nodes/n1", "")
		w.RequestProgress()
		b.expect(w, "Progress@2")
		b.create("/pods/n/a", "")
		b.create("/nodes/n2", "")
		w.RequestProgress()
		b.expect(w, "Put /pods/n/a=@3(3)", "Progress@4")
	}},
	{"a request for progress wakes a waiting watch", func(b *bench) {
		w := b.watch("/pods/", 1)
		waiting := make(chan struct{})
		go func() {
			<-waiting
			w.RequestProgress()
		}()
		close(waiting)
		b.expect(w, "Progress@1")
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
}

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
		if got := b.revision(); got != 6 {
			b.t.Errorf("revision is %d, want 6", got)
		}
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
}
