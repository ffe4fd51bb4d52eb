package cacher

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

func TestABookmarkOnDemandComesAtOnceAndIsUpToDate(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		r.put("n/a", "")
		w := r.watch(WatchOptions{ResourceVersion: "2", AllowBookmarks: true})
		labelled := r.watch(WatchOptions{Predicate: labelled("1"), ResourceVersion: "2", AllowBookmarks: true})
		listed := r.watch(WatchOptions{SendInitialEvents: ptr(true), AllowBookmarks: true})
		begin := time.Now()
		for range 3 {
			<-r.cacher.askProgress(begin) // its answer is too old for what follows
			rv := r.elsewhere()
			r.cacher.SendBookmarks(rv)
			want := fmt.Sprintf("BOOKMARK@%d", rv)
			r.expect(w, want)
			r.expect(labelled, want)
			if rv == 3 {
				r.expect(listed, "ADDED n/a@2", "BOOKMARK@2 end")
			}
			r.expect(listed, want)
		}
		if waited := time.Since(begin); waited != 0 {
			t.Errorf("it took %v", waited)
		}
	})
}

func TestABookmarkOnDemandIsForWhoeverNeedsIt(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		r.put("n/a", "")
		plain := r.watch(WatchOptions{ResourceVersion: "2"})
		rv := r.put("n/b", "")
		synctest.Wait() // the change is there
		r.cacher.SendBookmarks(rv)
		told := r.watch(WatchOptions{ResourceVersion: "2", AllowBookmarks: true})
		r.expect(told, fmt.Sprintf("ADDED n/b@%d", rv))
		r.expectNothing(told)
		r.expect(plain, fmt.Sprintf("ADDED n/b@%d", rv))
		r.expectNothing(plain)
		r.expectNothing(r.watch(WatchOptions{ResourceVersion: fmt.Sprint(rv), AllowBookmarks: true}))
	})
}

func TestABookmarkOnDemandReachesAWatchThatIsOpenedLater(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		r.put("n/a", "")
		rv := r.elsewhere()
		r.cacher.SendBookmarks(rv)
		r.expect(r.watch(WatchOptions{ResourceVersion: "2", AllowBookmarks: true}), fmt.Sprintf("BOOKMARK@%d", rv))
	})
}

func TestABookmarkOnDemandWaitsForAStoreThatIsSilent(t *testing.T) {
	inBubble(t, func(o *Options) { o.Store = newGate(o.Store) }, func(r *rig) {
		r.put("n/a", "")
		w := r.watch(WatchOptions{ResourceVersion: "2", AllowBookmarks: true})
		r.gate().hold()
		rv := r.elsewhere()
		r.cacher.SendBookmarks(rv)
		go func() {
			time.Sleep(3 * progressGrace)
			r.gate().release()
		}()
		begin := time.Now()
		r.expect(w, fmt.Sprintf("BOOKMARK@%d", rv))
		if waited := time.Since(begin); waited < 3*progressGrace || waited > 4*progressGrace {
			t.Errorf("it took %v", waited)
		}
	})
}
