package informer

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// showEvent is an Event as text, after the ResourceVersion.
func showEvent(e Event[*thing]) string {
	text := e.ResourceVersion + ": "
	switch e.Type {
	case EventAdded:
		return text + showAdd(e.Object, e.Initial)
	case EventUpdated:
		return text + showUpdate(e.Old, e.Object)
	case EventDeleted:
		return text + showDelete(Deleted[*thing]{Key: e.Key(), Last: e.Object, Exact: e.Exact})
	}
	return text + e.Type.String()
}

func TestEventsAreWhatAHandlerIsToldInTheGoroutineOfTheLoop(t *testing.T) {
	bubble(t, Options[*thing]{}, func(t *testing.T, r *rig) {
		r.from.set("a")
		r.start()
		var got []string
		for e := range r.Events(t.Context(), WithName("loop")) {
			got = append(got, showEvent(e))
			switch len(got) {
			case 1:
				if s := r.Status().Handlers; len(s) != 1 || s[0].Name != "loop" || !strings.Contains(s[0].Site, "/events_test.go:") {
					t.Errorf("handlers %+v, want the loop", s)
				}
			case 2:
				r.from.set("a")
				synctest.Wait() // a batch of its own
				r.from.set("b")
				synctest.Wait()
			case 4:
				r.from.remove("a")
			}
			if e.Type == EventDeleted {
				break
			}
		}
		want := []string{"2: initial a:u1@2", "2: Synced", "3: update a:u1@2 -> a:u1@3", "4: add b:u2@4", "5: delete a:u1@5 exact"}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("events (-want +got):\n%s", diff)
		}
		if s := r.Status().Handlers; len(s) != 0 {
			t.Errorf("handlers %+v after the loop was left", s)
		}
	})
}

func TestEventsStartBeforeRunAndEndAfterTheLastChange(t *testing.T) {
	bubble(t, Options[*thing]{}, func(t *testing.T, r *rig) {
		r.from.set("a")
		var got []string
		done := make(chan struct{})
		go func() {
			defer close(done)
			for e := range r.Events(context.Background()) {
				got = append(got, showEvent(e))
				time.Sleep(time.Second)
			}
		}()
		synctest.Wait()
		r.start()
		r.from.set("b")
		synctest.Wait()
		r.from.set("c")
		synctest.Wait()
		r.stop() // while the first event is dealt with
		if closed(done) {
			t.Error("ended before the last change was told")
		}
		<-done
		want := []string{"2: initial a:u1@2", "2: Synced", "3: add b:u2@3", "4: add c:u3@4"}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("events (-want +got):\n%s", diff)
		}
		got = nil
		for e := range r.Events(context.Background()) {
			got = append(got, e.Type.String()+" "+e.Key())
		}
		if diff := cmp.Diff([]string{"Added a", "Added b", "Added c"}, got); diff != "" {
			t.Errorf("events of a stopped informer (-want +got):\n%s", diff)
		}
	})
}

func TestEventsEndWithTheirContext(t *testing.T) {
	bubble(t, Options[*thing]{}, func(t *testing.T, r *rig) {
		r.start()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		n := 0
		for range r.Events(ctx) {
			n++
		}
		if n != 1 || ctx.Err() == nil {
			t.Errorf("%d events, want only Synced; context: %v", n, ctx.Err())
		}
	})
}

func TestALoopMayBeLeftAtAnyEventAndRangedOverAgain(t *testing.T) {
	bubble(t, Options[*thing]{}, func(t *testing.T, r *rig) {
		r.from.set("a")
		r.from.set("b")
		r.start()
		events := r.Events(t.Context())
		for leave := 1; leave <= 3; leave++ {
			n := 0
			for range events {
				if n++; n == leave {
					break
				}
			}
			if handlers := r.Status().Handlers; n != leave || len(handlers) != 0 {
				t.Errorf("left after %d of %d events, with handlers %v", n, leave, handlers)
			}
		}
	})
}

func TestAPanicInTheLoopIsTheLoops(t *testing.T) {
	bubble(t, Options[*thing]{}, func(t *testing.T, r *rig) {
		r.start()
		func() {
			defer func() {
				if p := recover(); p != "mine" {
					t.Errorf("recovered %v, want the panic of the loop", p)
				}
			}()
			for range r.Events(t.Context()) {
				panic("mine")
			}
		}()
		if handlers := r.Status().Handlers; len(handlers) != 0 {
			t.Errorf("handlers %+v after the panic", handlers)
		}
	})
}

func TestALoopCanAskForTheLatestStateOnly(t *testing.T) {
	bubble(t, Options[*thing]{}, func(t *testing.T, r *rig) {
		r.start()
		var got []string
		for e := range r.Events(t.Context(), WithLatestOnly(), WithFilter(func(obj *thing) bool { return obj.Name != "hidden" })) {
			got = append(got, showEvent(e))
			if len(got) == 3 {
				break
			}
			r.from.set("hidden")
			for range 100 {
				r.from.set("a")
				synctest.Wait()
			}
		}
		if diff := cmp.Diff([]string{"1: Synced", "102: add a:u2@102", "203: update a:u2@102 -> a:u2@203"}, got); diff != "" {
			t.Errorf("events (-want +got):\n%s", diff)
		}
	})
}

func TestEventsRefuseOptionsThatMakeNoSense(t *testing.T) {
	inf, err := New(newCollection(), Options[*thing]{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err, _ := recover().(error); !errors.Is(err, ErrInvalidOptions) {
			t.Errorf("recovered %v, want ErrInvalidOptions", err)
		}
	}()
	inf.Events(t.Context(), WithResync(time.Millisecond))
}

func TestEnumsAreNamed(t *testing.T) {
	for got, want := range map[fmt.Stringer]string{
		EventAdded: "Added", EventUpdated: "Updated", EventDeleted: "Deleted", EventSynced: "Synced", EventType(9): "EventType(9)",
		PanicCrashes: "PanicCrashes", PanicContinues: "PanicContinues", PanicRemoves: "PanicRemoves", PanicPolicy(9): "PanicPolicy(9)",
	} {
		if got.String() != want {
			t.Errorf("got %v, want %s", got, want)
		}
	}
}
