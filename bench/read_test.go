package bench

import (
	"fmt"
	"runtime"
	"testing"
)

// compareReads runs the same read on two rigs that nobody writes to.
func compareReads(b *testing.B, unit string, scale float64, prepare func(r *rig), read func(r *rig)) {
	ours, peer := newRig(b, setup{}, newOurs), newRig(b, setup{}, newPeer)
	defer ours.close()
	defer peer.close()
	if prepare != nil {
		prepare(ours)
		prepare(peer)
	}
	times := func(r *rig) func(n int) {
		return func(n int) {
			for range n {
				read(r)
			}
		}
	}
	comparison{ours: times(ours), peer: times(peer), unit: unit, main: wall, scale: scale}.run(b)
}

// want fails a read that returns another number of objects.
func want(r *rig, n, got int) {
	if got != n {
		r.tb.Fatalf("%s: %d objects, want %d", r.side.name(), got, n)
	}
}

// BenchmarkList: targets 23 and 24. A list of ten thousand pods at any age.
func BenchmarkList(b *testing.B) {
	for _, f := range []format{bare, formatJSON, formatProtobuf} {
		b.Run("all/"+string(f), func(b *testing.B) {
			compareReads(b, "list", 1, nil, func(r *rig) { want(r, podCount, r.side.list(scope{}, f)) })
		})
	}
	// The first list of objects that were not sent yet: nothing is kept.
	for _, f := range []format{formatJSON, formatProtobuf} {
		b.Run("all/"+string(f)+"/first", func(b *testing.B) {
			compareReads(b, "list", 1, nil, func(r *rig) {
				if o, ok := r.side.(*ours); ok {
					want(r, podCount, o.listFresh(f))
					return
				}
				want(r, podCount, r.side.list(scope{}, f))
			})
		})
	}
	b.Run("namespace", func(b *testing.B) {
		compareReads(b, "list", 1, nil, func(r *rig) {
			want(r, podCount/namespaces, r.side.list(scope{namespace: namespaceOf(42)}, bare))
		})
	})
	b.Run("node", func(b *testing.B) {
		compareReads(b, "list", 1, nil, func(r *rig) { want(r, podsPerNode, r.side.list(scope{node: nodeOf(42)}, bare)) })
	})
	b.Run("pages", func(b *testing.B) {
		// Writes after it, so that it is a state of the past.
		var at int64
		compareReads(b, "walk", 1, func(r *rig) {
			r.updates(20)
			at = r.now
			r.updates(20)
		}, func(r *rig) { want(r, podCount, r.side.pages(at, 500)) })
	})
}

// BenchmarkGet: target 24.
func BenchmarkGet(b *testing.B) {
	i := 0
	compareReads(b, "get", 1, nil, func(r *rig) {
		i = (i + 7919) % podCount
		r.side.get(r.pods[i].Namespace, r.pods[i].Name)
	})
}

// history is the number of events that a replay is behind.
const history = 20000

// readAll opens a watch with open and reads n events of it in turn, by watchers
// at once.
func readAll(r *rig, watchers, n int, open func() stream) {
	done := make(chan struct{}, watchers)
	for range watchers {
		go func() {
			s := open()
			defer s.stop()
			left := n
			s.each(func() bool { left--; return left > 0 })
			done <- struct{}{}
		}()
	}
	for range watchers {
		<-done
	}
}

// BenchmarkReplay: target 25. Watches that begin twenty thousand events ago.
func BenchmarkReplay(b *testing.B) {
	for _, f := range []format{bare, formatJSON, formatProtobuf} {
		for _, n := range []int{1, 2} {
			b.Run(fmt.Sprintf("%s/watchers=%d", f, n), func(b *testing.B) {
				var at int64
				compareReads(b, "event", float64(history*n), func(r *rig) {
					r.updates(100)
					at = r.now
					r.updates(history)
				}, func(r *rig) {
					readAll(r, n, history, func() stream { return r.side.watch(scope{}, at, f) })
				})
			})
		}
	}
}

// BenchmarkWatchList: target 25. Watches that begin with the state.
func BenchmarkWatchList(b *testing.B) {
	for _, f := range []format{bare, formatJSON, formatProtobuf} {
		for _, n := range []int{1, 2} {
			b.Run(fmt.Sprintf("%s/watchers=%d", f, n), func(b *testing.B) {
				compareReads(b, "object", float64(podCount*n), nil, func(r *rig) {
					readAll(r, n, podCount+1, func() stream { return r.side.watchList(f) })
				})
			})
		}
	}
}

// inUse is the heap and the stacks that are in use.
func inUse() float64 {
	var memory runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&memory)
	return float64(memory.HeapAlloc + memory.StackInuse)
}

// grown is the number of events that let both windows grow to their greatest
// capacity.
const grown = 60000

// BenchmarkMemoryWatcher: target 27. An idle watcher that nobody waits for.
func BenchmarkMemoryWatcher(b *testing.B) {
	for _, events := range []int{0, grown} {
		b.Run(fmt.Sprintf("events=%d", events), func(b *testing.B) {
			compareValues(b, "B/watcher", 5, func(side newSide) float64 {
				const watchers = 2000
				r := newRig(b, setup{}, side)
				defer r.close()
				r.updates(events)
				before := inUse()
				open := make([]stream, watchers)
				for i := range open {
					open[i] = r.side.watch(scope{}, r.now, bare)
				}
				used := inUse() - before
				for _, s := range open {
					s.stop()
				}
				return used / watchers
			})
		})
	}
}

// BenchmarkMemoryEvent: target 26. An event in the window: with its object as it
// comes from protobuf, and without what the object shares with a prepared pod.
func BenchmarkMemoryEvent(b *testing.B) {
	for _, kind := range []struct {
		name      string
		fromBytes bool
		events    int
	}{{"overhead", false, 50000}, {"total", true, 12000}} {
		b.Run(kind.name, func(b *testing.B) {
			compareValues(b, "B/event", 5, func(side newSide) float64 {
				r := newRig(b, setup{fromBytes: kind.fromBytes}, side)
				defer r.close()
				r.updates(len(r.pods)) // every pod of the state is one of the window
				before := inUse()
				r.updates(kind.events)
				return (inUse() - before) / float64(kind.events)
			})
		})
	}
}
