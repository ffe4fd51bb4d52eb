package bench

import (
	"bytes"
	"fmt"
	"runtime"
	"runtime/pprof"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// stall is what keeps one reader waiting while something replaces objects again and
// again, in microseconds.
type stall struct {
	blocked float64 // for a lock or a channel, up to when it could go on, in each Replace
	longest float64 // read, by the clock
	cpu     float64 // of the read that took most
}

// replacesOfAStall is in how many of them a reader is watched.
const replacesOfAStall = 3

// BenchmarkStoreStall tells what of a reader's longest wait beside Replace is the
// store's. By the clock, a reader also waits for a core: "aside" is its longest wait
// while another store of the same kind is replaced, which it has nothing to do with.
// The reader has a thread of its own and allocates nothing, so that it helps with no
// garbage collection.
func BenchmarkStoreStall(b *testing.B) {
	const n = 100_000
	s, other := newStores(b, n), newStores(b, n)
	items, list := s.items(), make([]any, n)
	for i, p := range s.pods {
		list[i] = p
	}
	ours, theirs := s.gets()
	var results [4][]stall
	round := func() {
		newOurs.as(func() {
			results[0] = append(results[0], watchReader(s.random, ours, func() { s.ours.Replace(items, "2") }))
			results[1] = append(results[1], watchReader(s.random, ours, func() { other.ours.Replace(items, "2") }))
		})
		newPeer.as(func() {
			results[2] = append(results[2], watchReader(s.random, theirs, func() { _ = s.theirs.Replace(list, "2") }))
			results[3] = append(results[3], watchReader(s.random, theirs, func() { _ = other.theirs.Replace(list, "2") }))
		})
	}
	for b.Loop() {
		round()
	}
	for len(results[0]) < leastPairs {
		round()
	}
	b.ReportMetric(0, "ns/op")
	for k, side := range []string{"ours", "peer"} {
		own, aside := results[2*k], results[2*k+1]
		b.ReportMetric(medianOf(own, func(r stall) float64 { return r.blocked }), side+"-blocked-us/replace")
		b.ReportMetric(medianOf(own, func(r stall) float64 { return r.cpu }), side+"-cpu-max-us")
		b.ReportMetric(medianOf(own, func(r stall) float64 { return r.longest }), side+"-max-us")
		b.ReportMetric(medianOf(aside, func(r stall) float64 { return r.longest }), side+"-aside-max-us")
	}
}

func medianOf(all []stall, of func(stall) float64) float64 {
	var values []float64
	for _, r := range all {
		values = append(values, of(r))
	}
	return median(values)
}

// watchReader reads while replace is called some times.
func watchReader(order []int, read func(i int), replace func()) (result stall) {
	runtime.SetBlockProfileRate(1)
	defer runtime.SetBlockProfileRate(0)
	before := blockedReader()
	var over atomic.Bool
	var reader sync.WaitGroup
	reading := make(chan struct{})
	reader.Go(func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		read(order[0])
		close(reading)
		readUntil(&over, order, read, &result)
	})
	<-reading
	for range replacesOfAStall {
		replace()
	}
	over.Store(true)
	reader.Wait()
	result.blocked = float64((blockedReader() - before).Nanoseconds()) / 1e3 / replacesOfAStall
	return result
}

// readUntil is where the profile finds the reader.
//
//go:noinline
func readUntil(over *atomic.Bool, order []int, read func(i int), result *stall) {
	for i := 0; !over.Load(); i++ {
		began, used := time.Now(), threadTime()
		read(order[i%len(order)])
		result.cpu = max(result.cpu, float64((threadTime()-used).Nanoseconds())/1e3)
		result.longest = max(result.longest, float64(time.Since(began).Nanoseconds())/1e3)
	}
}

// threadTime is what the calling thread has used, to the nanosecond, where getrusage
// counts ticks.
func threadTime() time.Duration {
	var used unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &used); err != nil {
		panic(err)
	}
	return time.Duration(used.Nano())
}

// blockedReader is for how long readers have been blocked so far, by the profile of
// blocking. That ends when another goroutine lets one go on, not when the scheduler
// does.
func blockedReader() time.Duration {
	var records []runtime.BlockProfileRecord
	for n, ok := runtime.BlockProfile(nil); !ok; {
		records = make([]runtime.BlockProfileRecord, n+10)
		if n, ok = runtime.BlockProfile(records); ok {
			records = records[:n]
		}
	}
	var cycles int64
	for _, r := range records {
		frames := runtime.CallersFrames(r.Stack())
		for more := true; more; {
			var frame runtime.Frame
			if frame, more = frames.Next(); strings.HasSuffix(frame.Function, ".readUntil") {
				cycles += r.Cycles
				break
			}
		}
	}
	return time.Duration(float64(cycles) / cyclesPerSecond() * 1e9)
}

// cyclesPerSecond is told by the text form of the profile only.
var cyclesPerSecond = sync.OnceValue(func() (rate float64) {
	var text bytes.Buffer
	if err := pprof.Lookup("block").WriteTo(&text, 1); err != nil {
		panic(err)
	}
	if _, err := fmt.Sscanf(text.String(), "--- contention:\ncycles/second=%g", &rate); err != nil {
		panic(err)
	}
	return rate
})
