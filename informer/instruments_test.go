package informer

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/listwatch/listwatch/indexer"
)

// dials are Instruments that keep what they were told.
type dials struct {
	mu        sync.Mutex
	queued    int
	processed int
	stored    []string
}

func (d *dials) Queued(n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.queued = n
}

func (d *dials) Processed(time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.processed++
}

func (d *dials) Stored(resourceVersion string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.stored = append(d.stored, resourceVersion)
}

// String waits until nothing moves any more.
func (d *dials) String() string {
	synctest.Wait()
	d.mu.Lock()
	defer d.mu.Unlock()
	return fmt.Sprint(d.queued, " queued, ", d.processed, " processed, stored ", d.stored)
}

func TestInstrumentsAreToldOfEachPieceOfWork(t *testing.T) {
	d := &dials{}
	bubble(t, Options[*thing]{Instruments: d}, func(t *testing.T, r *rig) {
		expect := func(want string) {
			t.Helper()
			if got := d.String(); got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		}
		r.from.set("a") // at 2
		r.start()
		r.expectCache()
		expect("0 queued, 1 processed, stored [2]")
		r.from.set("b")
		r.expectCache()
		expect("0 queued, 2 processed, stored [2 3]")
		r.Edit(func(s *indexer.Snapshot[*thing]) ([]indexer.Change[*thing], string) {
			return []indexer.Change[*thing]{{Key: "b", Delete: true}}, s.ResourceVersion()
		})
		expect("0 queued, 2 processed, stored [2 3 3]")

		entered, release := make(chan struct{}), make(chan struct{})
		go r.Edit(func(s *indexer.Snapshot[*thing]) ([]indexer.Change[*thing], string) {
			close(entered)
			<-release
			return nil, s.ResourceVersion() // nothing, which is not told
		})
		<-entered // the next batch is taken, and waits to be written
		r.from.set("c")
		synctest.Wait()
		r.from.set("d")
		r.from.set("e")
		expect("2 queued, 2 processed, stored [2 3 3]")
		close(release)
		expect("0 queued, 4 processed, stored [2 3 3 4 6]")
	})
}

func TestInstrumentsCountTheDeltasOfAllParts(t *testing.T) {
	d := &dials{}
	joined(t, []string{"x", "y"}, Options[*thing]{Instruments: d}, func(t *testing.T, r *joinedRig) {
		r.start()
		synctest.Wait()
		if got := d.String(); d.queued != 0 || d.processed == 0 || len(d.stored) == 0 {
			t.Error("got", got)
		}
	})
}

// broken are Instruments that run a function each time.
type broken struct{ stored func() }

func (broken) Queued(int)              {}
func (broken) Processed(time.Duration) {}
func (b broken) Stored(string)         { b.stored() }

func TestInstrumentsAreToldOfTheCacheBeforeHandlersAre(t *testing.T) {
	var entered, release chan struct{}
	calls := 0
	held := broken{func() {
		if calls++; calls <= 3 { // what follows is no object
			entered <- struct{}{}
			<-release
		}
	}}
	bubble(t, Options[*thing]{Instruments: held}, func(t *testing.T, r *rig) {
		r.from.set("a")
		entered, release = make(chan struct{}), make(chan struct{}) // the bubble's
		told := 0
		if _, err := r.AddHandler(HandlerFuncs[*thing]{AddFunc: func(*thing, bool) { told++ }}); err != nil {
			t.Fatal(err)
		}
		r.start()
		for i := range 3 {
			<-entered
			synctest.Wait()
			if told != i || r.Snapshot().Len() != i+1 {
				t.Errorf("write %d: %d objects in the cache, the handler was told of %d", i+1, r.Snapshot().Len(), told)
			}
			release <- struct{}{}
			synctest.Wait()
			if told != i+1 {
				t.Errorf("write %d: the handler was told of %d", i+1, told)
			}
			if i < 2 {
				r.from.set(string(rune('b' + i)))
			}
		}
	})
}

func TestHandlersAreToldAllTheSameWhenInstrumentsEndTheRun(t *testing.T) {
	calls := 0
	once := func() {
		if calls++; calls == 3 {
			runtime.Goexit()
		}
	}
	synctest.Test(t, func(t *testing.T) {
		from, told := newCollection(), &recorder{}
		from.set("a")
		inf, err := New[*thing](from, Options[*thing]{Instruments: broken{once}})
		if err != nil {
			t.Fatal(err)
		}
		handler, err := inf.AddHandler(told)
		if err != nil {
			t.Fatal(err)
		}
		for _, wanted := range []error{ErrExited, nil} {
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan error, 1)
			go func() { done <- inf.Run(ctx) }()
			for range 4 {
				time.Sleep(time.Minute)
				from.set("a")
			}
			synctest.Wait()
			cancel()
			if err := <-done; !errors.Is(err, wanted) {
				t.Errorf("Run returned %v, want %v", err, wanted)
			}
		}
		if depth := handler.Depth(); depth != 0 {
			t.Errorf("the handler is %d calls behind, for good", depth)
		}
	})
}
