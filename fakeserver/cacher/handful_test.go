package cacher

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

func TestWhatAWatcherTookAheadIsDeliveredInOrderAndLostWithIt(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		w := r.watch(WatchOptions{SendInitialEvents: ptr(false)})
		dropped := r.watch(WatchOptions{SendInitialEvents: ptr(false)})
		var want []string
		for i := range 2*handSize + 1 {
			want = append(want, fmt.Sprintf("ADDED n/%02d@%d", i, i+2))
			r.put(fmt.Sprintf("n/%02d", i), "")
		}
		synctest.Wait()
		r.expect(w, want[0])
		if w.hand == nil || w.hand.end != handSize-1 || !w.Pending() {
			t.Errorf("holds %+v", w.hand)
		}
		r.expect(w, want[1:]...)
		if w.hand != nil || w.Pending() {
			t.Errorf("holds %+v in the end", w.hand)
		}
		r.expect(dropped, want[0])
		r.cacher.DropWatches()
		r.expect(dropped, "EOF")
	})
}

func TestAWatcherWithASmallLimitTakesNothingAhead(t *testing.T) {
	inBubble(t, func(o *Options) { o.LagLimit = 99 }, func(r *rig) {
		w := r.watch(WatchOptions{SendInitialEvents: ptr(false)})
		for range 9 {
			r.put("n/a", "")
		}
		synctest.Wait()
		r.expect(w, "ADDED n/a@2")
		if w.hand != nil || w.pending != 8 {
			t.Errorf("holds %+v, %d pending", w.hand, w.pending)
		}
	})
}

func TestAnEndedWatcherHasNoTimer(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		w := r.watch(WatchOptions{ResourceVersion: "1", AllowBookmarks: true})
		r.bookmarksUntil(w, time.Second) // it waited, so that the timer runs
		if w.timer == nil {
			t.Fatal("there is no timer")
		}
		w.Stop()
		<-w.wake
		time.Sleep(time.Hour)
		if w.bookmarks.rang.Load() || len(w.wake) != 0 {
			t.Error("it rang")
		}
	})
}
