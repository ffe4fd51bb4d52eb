package informer

import (
	"sync"
	"time"
)

// alarm calls a function at a time, with one timer for everything that an
// Informer waits for. Of several times the earliest counts; the function says
// when it wants to be called again.
type alarm struct {
	mu      sync.Mutex // guards the rest, but ringing
	ring    func()     // nil: closed
	at      time.Time  // zero: not set
	timer   *time.Timer
	ringing sync.WaitGroup
}

// open makes the alarm call ring.
func (a *alarm) open(ring func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.ring = ring
}

// by sees to it that ring is called at t, or before.
func (a *alarm) by(t time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.ring == nil || !a.at.IsZero() && !t.Before(a.at) {
		return
	}
	a.at = t
	if a.timer == nil {
		a.timer = time.AfterFunc(time.Until(t), a.fire)
	} else {
		a.timer.Reset(time.Until(t))
	}
}

func (a *alarm) fire() {
	a.mu.Lock()
	ring := a.ring
	a.at = time.Time{}
	if ring != nil {
		a.ringing.Add(1)
		defer a.ringing.Done()
	}
	a.mu.Unlock()
	if ring != nil {
		ring()
	}
}

// close stops the timer and waits for a call in progress.
func (a *alarm) close() {
	a.mu.Lock()
	a.ring, a.at = nil, time.Time{}
	if a.timer != nil {
		a.timer.Stop()
		a.timer = nil
	}
	a.mu.Unlock()
	a.ringing.Wait()
}

// tick looks after handlers: whose resync is due, and who is slow.
func (i *Informer[T]) tick() {
	now := time.Now()
	var slow []*Registration
	var next time.Time
	soonest := func(t time.Time) {
		if next.IsZero() || t.Before(next) {
			next = t
		}
	}
	synced, due := i.state.Load().synced, false
	i.mu.Lock()
	run := i.run
	for c := range i.cursors.all() {
		reg := c.reg
		if late, in := reg.late(); late {
			slow = append(slow, reg)
		} else if in > 0 {
			soonest(now.Add(in))
		}
		switch {
		case !synced || reg.resyncDue.IsZero():
		case reg.resyncDue.After(now):
			soonest(reg.resyncDue)
		default:
			due = true
		}
	}
	i.mu.Unlock()
	if run == nil {
		return
	}
	if due {
		run.resync()
	}
	for _, reg := range slow {
		reg.reportSlow(run.log)
	}
	if !next.IsZero() {
		i.alarm.by(next)
	}
}
