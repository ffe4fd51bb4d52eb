package informer

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// fragile panics where it is told of the object "bad".
type fragile struct{ recorder }

func (f *fragile) OnAdd(obj *thing, initial bool) {
	if obj.Name == "bad" {
		panic("odd object")
	}
	f.recorder.OnAdd(obj, initial)
}

func TestAHandlerMayGoOnAfterAPanic(t *testing.T) {
	bubble(t, Options[*thing]{}, func(t *testing.T, r *rig) {
		h := &fragile{}
		reg := r.add(h, WithPanicPolicy(PanicContinues))
		for _, key := range []string{"a", "bad", "c"} {
			r.from.set(key)
		}
		r.start()
		r.expect(&h.recorder, "initial a:u1@2", "initial c:u3@4")
		r.from.set("d")
		r.expect(&h.recorder, "add d:u4@5")
		s := r.Status().Handlers[0]
		if s.Panics != 1 || s.Calls != 4 || s.Depth != 0 || !s.Synced || reg.ResourceVersion() != "5" {
			t.Errorf("handler %+v, want one panic in four calls, and nothing missing", s)
		}
	})
}

func TestAHandlerMayBeRemovedByAPanic(t *testing.T) {
	bubble(t, Options[*thing]{}, func(t *testing.T, r *rig) {
		h, other := &fragile{}, &recorder{}
		reg := r.add(h, WithPanicPolicy(PanicRemoves))
		r.add(other)
		r.start()
		for _, key := range []string{"a", "bad", "c"} {
			r.from.set(key)
		}
		<-reg.Done()
		r.expect(&h.recorder, "add a:u1@2")
		r.expect(other, "add a:u1@2", "add bad:u2@3", "add c:u3@4")
	})
}

func TestAPanicOfAFilterFollowsThePolicy(t *testing.T) {
	bubble(t, Options[*thing]{}, func(t *testing.T, r *rig) {
		h := &recorder{}
		r.add(h, WithPanicPolicy(PanicContinues), WithFilter(func(obj *thing) bool {
			if obj.Name == "bad" {
				panic("odd object")
			}
			return true
		}))
		r.start()
		r.from.set("bad")
		r.from.set("c")
		r.expect(h, "add c:u2@3")
	})
}

func TestCloseWaitsForTheCallInProgress(t *testing.T) {
	bubble(t, Options[*thing]{}, func(t *testing.T, r *rig) {
		hold := make(chan struct{})
		reg := r.add(&recorder{hold: func() { <-hold }})
		r.start()
		r.from.set("a")
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := reg.Close(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, want the deadline", err)
		}
		closing := make(chan error)
		go func() { closing <- reg.Close(t.Context()) }()
		synctest.Wait()
		close(hold)
		if err := <-closing; err != nil || !closed(reg.Done()) {
			t.Errorf("got %v, done %v", err, closed(reg.Done()))
		}
	})
}

func TestStatusNamesWhoRegisteredAHandlerAndHowItDoes(t *testing.T) {
	bubble(t, Options[*thing]{}, func(t *testing.T, r *rig) {
		reg, err := r.AddHandler(&recorder{hold: func() { time.Sleep(time.Second) }})
		if err != nil {
			t.Fatal(err)
		}
		r.start()
		r.from.set("a")
		r.from.set("b")
		time.Sleep(time.Hour)
		s := r.Status().Handlers[0]
		if !strings.Contains(s.Site, "/panics_test.go:") || s.Site != reg.Site() {
			t.Errorf("site %q, want this file", s.Site)
		}
		if s.Calls != 2 || s.Slowest != time.Second || s.ResourceVersion != "3" {
			t.Errorf("handler %+v, want two calls of a second up to resourceVersion 3", s)
		}
	})
}
