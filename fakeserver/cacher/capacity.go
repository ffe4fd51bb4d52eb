package cacher

import "time"

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

// lagLimit is the number of events that a watcher may be behind: what comes in
// about a second of a window that covers fresh, within bounds.
func lagLimit(capacity int, fresh time.Duration) int {
	const least, most = 10, 100
	seconds := max(1, int(fresh/time.Second))
	return min(max((capacity+seconds-1)/seconds, least), most)
}
