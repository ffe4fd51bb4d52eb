package reflector

import (
	"context"
	"fmt"
	"io"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestAForcedRelistInEveryState(t *testing.T) {
	forced := input{kind: inputForced, at: epoch}
	list := Options{DisableWatchList: true}
	waiting := state{phase: BackingOff, synced: true, resourceVersion: "5", reason: "",
		retry: retry{until: epoch.Add(3 * time.Second), level: 2, tries: 2}}
	reason := func(want RelistReason) func(state) bool { return func(s state) bool { return s.reason == want } }
	runTable(t, []row{
		{name: "initial", in: forced, phase: Initial},
		{name: "stopped", from: state{phase: Stopped}, in: forced, phase: Stopped},
		{name: "listing: kept back by the driver", from: onPage(listing("5"), "t"), in: forced, phase: Listing, check: reason(RelistExpired)},
		{name: "watch-list being opened: kept back", from: watchListing("5"), in: forced, phase: WatchListing, check: reason(RelistExpired)},
		{name: "watch-list open: kept back", from: opened(watchListing("5")), in: forced, phase: WatchListing, check: reason(RelistExpired)},
		{name: "watch being opened", from: watching("5"), in: forced, phase: WatchListing, effects: `watch-list "5"`, check: reason(RelistForced)},
		{name: "watch open", from: opened(watching("5")), in: forced, phase: WatchListing, effects: `close, watch-list "5"`, check: reason(RelistForced)},
		{name: "watch open, without watch-list", options: list, from: opened(watching("5")), in: forced, phase: Listing, effects: `close, list "5"`},
		{name: "watch open, watch-list avoided", from: with(opened(watching("5")), func(s *state) { s.replacement.avoidedUntil = epoch.Add(1) }),
			in: forced, phase: Listing, effects: `close, list "5"`},
		{name: "a new start for a watch that got nowhere", from: with(opened(watching("5")), func(s *state) { s.stream.fruitless = 2 }), in: forced,
			phase: WatchListing, effects: `close, watch-list "5"`, check: func(s state) bool { return s.stream.fruitless == 0 }},
		{name: "backing off before a watch: waited to the end", from: waiting, in: later(time.Second, forced), phase: BackingOff, effects: `wait 2s`,
			check: func(s state) bool {
				return s.retry.relist && s.reason == RelistForced && s.retry.level == 2 && s.retry.tries == 2
			}},
		{name: "backing off, at the end", from: waiting, in: later(time.Minute, forced), phase: BackingOff, effects: `wait 0s`},
		{name: "backing off before a replacement keeps its reason", from: with(waiting, func(s *state) { s.retry.relist, s.reason = true, RelistExpired }),
			in: forced, phase: BackingOff, effects: `wait 3s`, check: reason(RelistExpired)},
		{name: "what was waited for", from: with(waiting, func(s *state) { s.retry.relist, s.reason = true, RelistForced }),
			in: input{kind: inputElapsed, at: epoch}, phase: WatchListing, effects: `watch-list "5"`, check: reason(RelistForced)},
	})
}

func TestARelistEndsTheWatchAndFetchesTheCollectionOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := &scripted{}
		r := start(t, source, listFirst)
		r.after(time.Minute)
		r.Relist()
		r.after(0)
		want(t, "requests", source.trace(0), `list "0", watch "10", list "10", watch "10"`)
		want(t, "sink", r.sink.trace(), "begin initial, item a@5, end 10, begin forced, item a@5, end 10")
		status := r.Status()
		want(t, "relists", status.Relists[RelistForced], 1)
		want(t, "last error", status.LastError, nil)
		r.after(time.Minute)
		want(t, "phase", r.Status().Phase, Watching)
		want(t, "requests", len(source.asked()), 4)
	})
}

func TestARelistWhileAWatchIsBeingOpenedInterruptsIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		opening := 0
		source := blocking{watch: func(ctx context.Context) error {
			opening++
			<-ctx.Done()
			return ctx.Err()
		}}
		sink := &recorder{}
		r, err := New[*object](source, sink, listFirst)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(quiet())
		done := make(chan struct{})
		go func() { defer close(done); _ = r.Run(ctx) }()
		synctest.Wait()
		r.Relist()
		synctest.Wait()
		want(t, "watches", opening, 2)
		want(t, "sink", sink.trace(), "begin initial, end 10, begin forced, end 10")
		cancel()
		<-done
	})
}

func TestARelistDuringAReplacementFollowsIt(t *testing.T) {
	for name, options := range map[string]Options{"list": listFirst, "watch-list": {Backoff: noJitter}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				gate := make(chan struct{})
				source := &scripted{
					onList: func(int, metav1.ListOptions) (Page[*object], error) {
						<-gate
						return Page[*object]{ResourceVersion: "10"}, nil
					},
					onWatchList: func(int, metav1.ListOptions) (Stream[*object], error) {
						<-gate
						return plays(bookmark("10", true)), nil
					},
				}
				r := start(t, source, options)
				r.after(0)
				r.Relist()
				r.Relist() // both are one
				r.after(0)
				gate <- struct{}{}
				r.after(0)
				gate <- struct{}{}
				r.after(time.Minute)
				want(t, "sink", r.sink.trace(), "begin initial, end 10, begin forced, end 10")
			})
		})
	}
}

func TestARelistWhileBackingOffWaitsAsLongAsTheServerAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := &scripted{onWatch: func(n int, _ metav1.ListOptions) (Stream[*object], error) {
			if n == 0 {
				return nil, apierrors.NewTooManyRequests("slow down", 17)
			}
			return silent(), nil
		}}
		r := start(t, source, listFirst)
		r.after(time.Second)
		r.Relist()
		r.after(16*time.Second - 1)
		want(t, "requests", source.trace(0), `list "0", watch "10"`)
		r.after(1)
		want(t, "requests", source.trace(0), `list "0", watch "10", list "10", watch "10"`)
	})
}

func TestARelistOfABusyStreamIsNotPutOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := &scripted{onWatch: func(n int, _ metav1.ListOptions) (Stream[*object], error) {
			if n > 0 {
				return silent(), nil
			}
			stream := silent()
			for i := range 1000 {
				next := added(obj("a", fmt.Sprint(20+i)))
				next.after = time.Millisecond
				stream.frames = append(stream.frames, next)
			}
			return stream, nil
		}}
		r := start(t, source, listFirst)
		r.after(10*time.Millisecond + time.Microsecond)
		r.Relist()
		r.after(time.Second)
		want(t, "requests", source.trace(0), `list "0", watch "10", list "29", watch "10"`)
		want(t, "rewinds", r.Status().Rewinds, 1)
	})
}

func TestARelistOutsideARunIsForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := &scripted{}
		r := start(t, source, listFirst)
		r.after(0)
		r.stop()
		r.Relist()
		r.run()
		r.after(time.Minute)
		want(t, "requests", source.trace(2), `list "10", watch "10"`)
	})
}

func TestTheLastDisconnectsAreRemembered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := &scripted{onWatch: func(n int, _ metav1.ListOptions) (Stream[*object], error) {
			switch {
			case n == 18:
				return endsAfter(2*time.Minute, io.EOF), nil
			case n == 19:
				return nil, apierrors.NewServiceUnavailable("tried again")
			case n == 20:
				return nil, apierrors.NewResourceExpired("too old")
			case n > 20:
				return silent(), nil
			}
			return endsAfter(time.Minute, io.ErrUnexpectedEOF), nil
		}}
		r := start(t, source, listFirst)
		r.after(22 * time.Minute)
		r.Relist()
		r.after(0)
		recent := r.Status().Recent
		want(t, "entries", len(recent), 16)
		want(t, "first", recent[0].Reason, "connection lost")
		want(t, "lasted", recent[0].Lasted, time.Minute)
		want(t, "relist", recent[0].Relist, "")
		want(t, "orderly end", recent[13].Reason, "ended by the server")
		want(t, "lasted", recent[13].Lasted, 2*time.Minute)
		want(t, "expired", recent[14].Relist, RelistExpired)
		want(t, "refused", recent[14].Lasted, 0)
		want(t, "forced", recent[15].Relist, RelistForced)
		want(t, "forced because", recent[15].Reason, "forced")
		want(t, "forced without an error", recent[15].Err, nil)
		want(t, "at", recent[15].Time, time.Now())
	})
}
