package bench

import (
	"runtime"
	"slices"
	"syscall"
	"testing"
	"time"
)

const (
	// leastPairs is how often each side is measured at least; -benchtime 20x makes
	// it twenty.
	leastPairs = 5
	// roundTime is about how long a round takes.
	roundTime = 100 * time.Millisecond
)

// sample is the cost of some operations.
type sample struct {
	ops       float64
	wall, cpu time.Duration
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

// run lets the sides take turns. One iteration of b is a pair of rounds.
func (c comparison) run(b *testing.B) {
	b.Helper()
	if c.scale == 0 {
		c.scale = 1
	}
	ours, peer := c.rounds(c.ours), c.rounds(c.peer)
	var us, them []sample
	pair := func() {
		us = append(us, c.take(c.ours, ours))
		them = append(them, c.take(c.peer, peer))
	}
	for b.Loop() {
		pair()
	}
	for len(us) < leastPairs {
		pair()
	}
	other := wall
	if c.main.name == wall.name {
		other = cpu
	}
	b.ReportMetric(0, "ns/op") // of a pair: of no use to anybody
	report(b, "", c.main.name+"/"+c.unit, each(us, c.main.of), each(them, c.main.of))
	b.ReportMetric(median(ratios(each(us, other.of), each(them, other.of))), other.name+"-ratio")
	b.ReportMetric(median(each(us, heap.of)), "ours-"+heap.name+"/"+c.unit)
	b.ReportMetric(median(each(them, heap.of)), "peer-"+heap.name+"/"+c.unit)
}

// rounds warms a side up and finds the number of operations of a round.
func (c comparison) rounds(side func(n int)) int {
	n := 1
	for {
		took := c.take(side, n).wall
		if took >= roundTime/2 {
			return max(1, int(float64(n)*float64(roundTime)/float64(took)))
		}
		n *= 2 + int(min(20, roundTime/2/max(took, 1)))/2
	}
}

// take measures a round, which begins with a clean heap.
func (c comparison) take(side func(n int), n int) sample {
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	began, used := time.Now(), cpuTime()
	side(n)
	s := sample{ops: float64(n) * c.scale, wall: time.Since(began), cpu: cpuTime() - used}
	runtime.ReadMemStats(&after)
	s.bytes = float64(after.TotalAlloc - before.TotalAlloc)
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
	report(b, "", unit, us, them)
}

// report writes the ratios of neighbouring rounds and the medians behind them.
func report(b *testing.B, prefix, unit string, ours, peer []float64) {
	all := ratios(ours, peer)
	b.ReportMetric(median(all), prefix+"ratio")
	b.ReportMetric(slices.Min(all), prefix+"ratio-min")
	b.ReportMetric(slices.Max(all), prefix+"ratio-max")
	b.ReportMetric(median(ours), prefix+"ours-"+unit)
	b.ReportMetric(median(peer), prefix+"peer-"+unit)
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
