package bench

import (
	"context"
	"runtime/debug"
	"testing"

	"github.com/listwatch/listwatch/fakeserver/storage"
)

// BenchmarkFeed is the part of an event that both sides have in common in the
// other measures: a write to the store, its watch, and the decoding by which a
// cache reads it, once as a shallow copy and once from protobuf.
func BenchmarkFeed(b *testing.B) {
	for _, kind := range []struct {
		name string
		setup
	}{{"copied", setup{}}, {"decoded", setup{fromBytes: true}}} {
		b.Run(kind.name, func(b *testing.B) {
			f := newFeed(b, kind.setup)
			defer f.close()
			defer debug.SetGCPercent(debug.SetGCPercent(-1))
			c := comparison{scale: 1}
			n := c.rounds(f.push)
			var taken []sample
			for b.Loop() {
				taken = append(taken, c.take(f.push, n))
			}
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(median(each(taken, wall.of)), "us/event")
			b.ReportMetric(median(each(taken, cpu.of)), "cpu-us/event")
			b.ReportMetric(median(each(taken, heap.of)), "alloc-B/event")
		})
	}
}

// feed reads a store like a cache, and keeps nothing.
type feed struct {
	*rig
	tokens chan struct{}
	done   chan struct{}
	watch  storage.Watch
}

func newFeed(tb testing.TB, s setup) *feed {
	f := &feed{tokens: make(chan struct{}, inFlight), done: make(chan struct{})}
	var read decode
	f.rig = newRig(tb, s, newSide{"none", func(_ testing.TB, _ *storage.Memory, decode decode) side {
		read = decode
		return none{}
	}})
	var err error
	if f.watch, err = f.memory.Watch(context.Background(), podsPrefix, storage.WatchOptions{Revision: f.now}); err != nil {
		tb.Fatal(err)
	}
	for range inFlight {
		f.tokens <- struct{}{}
	}
	go f.follow(read)
	return f
}

func (f *feed) follow(read decode) {
	defer close(f.done)
	for {
		events, err := f.watch.Next(context.Background())
		if err != nil {
			return
		}
		for _, event := range events {
			if _, err := read(event.KV); err != nil {
				f.tb.Error(err)
			}
			f.tokens <- struct{}{}
		}
	}
}

func (f *feed) push(n int) {
	for i := range n {
		<-f.tokens
		f.update(i % len(f.pods))
	}
	for range inFlight {
		<-f.tokens
	}
	for range inFlight {
		f.tokens <- struct{}{}
	}
	f.forget()
}

func (f *feed) close() {
	f.watch.Close()
	<-f.done
	f.rig.close()
}

// none is no cache.
type none struct{ side }

func (none) await(int64) {}
func (none) close()      {}
