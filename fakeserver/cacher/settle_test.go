package cacher

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestAWriterThatSettlesFindsItsWriteAtAnyVersion(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		synctest.Wait()
		for range 100 {
			rv := r.put("n/a", "")
			r.cacher.Settle(r.ctx, int64(rv))
			if got := r.list(ListOptions{ResourceVersion: "0"}).ResourceVersion; got < rv {
				t.Fatalf("a list of any version is at %d after the write of %d", got, rv)
			}
		}
	})
}

func TestAWriterDoesNotWaitLongForALaggingCache(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		synctest.Wait()
		r.memory.Hold()
		rv := r.put("n/a", "")
		start := time.Now()
		r.cacher.Settle(r.ctx, int64(rv))
		if took := time.Since(start); took != settleLimit {
			t.Errorf("it waited %v", took)
		}
		r.memory.Release()
		synctest.Wait()
		r.cacher.mu.Lock()
		defer r.cacher.mu.Unlock()
		if len(r.cacher.waiters.list) != 0 {
			t.Error("the writer that gave up is still waited for")
		}
	})
}
