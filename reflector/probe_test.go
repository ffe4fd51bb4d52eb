package reflector

import (
	"context"
	"errors"
	"io"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// outage is a source whose first watch breaks after a minute and whose second one
// plays what is given; every newest state is at a version of the server's.
func outage(newest string, second ...frame) *scripted {
	return &scripted{
		onProbe: func(context.Context, int) (Page[*object], error) { return Page[*object]{ResourceVersion: newest}, nil },
		onList: func(_ int, options metav1.ListOptions) (Page[*object], error) {
			if options.ResourceVersion == "" {
				return Page[*object]{ResourceVersion: newest, Items: []*object{obj("b", "3")}}, nil
			}
			return Page[*object]{ResourceVersion: "10", Items: []*object{obj("a", "5")}}, nil
		},
		onWatch: func(n int, _ metav1.ListOptions) (Stream[*object], error) {
			switch n {
			case 0:
				return endsAfter(time.Minute, io.ErrUnexpectedEOF), nil
			case 1:
				return plays(second...), nil
			}
			return silent(), nil
		},
	}
}

func TestAServerThatWentBackIsFoundSoonAfterAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := outage("4")
		r := start(t, source, listFirst)
		r.after(time.Minute + 10*time.Second - 1)
		want(t, "requests", source.trace(0), `list "0", watch "10", watch "10"`)
		r.after(10*time.Second + 1)
		want(t, "requests", source.trace(0), `list "0", watch "10", watch "10", probe, list "", watch "4"`)
		want(t, "collection", r.sink.contents(), "b@3")
		status := r.Status()
		want(t, "relists", status.Relists[RelistRewound], 1)
		want(t, "rewinds", status.Rewinds, 1)
		want(t, "probes", status.Probes, 1)
		want(t, "lists", status.Lists, 2)
		last := status.Recent[len(status.Recent)-1]
		want(t, "last disconnect", last.Reason, "history went back")
		want(t, "that leads to a relist", last.Relist, RelistRewound)
		if !errors.Is(status.LastError, ErrRewound) {
			t.Errorf("last error is %v", status.LastError)
		}
		r.after(4 * time.Minute)
		want(t, "requests", len(source.asked()), 6)
	})
}

func TestAServerThatKeptItsHistoryIsAskedOnceAndTheWatchGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		next := changed(obj("a", "11"))
		next.after = time.Minute
		source := outage("10", next)
		r := start(t, source, listFirst)
		r.after(time.Minute + 20*time.Second)
		want(t, "requests", source.trace(0), `list "0", watch "10", watch "10", probe`)
		r.after(4 * time.Minute)
		want(t, "requests", source.trace(4), "")
		want(t, "collection", r.sink.contents(), "a@11")
	})
}

func TestAWatchThatBringsSomethingIsNotProbed(t *testing.T) {
	for name, next := range map[string]frame{"an event": changed(obj("a", "11")), "a bookmark": bookmark("11", false)} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				next.after = 9 * time.Second
				source := outage("4", next)
				r := start(t, source, listFirst)
				r.after(5 * time.Minute)
				want(t, "requests", source.trace(0), `list "0", watch "10", watch "10"`)
			})
		})
	}
}

func TestAServerIsAskedAfterTwoFullWatchesWithoutAWord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := outage("10")
		source.onWatch = func(int, metav1.ListOptions) (Stream[*object], error) {
			return endsAfter(5*time.Minute, io.EOF), nil
		}
		r := start(t, source, listFirst)
		r.after(21 * time.Minute)
		want(t, "requests", source.trace(0), `list "0", watch "10", watch "10", watch "10", probe, watch "10", watch "10", probe`)
	})
}

func TestAProbeThatFailsHarmsNothing(t *testing.T) {
	for name, probe := range map[string]func(context.Context) (Page[*object], error){
		"without a version": func(context.Context) (Page[*object], error) { return Page[*object]{}, nil },
		"no number":         func(context.Context) (Page[*object], error) { return Page[*object]{ResourceVersion: "x"}, nil },
		"never answered": func(ctx context.Context) (Page[*object], error) {
			<-ctx.Done()
			return Page[*object]{}, ctx.Err()
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				source := outage("4")
				answer := probe
				source.onProbe = func(ctx context.Context, n int) (Page[*object], error) {
					if n == 1 {
						return Page[*object]{ResourceVersion: "4"}, nil
					}
					return answer(ctx)
				}
				source.onWatch = func(n int, _ metav1.ListOptions) (Stream[*object], error) {
					if n > 1 {
						return silent(), nil
					}
					return endsAfter(time.Minute, io.ErrUnexpectedEOF), nil
				}
				r := start(t, source, listFirst)
				r.after(2*time.Minute - 1)
				want(t, "requests", source.trace(0), `list "0", watch "10", watch "10", probe`)
				want(t, "last reason", r.Status().Recent[0].Reason, "connection lost")
				want(t, "phase", r.Status().Phase, Watching)
				r.after(time.Minute) // the next outage is the next occasion
				want(t, "requests", source.trace(4), `watch "10", probe, list "", watch "4"`)
			})
		})
	}
}

func TestAProbeThatIsRefusedIsRepeated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := outage("4")
		source.onProbe = func(_ context.Context, n int) (Page[*object], error) {
			if n < 2 {
				return Page[*object]{}, syscall.ECONNREFUSED
			}
			return Page[*object]{ResourceVersion: "4"}, nil
		}
		r := start(t, source, listFirst)
		r.after(time.Minute + 25*time.Second) // at most 20 s, and waits of 1.6 and 3.2 s
		want(t, "requests", source.trace(0), `list "0", watch "10", watch "10", probe, probe, probe, list "", watch "4"`)
	})
}

func TestAProbeIsNotRepeatedBeforeTheServerWantsIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := outage("4")
		source.onProbe = func(_ context.Context, n int) (Page[*object], error) {
			if n == 0 {
				return Page[*object]{}, apierrors.NewTooManyRequests("busy", 60)
			}
			return Page[*object]{ResourceVersion: "4"}, nil
		}
		r := start(t, source, listFirst)
		r.after(2 * time.Minute)
		want(t, "requests", source.trace(0), `list "0", watch "10", watch "10", probe`)
		r.after(30 * time.Second)
		want(t, "requests", source.trace(4), `probe, list "", watch "4"`)
	})
}

func TestAWatchIsProbedBeforeItIsGivenUpAsSilent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := outage("4")
		r := start(t, source, Options{DisableWatchList: true, IdleTimeout: 9 * time.Second})
		r.after(2 * time.Minute)
		if !strings.Contains(source.trace(0), `probe, list "", watch "4"`) {
			t.Errorf("requests are %s", source.trace(0))
		}
	})
}

func TestAStopEndsAProbe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := outage("4")
		source.onProbe = func(ctx context.Context, _ int) (Page[*object], error) {
			<-ctx.Done()
			return Page[*object]{ResourceVersion: "4"}, nil // too late
		}
		r := start(t, source, listFirst)
		r.after(2 * time.Minute)
		want(t, "probes", r.Status().Probes, 1)
		r.stop() // which must take no time
	})
}

func TestABusyWatchIsNotHeldUpByAProbe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		next := changed(obj("a", "11"))
		next.after = 30 * time.Second // later than the probe, which is not answered before
		source := outage("10", next)
		answer := make(chan string)
		source.onProbe = func(context.Context, int) (Page[*object], error) {
			return Page[*object]{ResourceVersion: <-answer}, nil
		}
		r := start(t, source, listFirst)
		r.after(time.Minute + 31*time.Second)
		want(t, "collection", r.sink.contents(), "a@11")
		answer <- "10" // where the watch was when the probe was made
		r.after(time.Minute)
		want(t, "requests", source.trace(0), `list "0", watch "10", watch "10", probe`)
	})
}
