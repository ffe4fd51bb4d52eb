package informer

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/listwatch/listwatch/reflector"
)

// acquire fails the test if there is no lease.
func (r *rig) acquire() *Lease {
	r.t.Helper()
	lease, err := r.Acquire(r.t.Context())
	if err != nil {
		r.t.Fatal(err)
	}
	return lease
}

func (r *rig) waitForSync() {
	r.t.Helper()
	if err := r.WaitForSync(r.t.Context()); err != nil {
		r.t.Fatal(err)
	}
}

func TestTheFirstLeaseStartsTheInformerAndTheLastOneStopsIt(t *testing.T) {
	bubble(t, Options[*thing]{}, func(t *testing.T, r *rig) {
		r.from.set("a")
		first, second := r.acquire(), r.acquire()
		r.waitForSync()
		if r.from.lists != 1 {
			t.Errorf("%d lists for two leases, want 1", r.from.lists)
		}
		first.Release()
		first.Release() // counts once
		synctest.Wait()
		if !r.Status().Running {
			t.Fatal("the Informer stopped while there was a lease")
		}
		if err := first.Close(); err != nil { // returns at once: another one holds it
			t.Error(err)
		}
		if err := second.Close(); err != nil {
			t.Error(err)
		}
		if r.Status().Running {
			t.Error("the Informer runs without a lease after Close")
		}
		<-first.Done()
	})
}

func TestTheContextOfAcquireDoesNotBoundTheRun(t *testing.T) {
	bubble(t, Options[*thing]{}, func(t *testing.T, r *rig) {
		asking, end := context.WithCancel(t.Context())
		lease, err := r.Acquire(asking)
		if err != nil {
			t.Fatal(err)
		}
		end()
		r.waitForSync()
		synctest.Wait()
		if s := r.Status(); !s.Running || !s.Synced {
			t.Errorf("%v after the end of the context", s.Phase)
		}
		if err := lease.Close(); err != nil {
			t.Error(err)
		}
	})
}

func TestALeaseAfterTheLastOneStartsTheInformerAgain(t *testing.T) {
	bubble(t, Options[*thing]{}, func(t *testing.T, r *rig) {
		for n := range 3 {
			want := r.from.set("a")
			lease := r.acquire()
			r.waitForSync() // of this run: the one before is over
			if got := r.Snapshot().ResourceVersion(); got != want {
				t.Errorf("run %d: snapshot at %s, want %s", n, got, want)
			}
			if err := lease.Close(); err != nil {
				t.Error(err)
			}
		}
	})
}

func TestAcquireWaitsForARunThatIsBeingStopped(t *testing.T) {
	bubble(t, Options[*thing]{}, func(t *testing.T, r *rig) {
		r.from.set("a")
		_, err := r.AddHandler(HandlerFuncs[*thing]{AddFunc: func(*thing, bool) { time.Sleep(time.Minute) }})
		if err != nil {
			t.Fatal(err)
		}
		lease := r.acquire()
		r.waitForSync()
		synctest.Wait() // the handler is being called
		lease.Release()
		impatient, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := r.Acquire(impatient); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Acquire while stopping, with a second to wait: %v", err)
		}
		begun := time.Now()
		var leases [3]*Lease
		var acquired sync.WaitGroup
		for k := range leases {
			acquired.Go(func() { leases[k] = r.acquire() })
		}
		acquired.Wait()
		if waited := time.Since(begun); waited != 59*time.Second {
			t.Errorf("Acquire waited for %v, want until the handler has returned", waited)
		}
		r.waitForSync()
		if r.from.lists != 2 {
			t.Errorf("%d lists, want one for each of two runs", r.from.lists)
		}
		for _, l := range leases {
			if err := l.Close(); err != nil {
				t.Error(err)
			}
		}
	})
}

func TestALeaseMayBeGivenBackByAHandler(t *testing.T) {
	bubble(t, Options[*thing]{}, func(t *testing.T, r *rig) {
		r.from.set("a")
		var lease *Lease
		held := make(chan struct{})
		_, err := r.AddHandler(HandlerFuncs[*thing]{AddFunc: func(*thing, bool) { <-held; lease.Release() }})
		if err != nil {
			t.Fatal(err)
		}
		lease = r.acquire()
		close(held)
		<-lease.Done()
		if err := lease.Err(); err != nil {
			t.Error(err)
		}
	})
}

func TestLeasesAndRunExcludeEachOther(t *testing.T) {
	bubble(t, Options[*thing]{}, func(t *testing.T, r *rig) {
		r.start()
		synctest.Wait()
		if _, err := r.Acquire(t.Context()); !errors.Is(err, ErrRunning) {
			t.Errorf("Acquire during Run: %v", err)
		}
		r.stop()
		lease := r.acquire()
		if err := r.Run(t.Context()); !errors.Is(err, ErrRunning) {
			t.Errorf("Run during a lease: %v", err)
		}
		if err := lease.Close(); err != nil {
			t.Error(err)
		}
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := r.Acquire(ended); !errors.Is(err, context.Canceled) {
			t.Errorf("Acquire with a context that has ended: %v", err)
		}
	})
}

// quitter is a feeder that gives up when it is told to.
type quitter struct{ quit chan error }

func (q quitter) Run(ctx context.Context) error {
	select {
	case err := <-q.quit:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (q quitter) Status() reflector.Status { return reflector.Status{} }
func (q quitter) Relist()                  {}

func TestALeaseTellsOfARunThatEndedByItself(t *testing.T) {
	bubble(t, Options[*thing]{}, func(t *testing.T, r *rig) {
		q := quitter{quit: make(chan error)}
		r.parts[0].reflector = q
		lease, other := r.acquire(), r.acquire()
		failure := errors.New("out of luck")
		q.quit <- failure
		<-lease.Done()
		if err := lease.Err(); !errors.Is(err, failure) {
			t.Errorf("Err is %v, want what ended the run", err)
		}
		again := r.acquire() // the dead leases are no hindrance
		if err := other.Close(); !errors.Is(err, failure) {
			t.Errorf("Close of a lease on a run that ended: %v", err)
		}
		if !r.Status().Running {
			t.Error("a lease on an earlier run ended a later one")
		}
		if err := again.Close(); err != nil {
			t.Error(err)
		}
	})
}

func TestWhoHoldsALeaseAmongManyFindsTheInformerRunning(t *testing.T) {
	inf, err := New(newCollection(), Options[*thing]{})
	if err != nil {
		t.Fatal(err)
	}
	var holders atomic.Int32
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 50 {
				lease, err := inf.Acquire(t.Context())
				if err != nil {
					t.Error(err)
					return
				}
				holders.Add(1)
				if err := inf.WaitForSync(t.Context()); err != nil {
					t.Error(err)
				}
				select {
				case <-lease.Done():
					t.Error("the run ended under a lease")
				default:
				}
				holders.Add(-1)
				lease.Release()
			}
		})
	}
	all.Wait()
	if lease, err := inf.Acquire(t.Context()); err != nil {
		t.Error(err)
	} else if err := lease.Close(); err != nil || inf.Status().Running {
		t.Errorf("running: %v, error %v", inf.Status().Running, err)
	}
}
