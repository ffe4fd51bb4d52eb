package reflector

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestAStopTakesNoTimeInWhateverPhase(t *testing.T) {
	hangs := func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
	for name, source := range map[string]Source[*object]{
		"listing":            blocking{list: hangs},
		"opening":            blocking{watch: hangs},
		"watching":           &scripted{},
		"backing off":        blocking{list: func(context.Context) error { return io.EOF }},
		"flooded by a watch": blocking{},
	} {
		for _, options := range []Options{listFirst, {}} {
			t.Run(name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					sink := &recorder{}
					r, err := New[*object](source, sink, options)
					if err != nil {
						t.Fatal(err)
					}
					ctx, cancel := context.WithCancel(quiet())
					time.AfterFunc(time.Second, cancel)
					began := time.Now()
					if err := r.Run(ctx); !errors.Is(err, context.Canceled) {
						t.Errorf("Run returned %v", err)
					}
					want(t, "time of the stop", time.Since(began), time.Second)
					want(t, "phase", r.Status().Phase, Stopped)
					if sink.broken != nil || sink.pending != nil {
						t.Errorf("broken bracket: %v", sink.broken)
					}
				})
			})
		}
	}
}

// blocking is a source whose requests do what its functions do, and whose
// streams give an event each virtual millisecond.
type blocking struct {
	list, watch func(context.Context) error
}

func (b blocking) List(ctx context.Context, _ metav1.ListOptions) (Page[*object], error) {
	if b.list != nil {
		return Page[*object]{}, b.list(ctx)
	}
	return Page[*object]{ResourceVersion: "10"}, nil
}

func (b blocking) Watch(ctx context.Context, _ metav1.ListOptions) (Stream[*object], error) {
	if b.watch != nil {
		return nil, b.watch(ctx)
	}
	return flood{}, nil
}

// bubble: only streams of blocking, which is only run in bubbles, are floods.
type flood struct{}

func (flood) Next(ctx context.Context) (Event[*object], error) {
	select {
	case <-time.After(time.Millisecond):
	case <-ctx.Done(): // and has an event all the same
	}
	return added(obj("a", "11")).event, nil
}

func (flood) Close() {}

func TestAListThatIsNeverAnsweredIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := blocking{list: func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }}
		r, err := New[*object](source, &recorder{}, Options{DisableWatchList: true, ListTimeout: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(quiet(), time.Minute+time.Millisecond)
		defer cancel()
		if err := r.Run(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Run returned %v", err)
		}
		if err := r.Status().LastError; !errors.Is(err, ErrListOverdue) {
			t.Errorf("last error %v", err)
		}
	})
}

func TestASecondRunAtTheSameTimeIsRefusedAndALaterOneIsNot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := &scripted{}
		r := start(t, source, listFirst)
		r.after(0)
		if err := r.Run(quiet()); !errors.Is(err, ErrRunning) {
			t.Errorf("second Run returned %v", err)
		}
		r.stop()
		r.run()
		r.after(0)
		want(t, "requests", source.trace(0), `list "0", watch "10", list "10", watch "10"`)
		want(t, "phase", r.Status().Phase, Watching)
	})
}

func TestARunThatIsStoppedBeforeItBeginsMakesNoStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := &scripted{}
		r, err := New[*object](source, &recorder{}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(quiet())
		cancel()
		if err := r.Run(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("Run returned %v", err)
		}
		want(t, "requests", source.trace(0), "")
	})
}

func TestTheObserverSeesEveryPhaseAndFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var phases []Phase
		options := listFirst
		options.Observer = func(s Status) {
			mu.Lock()
			defer mu.Unlock()
			phases = append(phases, s.Phase)
		}
		source := &scripted{onWatch: func(n int, _ metav1.ListOptions) (Stream[*object], error) {
			if n == 0 {
				return nil, refused()
			}
			return silent(), nil
		}}
		r := start(t, source, options)
		r.after(time.Minute)
		r.stop()
		seen := ""
		for _, phase := range phases {
			seen += phase.String() + " "
		}
		want(t, "phases", seen, "listing watching backing off watching stopped ")
	})
}

func TestAStatusIsACopy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, &scripted{}, listFirst)
		r.after(0)
		status := r.Status()
		status.Relists[RelistInitial] = 99
		want(t, "relists", r.Status().Relists[RelistInitial], 1)
	})
}

func TestAPanickingSinkLeavesNothingHalfDone(t *testing.T) {
	for name, c := range map[string]struct {
		at      string
		options Options
	}{
		"in a watch":      {"add", listFirst},
		"in a list":       {"item", listFirst},
		"in a watch-list": {"item", Options{}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				stream := func(int, metav1.ListOptions) (Stream[*object], error) {
					return plays(added(obj("a", "11")), bookmark("11", true)), nil
				}
				source := &scripted{onWatch: stream, onWatchList: stream}
				sink := &panicking{recorder: &recorder{}, at: c.at}
				r, err := New[*object](source, sink, c.options)
				if err != nil {
					t.Fatal(err)
				}
				func() {
					defer func() { want[any](t, "panic", recover(), "sink") }()
					_ = r.Run(quiet())
				}()
				for _, s := range source.streams {
					want(t, "stream closed", s.closed, true)
				}
				want(t, "bracket open", sink.pending != nil, false)
				want(t, "brackets ended", strings.Count(sink.trace(), "end ")+strings.Count(sink.trace(), "abort"), 1)
				want(t, "phase", r.Status().Phase, Stopped)
				sink.at = ""
				ctx, cancel := context.WithTimeout(quiet(), time.Second)
				defer cancel()
				want(t, "another run", r.Run(ctx), context.DeadlineExceeded)
				want(t, "collection", sink.contents(), "a@11")
			})
		})
	}
}

// panicking panics at a call.
type panicking struct {
	*recorder
	at string
}

func (p *panicking) panics(at string) {
	if p.at == at {
		panic("sink")
	}
}

func (p *panicking) Add(o *object)         { p.panics("add"); p.recorder.Add(o) }
func (p *panicking) ReplaceItem(o *object) { p.panics("item"); p.recorder.ReplaceItem(o) }
