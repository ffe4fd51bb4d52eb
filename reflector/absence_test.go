package reflector

import (
	"context"
	"io"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestAResourceThatIsGoneIsWaitedFor(t *testing.T) {
	gone := input{kind: inputFailed, at: epoch, failure: failure{class: classDenied, code: 404, absent: true}}
	left := gone
	left.failure.retryAfter = 7 * time.Second
	never := with(listing("0"), func(s *state) { s.retry.tries = 3 })
	absent := state{phase: Absent, resourceVersion: "5", reason: RelistAppeared, replacement: replacement{unavailable: true}}
	emptied := func(s state) bool {
		return !s.synced && s.reason == RelistAppeared && s.retry.tries == 1 && s.resourceVersion == "5"
	}
	runTable(t, []row{
		{name: "before the first sync there is nothing to let go of", from: never, in: gone, phase: Absent, effects: "await 800ms",
			check: func(s state) bool { return s.reason == RelistInitial && s.retry.tries == 4 }},
		{name: "a refused list", from: listing("5"), in: gone, phase: Absent,
			effects: `begin resource absent, end "5", await 800ms`, check: emptied},
		{name: "one that is to be left alone", from: watching("5"), in: left, phase: Absent,
			effects: `begin resource absent, end "5", await 7s`, check: emptied},
		{name: "in the middle of a list", from: onPage(listing("5"), "t"), in: gone, phase: Absent,
			effects: `abort, begin resource absent, end "5", await 800ms`, check: emptied},
		{name: "a refused watch", from: watching("5"), in: gone, phase: Absent,
			effects: `begin resource absent, end "5", await 800ms`, check: emptied},
		{name: "an open watch", from: opened(watching("5")), in: gone, phase: Absent,
			effects: `close, begin resource absent, end "5", await 800ms`, check: emptied},
		{name: "a watch-list is followed by a list, which counts", from: watchListing("5"), in: gone, phase: Listing, effects: `list "5"`},
		{name: "again: nothing more to let go of", from: with(listing("0"), func(s *state) { s.reason = RelistAppeared }), in: gone,
			phase: Absent, effects: "await 800ms", check: func(s state) bool { return s.reason == RelistAppeared }},
		{name: "it may be back: the newest state", from: absent, in: input{kind: inputElapsed, at: epoch}, phase: WatchListing,
			effects: `watch-list ""`, check: func(s state) bool { return s.reason == RelistAppeared }},
		{name: "a forced relist looks at once", from: absent, in: input{kind: inputForced, at: epoch}, phase: WatchListing, effects: `watch-list ""`},
		{name: "a stop", from: absent, in: input{kind: inputStop, at: epoch}, phase: Stopped},
	})
}

// judge is an Absence.
type judge struct {
	patience int // tries after which what was synced is taken for gone
	back     chan struct{}
}

func (j *judge) Absent(tries int, synced bool) bool { return !synced || tries >= j.patience }

func (j *judge) Await(ctx context.Context, _ int) {
	select {
	case <-j.back:
	case <-ctx.Done():
	}
}

var notFound = apierrors.NewNotFound(schema.GroupResource{Resource: "things"}, "")

func TestTheCollectionOfAResourceThatGoesIsEmptiedAndFetchedAgainWhenItIsBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		there := true
		source := &scripted{
			onList: func(int, metav1.ListOptions) (Page[*object], error) {
				if !there {
					return Page[*object]{}, notFound
				}
				return Page[*object]{ResourceVersion: "10", Items: []*object{obj("a", "5")}}, nil
			},
			onWatch: func(int, metav1.ListOptions) (Stream[*object], error) {
				if !there {
					return nil, notFound
				}
				return endsAfter(time.Minute, notFound), nil
			},
		}
		j := &judge{patience: 3, back: make(chan struct{})}
		options := listFirst
		options.Absence = j
		options.Backoff.Jitter = -1
		r := start(t, source, options)
		r.after(30 * time.Second)
		there = false
		r.after(30 * time.Second) // the stream ends with a 404: try 1
		want(t, "phase", r.Status().Phase, BackingOff)
		want(t, "contents", r.sink.contents(), "a@5")
		r.after(10 * time.Second) // tries 2 and 3
		want(t, "phase", r.Status().Phase, Absent)
		want(t, "contents", r.sink.contents(), "")
		status := r.Status()
		want(t, "synced", status.Synced, false)
		want(t, "tries", status.Tries, 3)
		want(t, "relists", status.Relists[RelistAbsent], 1)
		asked := len(source.asked())
		r.after(time.Hour) // nobody asks meanwhile
		want(t, "requests", len(source.asked()), asked)
		there = true
		j.back <- struct{}{}
		r.after(0)
		want(t, "phase", r.Status().Phase, Watching)
		want(t, "contents", r.sink.contents(), "a@5")
		want(t, "sink", r.sink.trace(), "begin initial, item a@5, end 10, begin resource absent, end 10, begin resource appeared, item a@5, end 10")
	})
}

func TestA404AfterAnOutageIsTheFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := &scripted{onWatch: func(n int, _ metav1.ListOptions) (Stream[*object], error) {
			switch {
			case n == 0:
				return endsAfter(time.Minute, io.ErrUnexpectedEOF), nil
			case n < 5:
				return nil, syscall.ECONNREFUSED
			case n < 7: // the server comes up
				return nil, notFound
			}
			return silent(), nil
		}}
		options := listFirst
		options.Absence = &judge{patience: 3}
		r := start(t, source, options)
		r.after(5 * time.Minute)
		want(t, "phase", r.Status().Phase, Watching)
		want(t, "contents", r.sink.contents(), "a@5")
		want(t, "relists", r.Status().Relists[RelistAbsent], 0)
	})
}

func TestAResourceThatIsNotThereIsNotAskedForWithoutPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := &scripted{onList: func(int, metav1.ListOptions) (Page[*object], error) { return Page[*object]{}, notFound }}
		j := &judge{back: make(chan struct{})}
		close(j.back) // always says that it may be back
		options := listFirst
		options.Absence = j
		r := start(t, source, options)
		r.after(time.Minute)
		if n := len(source.asked()); n < 60 || n > 80 {
			t.Errorf("%d requests in a minute, want one for each 800 ms", n)
		}
	})
}

func TestAForcedRelistDoesNotWaitForTheResource(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		there := false
		source := &scripted{onList: func(int, metav1.ListOptions) (Page[*object], error) {
			if !there {
				return Page[*object]{}, notFound
			}
			return Page[*object]{ResourceVersion: "10"}, nil
		}}
		options := listFirst
		options.Absence = &judge{}
		r := start(t, source, options)
		r.after(time.Minute)
		want(t, "phase", r.Status().Phase, Absent)
		there = true
		r.Relist()
		r.after(0)
		want(t, "phase", r.Status().Phase, Watching)
	})
}

func TestOnlyA404IsAnAbsence(t *testing.T) {
	for name, c := range map[string]struct {
		err     error
		absence Absence
	}{
		"a 503":                          {err: apierrors.NewServiceUnavailable("starting"), absence: &judge{}},
		"a 403":                          {err: apierrors.NewForbidden(schema.GroupResource{Resource: "things"}, "", nil), absence: &judge{}},
		"a 404 that nobody is asked for": {err: notFound},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				source := &scripted{
					onList: func(int, metav1.ListOptions) (Page[*object], error) {
						return Page[*object]{ResourceVersion: "10", Items: []*object{obj("a", "5")}}, nil
					},
					onWatch: func(int, metav1.ListOptions) (Stream[*object], error) { return nil, c.err },
				}
				options := listFirst
				options.Absence = c.absence
				r := start(t, source, options)
				r.after(time.Hour)
				want(t, "phase", r.Status().Phase, BackingOff)
				want(t, "contents", r.sink.contents(), "a@5")
			})
		})
	}
}
