package cacher

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/listwatch/listwatch/fakeserver/storage"
)

func TestTheNextBookmarkIsOnePeriodAwayOrShortlyBeforeTheDeadline(t *testing.T) {
	b := buckets{born: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), seed: 7}
	now := b.born.Add(1000*time.Second + 400*time.Millisecond) // after the tick of its bucket
	in := func(d time.Duration) time.Time { return now.Add(d) }
	for _, c := range []struct {
		name     string
		deadline time.Time
		period   time.Duration
		want     int64 // bucket, counted from now's; -1 if there is none
	}{
		{"no bookmarks", in(time.Hour), 0, -1},
		{"no deadline", time.Time{}, time.Minute, 60},
		{"a distant deadline", in(time.Hour), time.Minute, 60},
		{"a deadline within the period", in(30 * time.Second), time.Minute, 28},
		{"a deadline just after the period", in(61 * time.Second), time.Minute, 59},
		{"the last moment is in this bucket", in(2500 * time.Millisecond), time.Minute, 1},
		{"the last moment was in this bucket", in(1700 * time.Millisecond), time.Minute, 1},
		{"the last moment was in the bucket before", in(1500 * time.Millisecond), time.Minute, -1},
		{"a deadline that has passed", in(-time.Second), time.Minute, -1},
	} {
		got := b.next(now, c.deadline, c.period)
		if c.want < 0 && !got.IsZero() || c.want >= 0 && !got.Equal(b.tick(1000+c.want)) {
			t.Errorf("%s: in %v", c.name, got.Sub(now))
		}
	}
}

func TestATickIsInTheFirstQuarterOfItsBucket(t *testing.T) {
	b := buckets{born: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), seed: 3}
	late := 0
	for bucket := range int64(1000) {
		offset := b.tick(bucket).Sub(b.born.Add(time.Duration(bucket) * time.Second))
		if offset < 0 || offset >= time.Second/4 || b.of(b.tick(bucket)) != bucket {
			t.Fatalf("the tick of bucket %d is %v after its start", bucket, offset)
		}
		if offset > time.Second/8 {
			late++
		}
	}
	if late < 400 || late > 600 {
		t.Errorf("%d of 1000 ticks are in the later half", late)
	}
	if before := b.of(b.born.Add(-1)); before != -1 {
		t.Errorf("the moment before is in bucket %d", before)
	}
}

func TestAWatchOfEightSecondsGetsTwoBookmarksNearItsEnd(t *testing.T) {
	// As recorded from kube-apiserver.
	for _, phase := range []time.Duration{0, 100 * time.Millisecond, 500 * time.Millisecond, 999 * time.Millisecond} {
		inBubble(t, nil, func(r *rig) {
			time.Sleep(time.Minute + phase)
			w := r.watch(WatchOptions{ResourceVersion: "1", AllowBookmarks: true, Deadline: time.Now().Add(8 * time.Second)})
			r.elsewhere()
			start := time.Now()
			var at []time.Duration
			for {
				if _, err := w.Next(deadlineContext(r, start.Add(8*time.Second))); err != nil {
					break
				}
				at = append(at, time.Since(start))
			}
			if len(at) != 2 || at[0] <= 5*time.Second || at[0] > 6250*time.Millisecond || (at[1]-at[0]-time.Second).Abs() > time.Second/4 {
				t.Errorf("%v into a second: bookmarks at %v", phase, at)
			}
		})
	}
}

// bookmarksUntil reads bookmarks and says at which second each came.
//
// bubble: used in bubbles only
func (r *rig) bookmarksUntil(w *Watcher, end time.Duration) []string {
	var got []string
	start := time.Now()
	for {
		event, err := w.Next(deadlineContext(r, start.Add(end)))
		if err != nil {
			return got
		}
		got = append(got, fmt.Sprintf("%v %s", time.Since(start).Round(time.Second), show(event)))
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
		want := []string{"1m0s BOOKMARK@3", "2m0s BOOKMARK@4", "3m0s BOOKMARK@5", "4m0s BOOKMARK@6", "4m28s BOOKMARK@6", "4m29s BOOKMARK@6"}
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
		due := w.bookmarks.due
		event, err := w.Next(deadlineContext(r, time.Now().Add(time.Minute)))
		if err != nil || show(event) != "BOOKMARK@2" || !time.Now().Equal(due.Add(progressGrace)) {
			t.Errorf("%s, %v, %v after it was due", show(event), err, time.Since(due))
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
		time.Sleep(time.Until(w.bookmarks.due))
		w.bookmarks.patience, w.bookmarks.answer = time.Now(), make(chan struct{})
		r.put("n/a", "")
		synctest.Wait()
		// As if the change came just after Next had found none.
		var event Event
		if ok := w.takeBookmark(&event); !ok || show(event) != "ADDED n/a@2" {
			t.Errorf("got %s, %v", show(event), ok)
		}
		r.expect(w, "BOOKMARK@2")
	})
}

func TestABookmarkThatSaysNothingIsNotPending(t *testing.T) {
	inBubble(t, func(o *Options) { o.Store = newGate(o.Store) }, func(r *rig) {
		w := r.watch(WatchOptions{ResourceVersion: "1", AllowBookmarks: true})
		r.gate().hold()
		r.bookmarksUntil(w, time.Until(w.bookmarks.due)+progressGrace/2) // the store was asked, and is silent
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
