package cacher

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// content is what a state holds: keys and resource versions.
func content(s state) map[string]uint64 {
	all := map[string]uint64{}
	s.items.Scan(func(key string, item *Item) bool {
		all[key] = item.ResourceVersion
		return true
	})
	return all
}

// indexed is what the index of a state holds: entries, and whether their items
// have the value that they are under.
func indexed(s state) map[string]bool {
	all := map[string]bool{}
	s.byTrigger.entries.Scan(func(at string, _ struct{}) bool {
		value, key, _ := strings.Cut(at, "\x00")
		item := s.get(key)
		all[key] = item != nil && item.fields.trigger == value
		return true
	})
	return all
}

func TestSnapshotsOfAnyVersionEqualWhatWasThere(t *testing.T) {
	for seed := range uint64(10) {
		small := func(o *Options) {
			o.MinCapacity, o.MaxCapacity = 8, 64
			o.Fields, o.TriggerField = fieldsByLabel, "x"
		}
		inBubble(t, small, func(r *rig) {
			random := rand.New(rand.NewPCG(seed, 0))
			r.cacher.window.spacing = 1 + random.IntN(20)
			was := map[uint64]map[string]uint64{1: {}}
			newest, compacted := uint64(1), uint64(0)
			for range 300 {
				key := "n/" + string('a'+byte(random.IntN(9)))
				next := maps.Clone(was[newest])
				switch _, exists := next[key]; {
				case random.IntN(6) == 0:
					newest = r.elsewhere()
				case exists && random.IntN(3) == 0:
					newest = r.remove(key)
					delete(next, key)
				default:
					newest = r.put(key, fmt.Sprint(random.IntN(3)))
					next[key] = newest
				}
				was[newest] = next
				r.list(ListOptions{}) // until the cache has it
				if random.IntN(40) == 0 {
					compacted = r.compact()
				}
				for range 3 {
					at := newest - random.Uint64N(min(newest, 80))
					got, ok := r.cacher.snapshot(at)
					if ok && !maps.Equal(content(got), was[at]) {
						t.Fatalf("seed %d: at %d\n got %v\nwant %v", seed, at, content(got), was[at])
					}
					if ok && slices.Contains(slices.Collect(maps.Values(indexed(got))), false) || ok && len(indexed(got)) != got.items.Len() {
						t.Fatalf("seed %d: at %d the index holds %v", seed, at, indexed(got))
					}
					if ok != (at >= compacted && at >= r.cacher.window.baseRV) {
						t.Fatalf("seed %d: the snapshot at %d is known: %v; compacted %d, oldest %d",
							seed, at, ok, compacted, r.cacher.window.baseRV)
					}
				}
			}
		})
	}
}

// kept counts the states that a window holds.
func kept(w *window) int {
	n := 0
	for seq := w.start; seq < w.end; seq++ {
		if w.get(seq).state.items != nil {
			n++
		}
	}
	return n
}

func TestSnapshotsAreKeptSparselyAndForgottenByCompaction(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		r.cacher.window.spacing = 50
		for range 1000 {
			r.put("n/a", "")
		}
		synctest.Wait()
		if n := kept(&r.cacher.window); n != 20 {
			t.Errorf("%d are kept", n)
		}
		r.cacher.snapshot(500)
		if n := kept(&r.cacher.window); n != 21 {
			t.Errorf("%d are kept after one was asked for", n)
		}
		r.compact()
		if n := kept(&r.cacher.window); n > 1 || r.cacher.window.base.items != nil {
			t.Errorf("%d are kept after a compaction", n)
		}
		// The newest state is still served, although nothing kept it.
		r.expectList(ListOptions{ResourceVersion: "1001", Match: exact}, "n/a@1001")
	})
}

func TestStatesThatTheStoreForgotByItselfAreNotServed(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		for range 10 {
			r.put("n/a", "")
		}
		r.expectList(ListOptions{ResourceVersion: "4", Match: exact}, "n/a@4")
		if err := r.memory.Compact(r.ctx, 6); err != nil { // and nobody tells the cacher
			t.Fatal(err)
		}
		_, err := r.cacher.List(r.ctx, ListOptions{ResourceVersion: "5", Match: exact})
		if got := status(err).ErrStatus; got.Code != 410 {
			t.Errorf("got %v", got)
		}
		r.expectList(ListOptions{ResourceVersion: "6", Match: exact}, "n/a@6")
		r.expect(r.watch(WatchOptions{ResourceVersion: "5"}), "MODIFIED n/a@6") // the window has it
	})
}

func TestTheNewestStateIsMadeOnlyWhenItIsAskedFor(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		r.put("n/a", "")
		synctest.Wait()
		if r.cacher.latest.items != nil {
			t.Error("it was made")
		}
		first, _, _ := r.cacher.current()
		second, _, _ := r.cacher.current()
		if first != second {
			t.Error("it was made twice")
		}
	})
}

func TestAWindowShrinksAfterABurstWithoutAnybodyLooking(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		for i := range 1000 {
			r.put(fmt.Sprintf("n/%d", i), "")
		}
		capacity := func() int {
			synctest.Wait()
			r.cacher.mu.Lock()
			defer r.cacher.mu.Unlock()
			return len(r.cacher.window.ring)
		}
		if got := capacity(); got != 1600 {
			t.Errorf("capacity %d", got)
		}
		time.Sleep(76 * time.Second)
		if got := capacity(); got != 800 {
			t.Errorf("capacity %d after a minute", got)
		}
		r.expect(r.watch(WatchOptions{ResourceVersion: "200"}), "too old resource version: 200 (201)")
		r.expect(r.watch(WatchOptions{ResourceVersion: "201"}), "ADDED n/200@202")
		time.Sleep(10 * time.Minute)
		if got := capacity(); got != 100 || r.cacher.idle != nil {
			t.Errorf("capacity %d in the end, timer %v", got, r.cacher.idle)
		}
	})
}
