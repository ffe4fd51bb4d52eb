package informer

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/listwatch/listwatch/reflector"
)

// rigs makes informers over collections of their own, in a bubble.
func rigs(t *testing.T, names []string, f func(*testing.T, []*rig)) {
	synctest.Test(t, func(t *testing.T) {
		var all []*rig
		for _, name := range names {
			from := newCollection()
			inf, err := New(from, Options[*thing]{Name: name, Collection: reflector.Collection{Resource: name}})
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, &rig{Informer: inf, t: t, from: from})
		}
		f(t, all)
		for _, r := range all {
			if r.stop != nil {
				r.stop()
			}
		}
	})
}

func TestWaitForSyncOfSeveralJoinsAllCauses(t *testing.T) {
	rigs(t, []string{"pods", "nodes", "jobs"}, func(t *testing.T, r []*rig) {
		r[0].from.refuse(forbidden)
		r[2].from.refuse(errors.New("no route to host"))
		for _, one := range r {
			one.start()
		}
		began := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		err := WaitForSync(ctx, r[0], r[1], r[2])
		if !errors.Is(err, ErrNotSynced) || !errors.Is(err, context.DeadlineExceeded) || !apierrors.IsForbidden(err) {
			t.Fatalf("got %v", err)
		}
		if waited := time.Since(began); waited != 10*time.Second {
			t.Errorf("without FailFast it waited %v of 10s", waited)
		}
		pods, jobs := strings.Index(err.Error(), `informer "pods"`), strings.Index(err.Error(), `informer "jobs"`)
		if pods < 0 || jobs < pods || strings.Contains(err.Error(), `"nodes"`) {
			t.Errorf("want pods, then jobs, and not nodes, in: %v", err)
		}
		r[0].from.refuse(nil)
		r[2].from.refuse(nil)
		if err := WaitForSync(t.Context(), r[0], r[1], r[2]); err != nil {
			t.Errorf("after the servers gave in: %v", err)
		}
	})
}

func TestFailFastReturnsAtTheFirstDenial(t *testing.T) {
	for name, refusal := range map[string]error{
		"401": apierrors.NewUnauthorized("who are you"),
		"403": apierrors.NewForbidden(schema.GroupResource{Resource: "nodes"}, "", errors.New("no")),
		"404": apierrors.NewNotFound(schema.GroupResource{Resource: "nodes"}, ""),
	} {
		t.Run(name, func(t *testing.T) {
			rigs(t, []string{"pods", "nodes"}, func(t *testing.T, r []*rig) {
				r[0].from.refuse(errors.New("connection reset"))
				r[0].start()
				r[1].from.refuse(errors.New("connection reset"))
				r[1].start()
				began := time.Now()
				got := make(chan error, 1)
				go func() { got <- WaitForSync(FailFast(context.Background()), r[0], r[1]) }()
				time.Sleep(time.Minute)
				r[1].from.refuse(refusal)
				err := <-got
				if !errors.Is(err, ErrDenied) || !errors.Is(err, ErrNotSynced) || apierrors.ReasonForError(err) != apierrors.ReasonForError(refusal) {
					t.Errorf("got %v", err)
				}
				if strings.Contains(err.Error(), `"pods"`) {
					t.Errorf("pods are still to come, yet: %v", err)
				}
				if waited := time.Since(began); waited < time.Minute || waited > 3*time.Minute {
					t.Errorf("returned after %v", waited)
				}
				syncError, ok := errors.AsType[*SyncError](err)
				if !ok || len(syncError.Denials()) != 1 || syncError.Denials()[0].Collection.Resource != "nodes" {
					t.Errorf("denials of %#v", syncError)
				}
			})
		})
	}
}

func TestFailFastLooksAtWhatTheServerSaidBefore(t *testing.T) {
	bubble(t, Options[*thing]{}, func(t *testing.T, r *rig) {
		r.from.refuse(forbidden)
		r.start()
		began := time.Now()
		if err := r.WaitForSync(FailFast(t.Context())); !errors.Is(err, ErrDenied) {
			t.Errorf("got %v, want ErrDenied", err)
		}
		if waited := time.Since(began); waited != 0 {
			t.Errorf("waited %v for what was known", waited)
		}
	})
}

func TestFailFastForgetsWhatAnEarlierRunWasRefused(t *testing.T) {
	bubble(t, Options[*thing]{}, func(t *testing.T, r *rig) {
		r.from.refuse(forbidden)
		r.start()
		synctest.Wait()
		r.stop()
		if err := r.WaitForSync(FailFast(t.Context())); !errors.Is(err, ErrStopped) || errors.Is(err, ErrDenied) {
			t.Errorf("got %v, want that it has stopped", err)
		}
		r.from.refuse(nil)
		got := make(chan error, 1)
		r.start()
		go func() { got <- r.WaitForSync(FailFast(t.Context())) }()
		if err := <-got; err != nil {
			t.Error(err)
		}
	})
}

func TestFailFastDoesNotMindWhatPasses(t *testing.T) {
	bubble(t, Options[*thing]{}, func(t *testing.T, r *rig) {
		r.from.refuse(apierrors.NewServiceUnavailable("starting"))
		r.start()
		got := make(chan error, 1)
		go func() { got <- r.WaitForSync(FailFast(t.Context())) }()
		time.Sleep(time.Hour)
		r.from.refuse(nil)
		if err := <-got; err != nil {
			t.Error(err)
		}
	})
}

func TestWaitForSyncOfSeveralEndsWhenOneStops(t *testing.T) {
	rigs(t, []string{"pods", "nodes"}, func(t *testing.T, r []*rig) {
		for _, one := range r {
			one.from.refuse(errors.New("connection reset"))
			one.start()
		}
		got := make(chan error, 1)
		go func() { got <- WaitForSync(context.Background(), r[0], r[1]) }()
		synctest.Wait()
		r[1].stop()
		if err := <-got; !errors.Is(err, ErrStopped) || strings.Contains(err.Error(), `"pods"`) {
			t.Errorf("got %v, want that nodes stopped", err)
		}
	})
}

func TestTheReflectorsObserverIsStillCalled(t *testing.T) {
	var phases []reflector.Phase
	options := Options[*thing]{Reflector: reflector.Options{Observer: func(s reflector.Status) { phases = append(phases, s.Phase) }}}
	bubble(t, options, func(t *testing.T, r *rig) {
		r.start()
		r.stop()
		if len(phases) == 0 || phases[len(phases)-1] != reflector.Stopped {
			t.Errorf("observed %v", phases)
		}
	})
}

func TestWaitForSyncOfNoneReturnsAtOnce(t *testing.T) {
	if err := WaitForSync(t.Context()); err != nil {
		t.Error(err)
	}
}
