package informer

import (
	"sync/atomic"
	"time"
)

// latencyBounds are the upper bounds of the buckets of a Histogram, the ones that
// client-go's metric informer_processing_latency_seconds has.
var latencyBounds = [...]time.Duration{
	time.Millisecond, 5 * time.Millisecond, 10 * time.Millisecond, 25 * time.Millisecond, 50 * time.Millisecond,
	100 * time.Millisecond, 250 * time.Millisecond, 500 * time.Millisecond, time.Second, 2500 * time.Millisecond,
	5 * time.Second, 10 * time.Second,
}

// Histogram is a distribution of durations, as Prometheus has it.
type Histogram struct {
	// Count is the number of observations and Sum their total.
	Count uint64
	Sum   time.Duration
	// Buckets are by bound, smallest first.
	Buckets []Bucket
}

// Bucket counts the observations that took no longer than UpTo, those of smaller
// bounds included.
type Bucket struct {
	UpTo  time.Duration
	Count uint64
}

// latency gathers a Histogram; it is written by one goroutine and read by any.
type latency struct {
	base time.Time // set before use

	sum    atomic.Int64
	counts [len(latencyBounds) + 1]atomic.Uint64 // the last one: longer than all bounds
}

// now is a moment: time since base is quicker to read than the time.
func (l *latency) now() time.Duration { return time.Since(l.base) }

func (l *latency) observe(d time.Duration) {
	at := 0
	for at < len(latencyBounds) && d > latencyBounds[at] {
		at++
	}
	l.counts[at].Add(1)
	l.sum.Add(int64(d))
}

func (l *latency) histogram() Histogram {
	h := Histogram{Sum: time.Duration(l.sum.Load()), Buckets: make([]Bucket, 0, len(latencyBounds))}
	for k := range l.counts {
		h.Count += l.counts[k].Load()
		if k < len(latencyBounds) {
			h.Buckets = append(h.Buckets, Bucket{UpTo: latencyBounds[k], Count: h.Count})
		}
	}
	return h
}
