package informer

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestAHandlerHasSeenAVersionWhenItsCallsHaveReturned(t *testing.T) {
	bubble(t, Options[*thing]{}, func(t *testing.T, r *rig) {
		hold := make(chan struct{})
		slow, fast := r.add(&recorder{hold: func() { <-hold }}), r.add(&recorder{})
		r.start()
		version := r.from.set("a")
		if err := fast.WaitFor(t.Context(), version); err != nil {
			t.Error(err)
		}
		waited := make(chan error, 2)
		go func() { waited <- slow.WaitFor(t.Context(), version) }()
		go func() { waited <- r.WaitForHandlers(t.Context(), version) }()
		synctest.Wait()
		if len(waited) > 0 || slow.ResourceVersion() != "1" || r.HandlersSeen() != "1" {
			t.Errorf("the call has not returned, but the handler has seen %s", slow.ResourceVersion())
		}
		close(hold)
		for range 2 {
			if err := <-waited; err != nil {
				t.Error(err)
			}
		}
		if slow.ResourceVersion() != version || r.HandlersSeen() != version {
			t.Errorf("the handler has seen %s, want %s", slow.ResourceVersion(), version)
		}
	})
}

func TestWhatDoesNotConcernAHandlerIsSeenAllTheSame(t *testing.T) {
	bubble(t, Options[*thing]{}, func(t *testing.T, r *rig) {
		reg := r.add(&recorder{}, WithFilter(isOn))
		r.start()
		if err := reg.WaitFor(t.Context(), r.from.set("a")); err != nil {
			t.Error(err)
		}
		r.queue().Bookmark("100") // no notice at all
		if err := reg.WaitFor(t.Context(), "99"); err != nil {
			t.Error(err)
		}
		if got := reg.ResourceVersion(); got != "100" {
			t.Errorf("seen %s, want 100", got)
		}
	})
}

func TestALateHandlerStartsAtItsSnapshot(t *testing.T) {
	bubble(t, Options[*thing]{}, func(t *testing.T, r *rig) {
		r.from.set("a")
		version := r.from.set("b")
		r.start()
		hold := make(chan struct{})
		late := r.add(&recorder{hold: func() { <-hold }})
		if got := late.ResourceVersion(); got != "" {
			t.Errorf("seen %s in the first call", got)
		}
		close(hold)
		if err := late.WaitFor(t.Context(), version); err != nil || late.ResourceVersion() != version {
			t.Errorf("seen %s, %v, want %s", late.ResourceVersion(), err, version)
		}
	})
}

func TestWaitingForAHandlerEndsWithAReason(t *testing.T) {
	bubble(t, Options[*thing]{}, func(t *testing.T, r *rig) {
		removed, left := r.add(&recorder{}), r.add(&recorder{})
		r.start()
		if err := removed.WaitFor(t.Context(), "x"); !errors.Is(err, ErrInvalidResourceVersion) {
			t.Errorf("got %v, want ErrInvalidResourceVersion", err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		err := left.WaitFor(ctx, "1000")
		if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), `1000, at "1" now`) {
			t.Errorf("got %v, want the deadline and both versions", err)
		}
		waited := make(chan error, 3)
		go func() { waited <- removed.WaitFor(t.Context(), "1000") }()
		synctest.Wait()
		removed.Remove()
		if err := <-waited; !errors.Is(err, ErrRemoved) {
			t.Errorf("got %v, want ErrRemoved", err)
		}
		go func() { waited <- r.WaitForHandlers(t.Context(), "1000") }()
		synctest.Wait()
		r.stop()
		if err := <-waited; !errors.Is(err, ErrStopped) {
			t.Errorf("got %v, want ErrStopped", err)
		}
		if err := left.WaitFor(t.Context(), "1"); err != nil {
			t.Errorf("what was seen is seen, got %v", err)
		}
	})
}

func TestWithoutHandlersEverythingInTheCacheIsSeen(t *testing.T) {
	bubble(t, Options[*thing]{}, func(t *testing.T, r *rig) {
		version := r.from.set("a")
		r.start()
		if err := r.WaitForHandlers(t.Context(), "1000"); err != nil {
			t.Error(err)
		}
		if got := r.HandlersSeen(); got != version {
			t.Errorf("seen %s, want %s", got, version)
		}
	})
}
