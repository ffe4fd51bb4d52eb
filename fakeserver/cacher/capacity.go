package cacher

import (
	"math"
	"time"
)

// capacities of a window: what it has and its bounds.
type capacities struct {
	current, min, max int
}

// nextCapacity decides the capacity of a full window that gets one more change.
// span is the age of its oldest change and quarter that of its newest quarter's
// oldest: a window that does not cover the fresh duration doubles, one whose
// newest quarter covers it alone halves.
func nextCapacity(c capacities, span, quarter, fresh time.Duration) int {
	switch {
	case span < fresh:
		return min(c.current*2, max(c.max, c.current))
	case quarter > fresh:
		return max(c.current/2, min(c.min, c.current))
	default:
		return c.current
	}
}

// interval is how many changes are looked at while the mutex is held.
const interval = 100

// indexUse says what the trigger index means to a watcher.
type indexUse uint8

const (
	noIndex     indexUse = iota // the resource has none
	indexUnused                 // it has one, but the watcher requires no value
	indexUsed
)

// bufferSize is the length of one of the two queues that kube-apiserver gives to
// a watcher: what comes in about a second of a window that covers fresh, within
// bounds.
func bufferSize(capacity int, fresh time.Duration, use indexUse) int {
	const least = 10
	most := [...]int{noIndex: 100, indexUnused: 1000, indexUsed: 10}[use]
	return min(max(int(math.Ceil(float64(capacity)/fresh.Seconds())), least), most)
}

// lagLimit is the number of events that a watcher may be behind: both queues,
// and slack for the network's.
func (o *Options) lagLimit(capacity int, use indexUse) int {
	if o.LagLimit > 0 {
		return o.LagLimit
	}
	return 2*bufferSize(capacity, o.Fresh, use) + o.LagSlack
}
