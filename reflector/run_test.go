package reflector

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestAWatchListBecomesTheWatchOnTheSameStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := &scripted{onWatchList: func(int, metav1.ListOptions) (Stream[*object], error) {
			return plays(added(obj("a", "5")), added(obj("b", "3")), changed(obj("b", "9")), bookmark("10", true),
				changed(obj("a", "11")), deleted(obj("b", "12")), bookmark("15", false)), nil
		}}
		r := start(t, source, Options{})
		r.after(0)
		want(t, "requests", source.trace(0), `watch-list ""`)
		options := source.asked()[0].options
		if !options.AllowWatchBookmarks || options.ResourceVersionMatch != metav1.ResourceVersionMatchNotOlderThan || !*options.SendInitialEvents {
			t.Errorf("options %+v", options)
		}
		want(t, "sink", r.sink.trace(), "begin initial, item a@5, item b@3, item b@9, end 10, "+
			"update a@11, delete b@12, bookmark 15")
		status := r.Status()
		want(t, "phase", status.Phase, Watching)
		want(t, "version", status.ResourceVersion, "15")
		want(t, "synced", status.Synced, true)
		want(t, "last bookmark", status.LastBookmark, time.Now())

		r.after(11 * time.Minute) // overdue: the stream is taken for dead, and resumed
		want(t, "requests", source.trace(1), `watch "15"`)
		if err := r.Status().LastError; !errors.Is(err, ErrWatchOverdue) {
			t.Errorf("last error %v", err)
		}
	})
}

func TestADeletionDuringInitialEventsComesAfterTheReplacementThatHadTheObject(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := &scripted{onWatchList: func(int, metav1.ListOptions) (Stream[*object], error) {
			return plays(added(obj("a", "5")), added(obj("b", "3")), deleted(obj("a", "12")), added(obj("a", "13")),
				deleted(obj("b", "14")), bookmark("14", true)), nil
		}}
		r := start(t, source, Options{})
		r.after(0)
		want(t, "sink", r.sink.trace(), "begin initial, item a@5, item b@3, end 11, delete a@12, add a@13, delete b@14, bookmark 14")
		want(t, "collection", r.sink.contents(), "a@13")
		want(t, "version", r.Status().ResourceVersion, "14")
	})
}

func TestADeletionOfAnAbortedReplacementIsForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := &scripted{onWatchList: func(n int, _ metav1.ListOptions) (Stream[*object], error) {
			if n == 0 {
				return plays(added(obj("a", "5")), deleted(obj("a", "12")), frame{err: io.EOF}), nil
			}
			return plays(added(obj("a", "13")), deleted(obj("b", "15")), bookmark("16", true)), nil
		}}
		r := start(t, source, Options{})
		r.after(2 * time.Second)
		want(t, "sink", r.sink.trace(), "begin initial, item a@5, abort, begin initial, item a@13, end 14, delete b@15, bookmark 16")
	})
}

func TestAnOrderlyEndThatTheNextWatchFollowsIsNoError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := &scripted{onWatch: func(n int, _ metav1.ListOptions) (Stream[*object], error) {
			return endsAfter(time.Minute>>(10*n), io.EOF), nil
		}}
		r := start(t, source, listFirst)
		r.after(time.Minute)
		want(t, "error after a stream that lasted", r.Status().LastError, nil)
		r.after(100 * time.Millisecond)
		want(t, "error after one that did not", r.Status().LastError == nil, false)
		want(t, "phase", r.Status().Phase, BackingOff)
	})
}

func TestABusyServerWithoutWatchListCannotProlongTheInitialEventsForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := &scripted{onWatchList: func(int, metav1.ListOptions) (Stream[*object], error) {
			one := added(obj("a", "5"))
			one.after = 20 * time.Second
			return plays(slices.Repeat([]frame{one}, 1000)...), nil
		}}
		r := start(t, source, Options{})
		r.after(5*time.Minute - 1)
		want(t, "requests", source.trace(0), `watch-list ""`)
		r.after(1)
		want(t, "requests", source.trace(1), `list "0", watch "10"`)
	})
}

func TestChangesDoNotProlongTheInitialEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := &scripted{onWatchList: func(int, metav1.ListOptions) (Stream[*object], error) {
			one := changed(obj("a", "5"))
			one.after = 20 * time.Second
			return plays(slices.Repeat([]frame{one}, 1000)...), nil
		}}
		r := start(t, source, Options{})
		r.after(30 * time.Second)
		want(t, "requests", source.trace(1), `list "0", watch "10"`)
	})
}

func TestAListIsReadPageByPage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gone := true
		source := &scripted{onList: func(_ int, options metav1.ListOptions) (Page[*object], error) {
			switch {
			case options.Continue == "" && options.Limit == 0:
				return Page[*object]{ResourceVersion: "12", Items: []*object{obj("c", "11")}}, nil
			case options.Continue == "":
				return Page[*object]{ResourceVersion: "10", Continue: "t1", Items: []*object{obj("a", "5")}}, nil
			case gone:
				gone = false
				return Page[*object]{}, apierrors.NewResourceExpired("continue token too old")
			}
			return Page[*object]{ResourceVersion: "10", Items: []*object{obj("b", "6")}}, nil
		}}
		r := start(t, source, listFirst)
		r.after(0)
		want(t, "requests", source.trace(0), `list "0", list "" after t1, list "0", watch "12"`)
		want(t, "sink", r.sink.trace(), "begin initial, item a@5, abort, begin initial, item c@11, end 12")

		r.stop()
		r.run() // the server has shown that it pages a list at "0"
		r.after(0)
		want(t, "requests", source.trace(4), `list "12", list "" after t1, watch "10"`)
		want(t, "match", source.asked()[4].options.ResourceVersionMatch, metav1.ResourceVersionMatchNotOlderThan)
		want(t, "collection", r.sink.contents(), "a@5 b@6")
		status := r.Status()
		want(t, "lists", status.Lists, 3)
		want(t, "pages", status.Pages, 5)
		want(t, "rewinds", status.Rewinds, 1)
		want(t, "restarts", status.Relists[RelistRestarted], 1)
	})
}

func TestAPageThatContinuesAtItselfIsAFailureNotALoop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := &scripted{onList: func(int, metav1.ListOptions) (Page[*object], error) {
			return Page[*object]{ResourceVersion: "10", Continue: "again"}, nil
		}}
		r := start(t, source, listFirst)
		r.after(0)
		want(t, "requests", source.trace(0), `list "0", list "" after again`)
		if err := r.Status().LastError; !errors.Is(err, ErrRepeatedContinue) {
			t.Errorf("last error %v", err)
		}
	})
}

func TestLostConnectionsUnreadableFramesAndServerErrorsResume(t *testing.T) {
	for name, end := range map[string]error{
		"lost connection":  io.ErrUnexpectedEOF,
		"unreadable frame": &DecodeError{Subject: "watch event", Err: errors.New("bad")},
		"ERROR 500":        apierrors.NewInternalError(errors.New("oops")),
		"ERROR 429":        apierrors.NewTooManyRequests("slow down", 0),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				source := &scripted{onWatch: func(n int, _ metav1.ListOptions) (Stream[*object], error) {
					if n == 0 {
						return plays(changed(obj("a", "11")), frame{err: end}), nil
					}
					return plays(changed(obj("a", "12"))), nil
				}}
				r := start(t, source, listFirst)
				r.after(0)
				status := r.Status()
				want(t, "phase", status.Phase, BackingOff)
				want(t, "next retry", time.Until(status.NextRetry), 800*time.Millisecond)
				if !errors.Is(status.LastError, end) {
					t.Errorf("last error %v", status.LastError)
				}
				r.after(time.Second)
				want(t, "requests", source.trace(0), `list "0", watch "10", watch "11"`)
				want(t, "collection", r.sink.contents(), "a@12")
				want(t, "tries", r.Status().Tries, 0)
			})
		})
	}
}

func TestAnUnreadableEventIsSkippedByARelist(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := &scripted{onWatch: func(int, metav1.ListOptions) (Stream[*object], error) {
			return endsAfter(time.Minute, &DecodeError{Subject: "watch event", Err: errors.New("bad")}), nil
		}}
		r := start(t, source, listFirst)
		r.after(5 * time.Minute)
		want(t, "requests", source.trace(0), `list "0", watch "10", watch "10", watch "10", list "10", watch "10", watch "10"`)
	})
}

func TestRetryAfterIsHonoured(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := &scripted{onList: func(n int, _ metav1.ListOptions) (Page[*object], error) {
			if n == 0 {
				return Page[*object]{}, apierrors.NewTooManyRequests("slow down", 17)
			}
			return Page[*object]{ResourceVersion: "10"}, nil
		}}
		r := start(t, source, listFirst)
		r.after(time.Minute)
		want(t, "wait", source.asked()[1].at, 17*time.Second)
	})
}

func TestADeniedReflectorSaysWhyItDoesNotSync(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		denied := apierrors.NewForbidden(pods, "", errors.New("no access"))
		source := &scripted{
			onList:      func(int, metav1.ListOptions) (Page[*object], error) { return Page[*object]{}, denied },
			onWatchList: func(int, metav1.ListOptions) (Stream[*object], error) { return nil, denied },
		}
		r := start(t, source, Options{Name: "pods", Backoff: noJitter})
		r.after(2 * time.Second)
		want(t, "requests", source.trace(0), `watch-list "", list "0", list "0"`)
		status := r.Status()
		if !errors.Is(status.LastError, denied) {
			t.Errorf("last error %v", status.LastError)
		}
		want(t, "status", fmt.Sprint(status.Name, status.Phase, status.Synced, status.LastVerb, status.HTTPStatus, status.Reason, status.Tries),
			fmt.Sprint("pods", BackingOff, false, "list", 403, metav1.StatusReasonForbidden, 2))
	})
}

func TestAWithdrawnPermissionKeepsTheCollectionAndResumes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := &scripted{onWatch: func(n int, _ metav1.ListOptions) (Stream[*object], error) {
			if n < 5 {
				return nil, apierrors.NewForbidden(pods, "", errors.New("no access"))
			}
			return silent(), nil
		}}
		r := start(t, source, listFirst)
		r.after(10 * time.Second)
		status := r.Status()
		want(t, "verb", status.LastVerb, "watch")
		want(t, "collection", r.sink.contents(), "a@5")
		r.after(time.Minute)
		want(t, "lists", r.Status().Lists, 1)
		want(t, "phase", r.Status().Phase, Watching)
	})
}
