package informer

import (
	"sync/atomic"
	"time"
)

// meter times the calls of one handler. Reading the clock takes longer than many
// a handler does, so calls that take less than quickCall on average are timed
// several at once, a lap; longer calls have a lap each. Where such calls come one
// by one but in quick succession, a lap goes on over the pauses between them: it
// cannot tell what a call took, but that one took very long.
type meter struct {
	base time.Time // what the others count from

	// Of the cursor's goroutine.
	lap, left int                      // calls of a lap, and of this one still to come
	start     int64                    // of this lap
	since     int64                    // of the last work
	busy      bool                     // it came right after the one before
	pauses    bool                     // this lap has some
	calling   bool                     // a call is in progress
	counted   int64                    // calls ever
	returned  func(took time.Duration) // told when a reported call is over

	began    atomic.Int64 // start, for others; 0: no call is in progress
	calls    atomic.Int64 // counted, for others
	slowest  atomic.Int64
	reported atomic.Int64 // the lap, by its start, that was reported as slow
}

const (
	quickCall  = time.Microsecond
	longLap    = 16
	shortPause = time.Millisecond
	// longPauses is more than the pauses of a lap and what waking up takes.
	longPauses = 100 * time.Millisecond
)

// now is never 0.
func (m *meter) now() int64 { return int64(time.Since(m.base)) + 1 }

// startRun is called before the first work of a run.
func (m *meter) startRun() { m.lap, m.left, m.since = 1, 1, -int64(time.Hour) }

// startWork is called before the first of several calls, for something that was
// written at since.
func (m *meter) startWork(since time.Time) {
	at := int64(since.Sub(m.base))
	m.busy = at-m.since < int64(shortPause)
	m.since = at
	if m.pauses = m.busy && m.left < m.lap; !m.pauses {
		m.start, m.left = m.now(), m.lap
	}
	m.began.Store(m.start)
}

// made notes that one more call, or one spared by a filter, was made.
func (m *meter) made() {
	m.calling = false
	if m.left--; m.left == 0 {
		m.endLap()
		m.began.Store(m.start)
	}
}

// endWork is called after the last of several calls.
func (m *meter) endWork() {
	if m.left < m.lap && (!m.busy || m.reported.Load() == m.start) {
		m.endLap()
	}
	m.calls.Store(m.counted)
	m.began.Store(0)
}

func (m *meter) endLap() {
	now, n := m.now(), m.lap-m.left
	took := now - m.start
	m.calls.Store(m.counted)
	if m.reported.Load() == m.start && m.returned != nil {
		m.returned(time.Duration(took))
	}
	long := took > int64(longPauses)
	if each := perCall(took, n); each > m.slowest.Load() && (long || !m.pauses) {
		m.slowest.Store(each)
	}
	switch {
	case m.pauses && !long: // says nothing of the calls
	case took < int64(n)*int64(quickCall):
		m.lap = min(2*m.lap, longLap)
	default:
		m.lap = 1
	}
	m.start, m.left, m.pauses = now, m.lap, false
}

// perCall is what the slowest of n calls took, about: quick calls are taken for
// equal, and if a lap of what used to be quick ones took long, one did.
func perCall(took int64, n int) int64 {
	if took < int64(time.Millisecond) {
		return took / int64(n)
	}
	return took
}

// elapsed is how long the call in progress, if there is one, has taken, and which
// lap it belongs to.
func (m *meter) elapsed() (took time.Duration, lap int64, busy bool) {
	lap = m.began.Load()
	return time.Duration(m.now() - lap), lap, lap != 0
}
