package cacher

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// calls counts calls, each of which takes a second, and returns the number of
// the call.
//
// bubble: used in bubbles only
type calls struct {
	flights flights[string, int]
	mu      sync.Mutex
	made    int
	running int
	most    int
}

func (c *calls) call(ctx context.Context) (int, error) {
	c.mu.Lock()
	c.made++
	number := c.made
	c.running++
	c.most = max(c.most, c.running)
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		c.running--
		c.mu.Unlock()
	}()
	select {
	case <-time.After(time.Second):
		return number, nil
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}

func (c *calls) do(ctx context.Context) (int, error) { return c.flights.do(ctx, "", c.call) }

func TestThoseWhoComeDuringACallShareTheNextOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c calls
		var all sync.WaitGroup
		expect := func(want int) {
			all.Go(func() {
				if got, err := c.do(t.Context()); got != want || err != nil {
					t.Errorf("got %d, %v, want %d", got, err, want)
				}
			})
		}
		expect(1)
		synctest.Wait()
		for range 100 {
			expect(2)
		}
		time.Sleep(1500 * time.Millisecond) // the second one is on its way
		for range 100 {
			expect(3)
		}
		all.Wait()
		if c.made != 3 || c.most != 1 || len(c.flights.routes) != 0 {
			t.Errorf("%d calls, %d at once, %d routes left", c.made, c.most, len(c.flights.routes))
		}
	})
}

func TestACallerThatGivesUpHarmsNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c calls
		var all sync.WaitGroup
		start := func(patience time.Duration, want error) {
			all.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), patience)
				defer cancel()
				if _, err := c.do(ctx); !errors.Is(err, want) {
					t.Errorf("with %v: %v", patience, err)
				}
			})
			synctest.Wait()
		}
		start(500*time.Millisecond, context.DeadlineExceeded)  // calls
		start(1200*time.Millisecond, context.DeadlineExceeded) // waits, perhaps calls
		start(100*time.Millisecond, context.DeadlineExceeded)  // waits
		start(time.Minute, nil)
		all.Wait()
		if len(c.flights.routes) != 0 {
			t.Error("a route is left")
		}
	})
}

func TestRandomCallersGetWhatWasReadAfterTheyAsked(t *testing.T) {
	for seed := range uint64(20) {
		synctest.Test(t, func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 0))
			var c calls
			var all sync.WaitGroup
			for range 300 {
				time.Sleep(time.Duration(random.IntN(200)) * time.Millisecond)
				patience := time.Duration(random.IntN(4000)) * time.Millisecond
				c.mu.Lock()
				before := c.made
				c.mu.Unlock()
				all.Go(func() {
					ctx, cancel := context.WithTimeout(t.Context(), patience)
					defer cancel()
					got, err := c.do(ctx)
					if err == nil && got <= before || err != nil && !errors.Is(err, context.DeadlineExceeded) {
						t.Errorf("seed %d: got call %d, %v; %d were made before", seed, got, err, before)
					}
				})
			}
			all.Wait()
			if c.most != 1 || len(c.flights.routes) != 0 {
				t.Errorf("seed %d: %d at once, %d routes left", seed, c.most, len(c.flights.routes))
			}
		})
	}
}

func TestACallThatPanicsLetsTheOthersGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var f flights[string, int]
		var all sync.WaitGroup
		for i := range 3 {
			all.Go(func() {
				defer func() { _ = recover() }()
				_, err := f.do(t.Context(), "", func(context.Context) (int, error) {
					time.Sleep(time.Second)
					panic(fmt.Sprint("call ", i))
				})
				if !errors.Is(err, errCallPanicked) {
					t.Errorf("got %v", err)
				}
			})
			synctest.Wait()
		}
		all.Wait()
		if len(f.routes) != 0 {
			t.Error("a route is left")
		}
	})
}
