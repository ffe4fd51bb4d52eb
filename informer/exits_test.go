package informer

import (
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// exiter ends its goroutine where it is told of one of the keys in any way.
type exiter struct {
	recorder
	adds, updates, deletes string // the name, "" for none
}

func quitAt(name string, obj *thing) {
	if name == obj.Name {
		runtime.Goexit()
	}
}

func (e *exiter) OnAdd(obj *thing, initial bool) {
	e.recorder.OnAdd(obj, initial)
	quitAt(e.adds, obj)
}

func (e *exiter) OnUpdate(old, obj *thing) {
	e.recorder.OnUpdate(old, obj)
	quitAt(e.updates, obj)
}

func (e *exiter) OnDelete(d Deleted[*thing]) {
	e.recorder.OnDelete(d)
	quitAt(e.deletes, d.Last)
}

func TestAHandlerThatEndsItsGoroutineGoesOnInAnother(t *testing.T) {
	for name, opts := range map[string][]HandlerOption{
		"every change": {WithName("odd")}, "the latest only": {WithName("odd"), WithLatestOnly()},
		"going on after panics": {WithName("odd"), WithPanicPolicy(PanicContinues)},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, Options[*thing]{}, func(t *testing.T, r *rig) {
				out := r.logged()
				h := &exiter{adds: "bad", updates: "bad", deletes: "bad"}
				reg := r.add(h, opts...)
				for _, key := range []string{"a", "bad", "c"} {
					r.from.set(key)
				}
				r.start()
				r.expect(&h.recorder, "initial a:u1@2", "initial bad:u2@3", "initial c:u3@4")
				if !closed(reg.Synced()) {
					t.Error("the handler is not synced")
				}
				r.from.set("bad")
				r.expect(&h.recorder, "update bad:u2@3 -> bad:u2@5")
				r.from.remove("bad")
				r.expect(&h.recorder, "delete bad:u2@6 exact")
				s := r.Status()
				if h := s.Handlers[0]; h.Panics != 3 || h.Calls != 5 || h.Depth != 0 || reg.ResourceVersion() != "6" {
					t.Errorf("handler %+v, want three exits in five calls, and nothing left", h)
				}
				if trouble := strings.Join(s.Trouble(), "\n"); !strings.Contains(trouble, `3 calls of handler "odd" (`+reg.Site()) {
					t.Errorf("trouble is %q", trouble)
				}
				line := []string{`handler="odd"`, `key="bad"`, reg.Site()}
				expectLines(t, out, "ended its goroutine", line, line, line)
				r.stop()
				r.from.set("d")
				r.start()
				r.expect(&h.recorder, "add d:u4@7")
				if depth := reg.Depth(); depth != 0 {
					t.Errorf("depth %d after a restart", depth)
				}
			})
		})
	}
}

func TestAHandlerThatEndsItsGoroutineAtTheEndIsHeldNeitherBackNorUp(t *testing.T) {
	bubble(t, Options[*thing]{}, func(t *testing.T, r *rig) {
		hold := make(chan struct{})
		h := &exiter{adds: "bad", recorder: recorder{hold: func() { <-hold }}}
		reg := r.add(h)
		r.start()
		r.from.set("bad")
		r.from.set("c")
		synctest.Wait()
		time.AfterFunc(time.Second, func() { close(hold) }) // while the run is being stopped
		r.stop()
		if depth := reg.Depth(); depth != 1 {
			t.Errorf("depth %d, want one call left", depth)
		}
		r.start()
		r.expect(&h.recorder, "add bad:u1@2", "add c:u2@3")
	})
}

func TestAHandlerMayBeRemovedByTheEndOfItsGoroutine(t *testing.T) {
	bubble(t, Options[*thing]{}, func(t *testing.T, r *rig) {
		h := &exiter{adds: "bad"}
		reg := r.add(h, WithPanicPolicy(PanicRemoves))
		r.start()
		r.from.set("bad")
		r.from.set("c")
		<-reg.Done()
		r.expect(&h.recorder, "add bad:u1@2")
	})
}

func TestAnAddAfterADeleteThatEndedTheGoroutineIsStillTold(t *testing.T) {
	bubble(t, Options[*thing]{}, func(t *testing.T, r *rig) {
		h := &exiter{deletes: "bad"}
		reg := r.add(h, WithLatestOnly())
		r.from.set("bad") // 2
		r.start()
		r.expect(&h.recorder, "initial bad:u1@2")
		r.outage(func() { // both are read at once
			r.from.remove("bad") // 3
			r.from.set("bad")    // 4
			r.from.compact()
		})
		r.expect(&h.recorder, "delete bad:u1@2", "add bad:u2@4")
		if depth := reg.Depth(); depth != 0 || reg.ResourceVersion() != "4" {
			t.Errorf("depth %d at %q, want nothing left", depth, reg.ResourceVersion())
		}
	})
}

func TestAResyncThatEndsTheGoroutineIsNotTheLast(t *testing.T) {
	bubble(t, Options[*thing]{}, func(t *testing.T, r *rig) {
		h := &exiter{updates: "a"}
		reg := r.add(h, WithResync(time.Minute))
		r.from.set("a")
		r.from.set("b")
		r.start()
		r.expect(&h.recorder, "initial a:u1@2", "initial b:u2@3")
		for range 2 {
			time.Sleep(time.Minute)
			r.expect(&h.recorder, "update a:u1@2 -> a:u1@2")
		}
		if depth := reg.Depth(); depth != 0 {
			t.Errorf("depth %d", depth)
		}
		r.from.set("c")
		r.expect(&h.recorder, "add c:u3@4")
	})
}
