package storagetest

import (
	"context"
	"sync"
	"testing"

	"github.com/listwatch/listwatch/fakeserver/storage"
)

var writeTests = []testCase{
	{"an empty store is at revision 1", func(b *bench) {
		if got := b.revision(); got != 1 {
			b.t.Errorf("revision is %d", got)
		}
	}},
	{"each write adds one to the revision and a failed one nothing", func(b *bench) {
		kv := b.create("/pods/n/a", "1")
		b.same(describe(kv), "/pods/n/a=1@2(2)")
		_, err := b.Create(b.context(), "/pods/n/a", nil)
		b.fails(err, storage.ErrExists)
		kv = b.update(kv, "2")
		b.same(describe(kv), "/pods/n/a=2@3(2)")
		_, err = b.Update(b.context(), "/pods/n/a", nil, 2)
		b.fails(err, storage.ErrConflict)
		_, err = b.Delete(b.context(), "/pods/n/a", 2)
		b.fails(err, storage.ErrConflict)
		_, err = b.Update(b.context(), "/pods/n/none", nil, 2)
		b.fails(err, storage.ErrNotFound)
		_, err = b.Delete(b.context(), "/pods/n/none", 2)
		b.fails(err, storage.ErrNotFound)
		b.same(describe(b.remove(kv)), "/pods/n/a=2@4(2)")
		_, err = b.Delete(b.context(), "/pods/n/a", 4)
		b.fails(err, storage.ErrNotFound)
		if got := b.revision(); got != 4 {
			b.t.Errorf("revision is %d, want 4", got)
		}
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
	{"of concurrent updates of one version exactly one succeeds", func(b *bench) {
		kv := b.create("/pods/n/a", "0")
		var writers sync.WaitGroup
		won := make(chan int64, 8)
		for range cap(won) {
			writers.Go(func() {
				if next, err := b.Update(context.Background(), kv.Key, nil, kv.ModRevision); err == nil {
					won <- next.ModRevision
				}
			})
		}
		writers.Wait()
		if len(won) != 1 || <-won != 3 || b.revision() != 3 {
			b.t.Errorf("%d more updates succeeded, revision %d", len(won), b.revision())
		}
	}},
	{"an ended context fails every call and writes nothing", func(b *bench) {
		kv := b.create("/pods/n/a", "1")
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		for name, call := range callsOf(b, ctx, kv) {
			b.t.Run(name, func(t *testing.T) {
				(&bench{t: t}).fails(call(), context.Canceled)
			})
		}
		if got := b.revision(); got != 2 {
			b.t.Errorf("revision is %d, want 2", got)
		}
	}},
}

// callsOf is each method that takes a context.
func callsOf(b *bench, ctx context.Context, kv storage.KeyValue) map[string]func() error {
	return map[string]func() error{
		"CurrentRevision": func() error { _, err := b.CurrentRevision(ctx); return err },
		"Get":             func() error { _, err := b.Get(ctx, kv.Key, 0); return err },
		"List":            func() error { _, err := b.List(ctx, "/pods/", storage.ListOptions{}); return err },
		"Create":          func() error { _, err := b.Create(ctx, "/pods/n/b", nil); return err },
		"Update":          func() error { _, err := b.Update(ctx, kv.Key, nil, kv.ModRevision); return err },
		"Delete":          func() error { _, err := b.Delete(ctx, kv.Key, kv.ModRevision); return err },
		"Compact":         func() error { return b.Compact(ctx, 2) },
	}
}
