package bench

import (
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// contest lets readers and one writer work on a store as fast as they can.
type contest struct {
	readers int
	read    func(i int)
	write   func(i int)
	// every says that the latency of one read in so many is measured: of a read
	// that takes as long as looking at the clock, not each.
	every int
}

// contestTime is how long a contest lasts, once all take part in it: several times as
// long as nine goroutines need to have their turn on two cores.
const contestTime = 500 * time.Millisecond

// phases of a contest.
const (
	warmingUp = iota
	measured
	over
)

// result of a contest. Rates are per second, latencies in microseconds.
type result struct{ reads, writes, readP99, readMax, writeP99 float64 }

func (c contest) run() result {
	var phase atomic.Int32
	var reads atomic.Int64
	var all, reading sync.WaitGroup
	latencies := make([][]time.Duration, c.readers)
	reading.Add(c.readers)
	for r := range c.readers {
		all.Go(func() {
			c.read(r)
			reading.Done()
			n, some := c.reads(r*7919, &phase)
			reads.Add(int64(n))
			latencies[r] = some
		})
	}
	// A writer that is alone until the last reader has had its first turn makes more
	// writes meanwhile than it does beside them in all the time.
	reading.Wait()
	phase.Store(measured)
	var writes []time.Duration
	began := time.Now()
	for i := 0; time.Since(began) < contestTime; i++ {
		start := time.Now()
		c.write(i)
		writes = append(writes, time.Since(start))
	}
	took := time.Since(began).Seconds()
	phase.Store(over)
	all.Wait()
	waits := slices.Concat(latencies...)
	return result{
		reads: float64(reads.Load()) / took, writes: float64(len(writes)) / took,
		readP99: percentile(waits, 0.99), readMax: percentile(waits, 1), writeP99: percentile(writes, 0.99),
	}
}

// reads reads from i on until the contest is over, and returns how often it did so
// since it began, and how long some of that took.
func (c contest) reads(i int, phase *atomic.Int32) (n int, some []time.Duration) {
	for ; ; i++ {
		switch phase.Load() {
		case over:
			return n, some
		case warmingUp:
			c.read(i)
			continue
		}
		if n++; n%c.every != 0 {
			c.read(i)
			continue
		}
		began := time.Now()
		c.read(i)
		some = append(some, time.Since(began))
	}
}

// percentile is in microseconds.
func percentile(all []time.Duration, part float64) float64 {
	slices.Sort(all)
	return float64(all[min(len(all)-1, int(float64(len(all))*part))].Nanoseconds()) / 1e3
}

// compareContests runs pairs of contests and reports, for each figure, how many
// times better ours is. The ratio without a name is that of the first figure.
func compareContests(b *testing.B, ours, theirs contest, figures ...figure) {
	b.Helper()
	var us, them []result
	pair := func() {
		newOurs.as(func() { us = append(us, ours.run()) })
		newPeer.as(func() { them = append(them, theirs.run()) })
	}
	for b.Loop() {
		pair()
	}
	for len(us) < leastPairs {
		pair()
	}
	b.ReportMetric(0, "ns/op")
	for k, f := range figures {
		var ourValues, theirValues, ratios []float64
		for i := range us {
			ourValues, theirValues = append(ourValues, f.of(us[i])), append(theirValues, f.of(them[i]))
			ratio := theirValues[i] / ourValues[i]
			if f.more {
				ratio = 1 / ratio
			}
			ratios = append(ratios, ratio)
		}
		b.ReportMetric(median(ourValues), "ours-"+f.name)
		b.ReportMetric(median(theirValues), "peer-"+f.name)
		b.ReportMetric(median(ratios), f.name+"-ratio")
		if k == 0 {
			b.ReportMetric(median(ratios), "ratio")
			b.ReportMetric(slices.Min(ratios), "ratio-min")
			b.ReportMetric(slices.Max(ratios), "ratio-max")
		}
	}
}

// figure is a part of a result.
type figure struct {
	name string
	of   func(result) float64
	more bool // more is better
}

var (
	readRate  = figure{"reads/s", func(r result) float64 { return r.reads }, true}
	writeRate = figure{"writes/s", func(r result) float64 { return r.writes }, true}
	readP99   = figure{"read-p99-us", func(r result) float64 { return r.readP99 }, false}
	readMax   = figure{"read-max-us", func(r result) float64 { return r.readMax }, false}
	writeP99  = figure{"write-p99-us", func(r result) float64 { return r.writeP99 }, false}
)

func (s *stores) update() (ours, theirs func(i int)) {
	return func(i int) { s.put(s.at(i), s.pods[s.at(i)], false) },
		func(i int) { _ = s.theirs.Update(s.pods[s.at(i)]) }
}

// BenchmarkStoreGetBesideWriter has one reader a core.
func BenchmarkStoreGetBesideWriter(b *testing.B) {
	s := newStores(b, 10_000)
	ours, theirs := s.gets()
	writeOurs, writeTheirs := s.update()
	const every = 8
	compareContests(b, contest{2, func(i int) { ours(s.at(i)) }, writeOurs, every},
		contest{2, func(i int) { theirs(s.at(i)) }, writeTheirs, every}, readP99, readRate, writeRate, writeP99)
}

// BenchmarkStoreByIndexBesideWriter has eight readers of namespaces.
func BenchmarkStoreByIndexBesideWriter(b *testing.B) {
	s := newStores(b, 10_000)
	ours, theirs := s.namespaces()
	writeOurs, writeTheirs := s.update()
	compareContests(b, contest{8, func(i int) { ours(s.at(i)) }, writeOurs, 1},
		contest{8, func(i int) { theirs(s.at(i)) }, writeTheirs, 1}, readRate, writeRate, writeP99, readP99)
}

// BenchmarkStoreListBesideWriter has eight readers that list everything.
func BenchmarkStoreListBesideWriter(b *testing.B) {
	forStores(b, func(b *testing.B, s *stores) {
		writeOurs, writeTheirs := s.update()
		compareContests(b, contest{8, func(int) { use(len(s.ours.Snapshot().List())) }, writeOurs, 1},
			contest{8, func(int) { use(len(s.theirs.List())) }, writeTheirs, 1}, writeRate, writeP99, readRate)
	})
}

// BenchmarkStoreGetBesideReplace has one reader, and a writer that replaces
// everything again and again.
func BenchmarkStoreGetBesideReplace(b *testing.B) {
	forStores(b, func(b *testing.B, s *stores) {
		ours, theirs := s.gets()
		items, list := s.items(), make([]any, len(s.pods))
		for i, p := range s.pods {
			list[i] = p
		}
		compareContests(b, contest{1, func(i int) { ours(s.at(i)) }, func(int) { s.ours.Replace(items, "2") }, 1},
			contest{1, func(i int) { theirs(s.at(i)) }, func(int) { _ = s.theirs.Replace(list, "2") }, 1}, readMax, readRate, writeRate)
	})
}
