package bench

import (
	"flag"
	"runtime"
	"runtime/debug"
	"slices"
	"syscall"
	"testing"
	"time"
)

// leastPairs is how often each side is measured at least; -benchtime 20x makes
// it twenty.
const leastPairs = 5

// roundTime is about how long a round takes. Longer ones make better profiles.
var roundTime = flag.Duration("round", 100*time.Millisecond, "the time that one side is measured before it is the other's turn")

// sample is the cost of some operations.
type sample struct {
	ops  float64
	wall time.Duration
	// cpu includes collect, which is the part of a garbage collection that the
	// allocated bytes bring nearer at GOGC=100.
	cpu, collect time.Duration
	// bytes were allocated.
	bytes float64
}

// quantity is what a ratio is about: how much of it an operation costs.
type quantity struct {
	name string
	of   func(s sample) float64
}

var (
	wall = quantity{"us", func(s sample) float64 { return float64(s.wall.Nanoseconds()) / 1e3 / s.ops }}
	cpu  = quantity{"cpu-us", func(s sample) float64 { return float64(s.cpu.Nanoseconds()) / 1e3 / s.ops }}
	heap = quantity{"alloc-B", func(s sample) float64 { return s.bytes / s.ops }}
)

// comparison is one measure. Each function runs n operations on its side.
type comparison struct {
	ours, peer func(n int)
	// unit names an operation.
	unit string
	// main is what the target is about; the wall or CPU time that it is not is
	// reported beside it.
	main quantity
	// scale multiplies the operations that are counted, if it is not 0.
	scale float64
}

// run lets the sides take turns. One iteration of b is a pair of rounds. The
// garbage collector is off meanwhile, so that no round pays for another: see take.
func (c comparison) run(b *testing.B) {
	b.Helper()
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	if c.scale == 0 {
		c.scale = 1
	}
	asOurs := func(n int) { newOurs.as(func() { c.ours(n) }) }
	asPeer := func(n int) { newPeer.as(func() { c.peer(n) }) }
	ours, peer := c.rounds(asOurs), c.rounds(asPeer)
	var us, them []sample
	pair := func() {
		us = append(us, c.take(asOurs, ours))
		them = append(them, c.take(asPeer, peer))
	}
	for b.Loop() {
		pair()
	}
	for len(us) < leastPairs {
		pair()
	}
	b.ReportMetric(0, "ns/op") // of a pair: of no use to anybody
	other := wall
	if c.main.name == wall.name {
		other = cpu
	}
	all := report(b, c.main.name+"/"+c.unit, c.main, us, them)
	b.ReportMetric(slices.Min(all), "ratio-min")
	b.ReportMetric(slices.Max(all), "ratio-max")
	b.ReportMetric(median(report(b, other.name+"/"+c.unit, other, us, them)), other.name+"-ratio")
	report(b, heap.name+"/"+c.unit, heap, us, them)
	b.ReportMetric(median(all), "ratio")
}

// rounds warms a side up and finds the number of operations of a round.
func (c comparison) rounds(side func(n int)) int {
	n := 1
	for {
		took := c.take(side, n).wall
		if took >= *roundTime/2 {
			return max(1, int(float64(n)*float64(*roundTime)/float64(took)))
		}
		n *= 2 + int(min(20, *roundTime/2/max(took, 1)))/2
	}
}

// take measures a round, and the collection after it. At GOGC=100 there would
// be one of those each time that as much was allocated as is alive.
func (c comparison) take(side func(n int), n int) sample {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	began, used := time.Now(), cpuTime()
	side(n)
	s := sample{ops: float64(n) * c.scale, wall: time.Since(began), cpu: cpuTime() - used}
	runtime.ReadMemStats(&after)
	s.bytes = float64(after.TotalAlloc - before.TotalAlloc)
	used = cpuTime()
	runtime.GC()
	collection := cpuTime() - used
	runtime.ReadMemStats(&after)
	s.collect = time.Duration(float64(collection) * s.bytes / float64(after.HeapAlloc+after.StackInuse))
	s.cpu += s.collect
	return s
}

// cpuTime is what the process has used, the system's time included.
func cpuTime() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		panic(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// compareValues reports values that are not times, such as bytes. A pair is
// fresh from nothing.
func compareValues(b *testing.B, unit string, pairs int, measure func(side newSide) float64) {
	b.Helper()
	var us, them []float64
	for range pairs {
		us, them = append(us, measure(newOurs)), append(them, measure(newPeer))
	}
	b.ReportMetric(0, "ns/op")
	all := ratios(us, them)
	b.ReportMetric(median(all), "ratio")
	b.ReportMetric(slices.Min(all), "ratio-min")
	b.ReportMetric(slices.Max(all), "ratio-max")
	b.ReportMetric(median(us), "ours-"+unit)
	b.ReportMetric(median(them), "peer-"+unit)
}

// report writes the medians of both sides and returns the ratios of neighbouring
// rounds.
func report(b *testing.B, unit string, q quantity, us, them []sample) []float64 {
	ours, peer := each(us, q.of), each(them, q.of)
	b.ReportMetric(median(ours), "ours-"+unit)
	b.ReportMetric(median(peer), "peer-"+unit)
	return ratios(ours, peer)
}

func ratios(ours, peer []float64) []float64 {
	all := make([]float64, len(ours))
	for i := range ours {
		all[i] = peer[i] / ours[i]
	}
	return all
}

func each(samples []sample, of func(sample) float64) []float64 {
	values := make([]float64, len(samples))
	for i, s := range samples {
		values[i] = of(s)
	}
	return values
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	half := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[half]
	}
	return (sorted[half-1] + sorted[half]) / 2
}
