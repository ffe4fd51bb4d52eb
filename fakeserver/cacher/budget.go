package cacher

import "time"

// timeBudget is the time that watchers over their limit may take, all together.
// It starts empty, fills at a rate up to a bound, and is spent while at least
// one watcher is over its limit. Its methods need the Cacher's mutex.
type timeBudget struct {
	// perSecond is what comes in each second, most what can be saved.
	perSecond, most time.Duration

	left time.Duration
	at   time.Time // when left was true
}

// advance accounts for the time since the last call, in which somebody was over
// the limit all the time, or nobody was.
func (b *timeBudget) advance(now time.Time, over bool) {
	passed := now.Sub(b.at)
	if passed <= 0 {
		return
	}
	b.at = now
	// Float: the product of two durations does not fit an integer.
	b.left += time.Duration(passed.Seconds() * float64(b.perSecond))
	if over {
		b.left -= passed
	}
	b.left = min(b.most, max(0, b.left))
}
