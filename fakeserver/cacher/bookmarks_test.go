package cacher

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/listwatch/listwatch/fakeserver/storage"
)

func TestTheNextBookmarkIsOnePeriodAwayOrShortlyBeforeTheDeadline(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	in := func(d time.Duration) time.Time { return now.Add(d) }
	for _, c := range []struct {
		name           string
		deadline, want time.Time
		period         time.Duration
	}{
		{"no bookmarks", in(time.Hour), time.Time{}, 0},
		{"no deadline", time.Time{}, in(time.Minute), time.Minute},
		{"a distant deadline", in(time.Hour), in(time.Minute), time.Minute},
		{"a deadline within the period", in(30 * time.Second), in(28 * time.Second), time.Minute},
		{"a deadline just after the period", in(61 * time.Second), in(59 * time.Second), time.Minute},
		{"too late", in(2 * time.Second), time.Time{}, time.Minute},
		{"a deadline that has passed", in(-time.Second), time.Time{}, time.Minute},
	} {
		if got := nextBookmark(now, c.deadline, c.period); !got.Equal(c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

// bookmarksUntil reads bookmarks and says at which second each came.
func (r *rig) bookmarksUntil(w *Watcher, end time.Duration) []string {
	var got []string
	start := time.Now()
	for {
		event, err := w.Next(deadlineContext(r, start.Add(end)))
		if err != nil {
			return got
		}
		got = append(got, fmt.Sprintf("%v %s", time.Since(start), show(event)))
	}
}

func TestBookmarksOfAnIdleResourceComeEveryMinuteAndAreUpToDate(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		r.put("n/a", "")
		w := r.watch(WatchOptions{ResourceVersion: "2", AllowBookmarks: true, Deadline: time.Now().Add(4*time.Minute + 30*time.Second)})
		go func() {
			for range 4 {
				time.Sleep(50 * time.Second)
				r.elsewhere()
			}
		}()
		got := r.bookmarksUntil(w, 10*time.Minute)
		want := []string{"1m0s BOOKMARK@3", "2m0s BOOKMARK@4", "3m0s BOOKMARK@5", "4m0s BOOKMARK@6", "4m28s BOOKMARK@6"}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("\n got %q\nwant %q", got, want)
		}
	})
}

func TestABookmarkIsNotSentWhereItSaysNothing(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		r.put("n/a", "")
		for _, opts := range []WatchOptions{
			{ResourceVersion: "2", AllowBookmarks: true},  // at its start still
			{ResourceVersion: "99", AllowBookmarks: true}, // before its start
		} {
			if got := r.bookmarksUntil(r.watch(opts), 5*time.Minute); got != nil {
				t.Errorf("%+v: %q", opts, got)
			}
		}
	})
}

func TestABookmarkComesAfterTheEventsThatItCovers(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		w := r.watch(WatchOptions{SendInitialEvents: ptr(false), AllowBookmarks: true})
		time.Sleep(2 * time.Minute) // nobody pulls; the bookmark is overdue
		a := r.put("n/a", "")
		r.expect(w, fmt.Sprintf("ADDED n/a@%d", a), fmt.Sprintf("BOOKMARK@%d", a))
	})
}

func TestABookmarkDoesNotWaitForAStoreThatIsSilent(t *testing.T) {
	inBubble(t, func(o *Options) { o.Store = newGate(o.Store) }, func(r *rig) {
		w := r.watch(WatchOptions{ResourceVersion: "1", AllowBookmarks: true})
		a := r.put("n/a", "")
		r.expect(w, fmt.Sprintf("ADDED n/a@%d", a))
		time.Sleep(30 * time.Second)
		r.gate().hold()
		got := r.bookmarksUntil(w, time.Minute)
		if want := []string{"30.25s BOOKMARK@2"}; fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("\n got %q\nwant %q", got, want)
		}
		r.gate().release()
	})
}

func TestADayOfIdleWatchingIsCheap(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		r.put("n/a", "")
		w := r.watch(WatchOptions{ResourceVersion: "1", AllowBookmarks: true})
		if got := r.bookmarksUntil(w, 24*time.Hour); len(got) < 24*60-1 || len(got) > 24*60+1 {
			t.Errorf("%d bookmarks and events in a day", len(got))
		}
	})
}

func TestManyBookmarksOfOneMomentCostOneQuestionToTheStore(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		now := time.Now()
		r.put("n/a", "")
		first := r.cacher.askProgress(now)
		<-first
		select {
		case <-r.cacher.askProgress(time.Now()):
		default:
			t.Error("the answer was not shared")
		}
	})
}

func TestAChangeThatComesBeforeADueBookmarkGoesFirst(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		w := r.watch(WatchOptions{ResourceVersion: "1", AllowBookmarks: true})
		time.Sleep(time.Minute)
		w.bookmarks.patience, w.bookmarks.answer = time.Now(), make(chan struct{})
		r.put("n/a", "")
		synctest.Wait()
		// As if the change came just after Next had found none.
		if event, ok := w.takeBookmark(); !ok || show(event) != "ADDED n/a@2" {
			t.Errorf("got %s, %v", show(event), ok)
		}
		r.expect(w, "BOOKMARK@2")
	})
}

func TestABookmarkThatSaysNothingIsNotPending(t *testing.T) {
	inBubble(t, func(o *Options) { o.Store = newGate(o.Store) }, func(r *rig) {
		w := r.watch(WatchOptions{ResourceVersion: "1", AllowBookmarks: true})
		r.gate().hold()
		r.bookmarksUntil(w, time.Minute+progressGrace/2) // the store was asked, and is silent
		time.Sleep(time.Second)
		r.expectNothing(w)
		r.gate().release()
	})
}

// countedWatch counts what it is asked.
type countedWatch struct {
	storage.Watch
	asked int
}

func (w *countedWatch) RequestProgress() { w.asked++ }

func TestProgressWantedWithoutAWatchIsAskedOfTheNext(t *testing.T) {
	var c Cacher
	first, second := &countedWatch{}, &countedWatch{}
	c.requestProgress()
	c.setSource(first, nil)
	c.setSource(second, nil)
	c.requestProgress()
	if first.asked != 1 || second.asked != 1 {
		t.Errorf("asked %d and %d times", first.asked, second.asked)
	}
}
