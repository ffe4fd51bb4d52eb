package cacher

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

func TestAWindowGrowsWhileItIsYoungAndShrinksWhenAQuarterIsEnough(t *testing.T) {
	const fresh = 75 * time.Second
	for _, c := range []struct {
		name          string
		current       int
		span, quarter time.Duration
		want          int
	}{
		{"too young", 100, fresh - 1, 0, 200},
		{"too young, at its bound", 400, 0, 0, 400},
		{"too young, near its bound", 300, 0, 0, 400},
		{"just right", 200, fresh, fresh, 200},
		{"too old", 200, 5 * fresh, fresh + 1, 100},
		{"too old, at its bound", 100, 5 * fresh, fresh + 1, 100},
		{"too old, near its bound", 150, 5 * fresh, fresh + 1, 100},
	} {
		if got := nextCapacity(capacities{c.current, 100, 400}, c.span, c.quarter, fresh); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
}

// windowOracle keeps all changes and works everything out anew.
type windowOracle struct {
	changes   []*change
	first     int // index of the oldest in the window
	base      uint64
	compacted uint64
}

// floor is the oldest version a watch may start from.
func (o *windowOracle) floor() uint64 {
	if o.first == 0 {
		return max(o.base, o.compacted)
	}
	return max(o.changes[o.first].rv-1, o.compacted)
}

// knows says whether the state at rv may be told.
func (o *windowOracle) knows(rv uint64) bool {
	known := o.base
	if o.first > 0 {
		known = o.changes[o.first-1].rv
	}
	return rv >= known && rv >= o.compacted
}

func TestTheWindowEqualsAListOfAllChanges(t *testing.T) {
	for seed := range uint64(20) {
		random := rand.New(rand.NewPCG(seed, 0))
		w := newWindow(&Options{MinCapacity: 3, MaxCapacity: 24, Fresh: time.Minute})
		oracle := &windowOracle{base: 5}
		w.reset(state{}, 5)
		rv, now := uint64(5), time.Now()
		for range 300 {
			rv += 1 + random.Uint64N(3)
			now = now.Add(time.Duration(random.Int64N(int64(20 * time.Second))))
			if random.IntN(40) == 0 {
				now = now.Add(10 * time.Minute) // lets it shrink
			}
			added := &change{rv: rv, at: now}
			w.add(added)
			oracle.changes = append(oracle.changes, added)
			oracle.first = len(oracle.changes) - int(w.end-w.start)
			if random.IntN(15) == 0 {
				oracle.compacted = max(oracle.compacted, rv-random.Uint64N(12))
				w.compact(oracle.compacted)
			}
			if text := compareWindow(&w, oracle, rv); text != "" {
				t.Fatalf("seed %d at %d: %s", seed, rv, text)
			}
		}
	}
}

// compareWindow says in what the window differs from the oracle.
func compareWindow(w *window, oracle *windowOracle, newest uint64) string {
	if len(w.ring) < w.min || len(w.ring) > w.max || int(w.end-w.start) > len(w.ring) {
		return fmt.Sprintf("%d changes in a capacity of %d", w.end-w.start, len(w.ring))
	}
	if w.floor != oracle.floor() {
		return fmt.Sprintf("floor %d, want %d", w.floor, oracle.floor())
	}
	for i, want := range oracle.changes[oracle.first:] {
		if got := w.get(w.start + uint64(i)); got != want || got.seq != w.start+uint64(i) {
			return fmt.Sprintf("change %d is wrong", i)
		}
	}
	for rv := max(newest, 40) - 40; rv <= newest; rv++ {
		if got := w.knows(rv); got != oracle.knows(rv) {
			return fmt.Sprintf("state at %d known: %v", rv, got)
		}
		if seq := w.after(rv); seq < w.end && w.get(seq).rv <= rv || seq > w.start && w.get(seq-1).rv > rv {
			return fmt.Sprintf("after %d is wrong", rv)
		}
	}
	return ""
}

func TestTheFloorOutlivesAReset(t *testing.T) {
	w := newWindow(&Options{MinCapacity: 8, MaxCapacity: 8, Fresh: time.Minute})
	w.reset(state{}, 1)
	for rv := uint64(2); rv <= 5; rv++ {
		w.add(&change{rv: rv})
	}
	w.compact(4)
	if w.reset(state{}, 3); w.floor != 4 {
		t.Errorf("floor %d", w.floor)
	}
}

func TestAnIdleWindowHalvesOncePerFreshDurationAndKeepsTheNewest(t *testing.T) {
	w := newWindow(&Options{MinCapacity: 4, MaxCapacity: 64, Fresh: time.Minute})
	w.reset(state{}, 1)
	start := time.Now()
	for rv := uint64(2); rv <= 33; rv++ {
		w.add(&change{rv: rv, at: start})
	}
	for _, step := range []struct {
		after, again    time.Duration
		capacity, floor int
	}{
		{0, time.Minute, 32, 1},
		{20 * time.Second, 40 * time.Second, 32, 1},
		{60 * time.Second, time.Minute, 16, 17},
		{120 * time.Second, time.Minute, 8, 25},
		{180 * time.Second, 0, 4, 29},
		{240 * time.Second, 0, 4, 29},
	} {
		again := w.idle(start.Add(step.after))
		if again != step.again || len(w.ring) != step.capacity || int(w.floor) != step.floor {
			t.Errorf("after %v: capacity %d, floor %d, again in %v", step.after, len(w.ring), w.floor, again)
		}
	}
	w.add(&change{rv: 40, at: start.Add(time.Hour)})
	if w.get(w.start).rv != 31 || w.floor != 30 {
		t.Errorf("the oldest is %d, floor %d", w.get(w.start).rv, w.floor)
	}
}
