package reflector

import (
	"errors"
	"io"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// noJitter makes waits predictable: 0.8 s, 1.6 s, 3.2 s …
var noJitter = Backoff{Jitter: -1}

// listFirst is a reflector without watch-list.
var listFirst = Options{DisableWatchList: true, Backoff: noJitter}

// kubernetes#140890
func TestAWatchListThatNeverEndsItsInitialEventsIsReplacedByAListAndRemembered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var expire atomic.Bool
		source := &scripted{
			onWatchList: func(int, metav1.ListOptions) (Stream[*object], error) {
				return plays(added(obj("a", "5")), frame{after: 2 * time.Second, err: io.EOF}), nil
			},
			onWatch: func(n int, _ metav1.ListOptions) (Stream[*object], error) {
				if expire.Load() && n == 1 {
					return nil, apierrors.NewResourceExpired("too old")
				}
				return endsAfter(time.Minute, io.EOF), nil
			},
		}
		r := start(t, source, Options{Backoff: noJitter})
		r.after(2*time.Second + 800*time.Millisecond + 2*time.Second + 1600*time.Millisecond + 2*time.Second)
		want(t, "requests", source.trace(0), `watch-list "", watch-list "", watch-list "", list "0", watch "10"`)
		want(t, "collection", r.sink.contents(), "a@5")
		want(t, "sink", r.sink.trace(), "begin initial, item a@5, abort, begin initial, item a@5, abort, "+
			"begin initial, item a@5, abort, begin initial, item a@5, end 10")

		expire.Store(true) // a relist within the ten minutes does not try a watch-list
		r.after(2 * time.Minute)
		want(t, "relists", r.Status().Relists[RelistExpired], 1)
		want(t, "watch-lists", r.Status().WatchLists, 3)
	})
}

// kubernetes#135895: the server holds the stream open instead.
func TestAWatchListThatStaysSilentIsReplacedByAListWithinItsTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := &scripted{onWatchList: func(int, metav1.ListOptions) (Stream[*object], error) {
			return plays(added(obj("a", "5"))), nil
		}}
		r := start(t, source, Options{})
		r.after(30*time.Second - 1)
		want(t, "requests", source.trace(0), `watch-list ""`)
		r.after(1)
		want(t, "requests", source.trace(1), `list "0", watch "10"`)
		if until := r.Status().WatchListAvoidedUntil; time.Until(until) != 10*time.Minute {
			t.Errorf("watch-list avoided for %v", time.Until(until))
		}
	})
}

// kubernetes#107133
func TestAListAtATooLargeVersionIsFollowedByOneForTheNewestState(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := &scripted{
			onList: func(_ int, options metav1.ListOptions) (Page[*object], error) {
				if options.ResourceVersion == "10" {
					return Page[*object]{}, tooLarge()
				}
				return Page[*object]{ResourceVersion: "10"}, nil
			},
			onWatch: func(n int, _ metav1.ListOptions) (Stream[*object], error) {
				if n == 0 {
					return nil, apierrors.NewResourceExpired("too old")
				}
				return silent(), nil
			},
		}
		r := start(t, source, listFirst)
		r.after(time.Minute)
		want(t, "requests", source.trace(0), `list "0", watch "10", list "10", list "", watch "10"`)
		want(t, "synced again", r.Status().Relists[RelistExpired], 1)
	})
}

// java#1829, java#1533
func TestA410LeadsToExactlyOneRelist(t *testing.T) {
	for name, gone := range map[string]func() (Stream[*object], error){
		"as HTTP status": func() (Stream[*object], error) { return nil, apierrors.NewResourceExpired("too old") },
		"as ERROR event": func() (Stream[*object], error) {
			return endsAfter(0, apierrors.NewResourceExpired("too old")), nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				source := &scripted{onWatch: func(n int, _ metav1.ListOptions) (Stream[*object], error) {
					if n == 0 {
						return gone()
					}
					return silent(), nil
				}}
				r := start(t, source, listFirst)
				r.after(time.Minute)
				want(t, "requests", source.trace(0), `list "0", watch "10", list "10", watch "10"`)
				want(t, "relists", r.Status().Relists[RelistExpired], 1)
				want(t, "code", r.Status().HTTPStatus, 410)
			})
		})
	}
}

// fabric8#7898
func TestStreamsThatEndAtOnceLeadToARelistAfterAFewTries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stale := true
		source := &scripted{
			onList: func(n int, _ metav1.ListOptions) (Page[*object], error) {
				if n == 1 {
					stale = false
					return Page[*object]{ResourceVersion: "20", Items: []*object{obj("b", "15")}}, nil
				}
				return Page[*object]{ResourceVersion: "10", Items: []*object{obj("a", "5")}}, nil
			},
			onWatch: func(int, metav1.ListOptions) (Stream[*object], error) {
				if stale {
					return endsAfter(0, io.EOF), nil
				}
				return silent(), nil
			},
		}
		r := start(t, source, listFirst)
		r.after(time.Minute)
		want(t, "requests", source.trace(0), `list "0", watch "10", watch "10", watch "10", list "10", watch "20"`)
		want(t, "collection", r.sink.contents(), "b@15")
		want(t, "relists", r.Status().Relists[RelistStalled], 1)
	})
}

func TestAServerThatEndsEveryStreamAtOnceIsAskedNoFasterThanTheBackoff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := &scripted{onWatch: func(int, metav1.ListOptions) (Stream[*object], error) {
			return endsAfter(0, io.EOF), nil
		}}
		r := start(t, source, listFirst)
		r.after(time.Hour)
		// 7 waits until the cap, then one each 30 s, each third one with a list.
		if n := len(source.asked()); n > 170 {
			t.Errorf("%d requests in an hour", n)
		}
	})
}

// fabric8#4974
func TestA503AtOpenResumesAfterBackoffWithoutARelist(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := &scripted{onWatch: func(n int, _ metav1.ListOptions) (Stream[*object], error) {
			if n < 2 {
				return nil, apierrors.NewServiceUnavailable("starting")
			}
			return plays(changed(obj("a", "11"))), nil
		}}
		r := start(t, source, listFirst)
		r.after(time.Minute)
		want(t, "requests", source.trace(0), `list "0", watch "10", watch "10", watch "10"`)
		at := source.asked()
		want(t, "first wait", at[2].at-at[1].at, 800*time.Millisecond)
		want(t, "second wait", at[3].at-at[2].at, 1600*time.Millisecond)
		want(t, "collection", r.sink.contents(), "a@11")
		status := r.Status()
		want(t, "reconnects", status.Reconnects, 2)
		want(t, "tries after the recovery", status.Tries, 0)
		want(t, "last code", status.HTTPStatus, 503)
	})
}

// javascript#1933
func TestTenMinutesOfRefusedConnectionsFollowTheBackoffAndNoBurstFollows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var outage atomic.Bool
		source := &scripted{}
		source.onWatch = func(n int, _ metav1.ListOptions) (Stream[*object], error) {
			switch {
			case outage.Load():
				return nil, refused()
			case n == 0:
				return endsAfter(5*time.Minute, io.ErrUnexpectedEOF), nil
			}
			return silent(), nil
		}
		r := start(t, source, listFirst)
		r.after(time.Minute)
		outage.Store(true)
		broke := len(source.asked())
		r.after(4 * time.Minute) // the stream breaks now
		r.after(10 * time.Minute)
		var waits []time.Duration
		last := 5 * time.Minute
		for _, request := range source.asked()[broke:] {
			waits = append(waits, request.at-last)
			last = request.at
		}
		want(t, "first wait", waits[0], 0) // a single lost connection is no outage
		for i, wait := range waits[1:] {
			want(t, "wait", wait, noJitterDelay(i))
		}
		want(t, "requests in the outage", len(waits), 25) // 6 waits of 50.4 s in all, then 18 of 30 s
		want(t, "tries", r.Status().Tries, 25)

		outage.Store(false)
		r.after(4 * time.Minute)
		want(t, "requests after the recovery", source.trace(broke+25), `watch "10", probe`)
		want(t, "lists", r.Status().Lists, 1)
	})
}

// noJitterDelay is the i-th wait in a row.
func noJitterDelay(i int) time.Duration {
	return min(30*time.Second, 800*time.Millisecond<<min(i, 10))
}

// kubernetes#65012
func TestAHalfOpenConnectionIsNoticedWithinTheWatchTimeoutPlusAMargin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := &scripted{}
		r := start(t, source, listFirst)
		r.after(0)
		asked := source.asked()[1]
		timeout := time.Duration(*asked.options.TimeoutSeconds) * time.Second
		if timeout < 5*time.Minute || timeout >= 10*time.Minute {
			t.Errorf("timeout is %v", timeout)
		}
		r.after(timeout)
		want(t, "requests within the timeout", source.trace(1), `watch "10"`)
		r.after(overdueMargin + time.Second)
		want(t, "requests after it", source.trace(1), `watch "10", watch "10"`)
		want(t, "relists", r.Status().Lists, 1)
	})
}

func TestAHalfOpenConnectionIsNoticedWithinTheIdleTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := &scripted{onWatch: func(n int, _ metav1.ListOptions) (Stream[*object], error) {
			if n == 0 {
				mark := bookmark("11", false)
				mark.after = 80 * time.Second
				return plays(mark), nil
			}
			return silent(), nil
		}}
		options := listFirst
		options.IdleTimeout = 90 * time.Second
		r := start(t, source, options)
		r.after(170*time.Second - 1)
		want(t, "requests", source.trace(1), `watch "10"`)
		r.after(1)
		want(t, "requests", source.trace(1), `watch "10", watch "11"`)
		want(t, "relists", r.Status().Lists, 1)
	})
}

func TestAWatchThatBeganAsAWatchListHasTheIdleTimeoutToo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := &scripted{onWatchList: func(int, metav1.ListOptions) (Stream[*object], error) {
			return plays(bookmark("10", true)), nil
		}}
		r := start(t, source, Options{IdleTimeout: time.Minute})
		r.after(time.Minute - 1)
		want(t, "requests", source.trace(0), `watch-list ""`)
		r.after(1)
		want(t, "requests", source.trace(1), `watch "10"`)
		if err := r.Status().LastError; !errors.Is(err, ErrIdle) {
			t.Errorf("last error %v", err)
		}
	})
}

// kubernetes#74022
func TestAWatchAtZeroCutInItsInitialEventsIsBegunAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := &scripted{
			onList: func(int, metav1.ListOptions) (Page[*object], error) { return Page[*object]{ResourceVersion: "0"}, nil },
			onWatch: func(n int, _ metav1.ListOptions) (Stream[*object], error) {
				if n == 0 { // in order of keys, not of versions
					return plays(added(obj("a", "90")), frame{err: io.ErrUnexpectedEOF}), nil
				}
				return plays(added(obj("a", "90")), added(obj("b", "20")), bookmark("95", true), changed(obj("b", "96"))), nil
			},
		}
		r := start(t, source, listFirst)
		r.after(time.Minute)
		want(t, "requests", source.trace(0), `list "0", watch "0", watch "0"`)
		want(t, "collection", r.sink.contents(), "a@90 b@96")
		want(t, "version", r.Status().ResourceVersion, "96")
	})
}
