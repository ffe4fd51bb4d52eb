package cacher

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/listwatch/listwatch/fakeserver/storage"
)

var errDown = errors.New("connection refused")

func TestABrokenWatchIsResumedWithoutAnyoneNoticing(t *testing.T) {
	inBubble(t, gated, func(r *rig) {
		r.put("n/a", "") // 2
		w := r.watch(WatchOptions{SendInitialEvents: ptr(true), AllowBookmarks: true})
		r.expect(w, "ADDED n/a@2", "BOOKMARK@2 end")
		for range 10 {
			r.gate().hold()
			r.put("n/a", "")
			r.gate().breakWith(errDown)
			r.put("n/a", "")
			r.gate().release()
			time.Sleep(100 * time.Millisecond) // shorter than the delay between two attempts
		}
		for rv := 3; rv <= 22; rv++ {
			r.expect(w, fmt.Sprintf("MODIFIED n/a@%d", rv))
		}
		if got := r.gate().counts(); got.lists != 1 || got.watches > 11 || r.cacher.readiness.generation != 1 {
			t.Errorf("the store was called: %+v", got)
		}
	})
}

func TestWatchesThatBreakAtOnceAreResumedOncePerDelay(t *testing.T) {
	inBubble(t, gated, func(r *rig) {
		w := r.watch(WatchOptions{SendInitialEvents: ptr(false)})
		time.Sleep(time.Minute)
		r.gate().mu.Lock()
		r.gate().stillborn = 5
		r.gate().mu.Unlock()
		r.gate().breakWith(errDown)
		r.put("n/a", "")
		start := time.Now()
		if event, err := w.Next(r.ctx); err != nil || show(event) != "ADDED n/a@2" || time.Since(start) != 5*time.Second {
			t.Errorf("after %v: %v, %v", time.Since(start), event, err)
		}
	})
}

// As recorded of kube-apiserver: with a dead etcd the cache stays as it is.
func TestWhileTheStoreIsGoneTheCacheStaysReady(t *testing.T) {
	inBubble(t, gated, func(r *rig) {
		r.put("n/a", "")
		w := r.watch(WatchOptions{SendInitialEvents: ptr(false)})
		synctest.Wait()
		r.gate().failOpening(errDown)
		before := r.gate().counts()
		r.gate().breakWith(errDown)
		time.Sleep(time.Hour)
		r.expectList(ListOptions{ResourceVersion: "0"}, "n/a@2")
		r.expectNothing(w)
		if got := r.gate().counts().since(before); got.watches != 3601 || got.lists != 0 {
			t.Errorf("in an hour, the store was called: %+v", got)
		}
		r.put("n/b", "")
		r.gate().failOpening(nil)
		time.Sleep(time.Second)
		r.expect(w, "ADDED n/b@3")
	})
}

// badBytes cannot be decoded by picky.
const badBytes = "bad"

// picky makes the decoding of badBytes fail.
func picky(o *Options) {
	o.Store = newGate(o.Store)
	o.Decode = func(kv storage.KeyValue) (runtime.Object, error) {
		if string(kv.Value) == badBytes {
			return nil, errors.New("bad bytes")
		}
		return decodeMeta(kv)
	}
}

// spoil stores bytes that do not decode, and returns their version.
func (r *rig) spoil(key string) uint64 {
	r.t.Helper()
	kv, err := r.memory.Get(r.ctx, "/pods/"+key, 0)
	if err == nil {
		kv, err = r.memory.Update(r.ctx, kv.Key, []byte(badBytes), kv.ModRevision)
	} else {
		kv, err = r.memory.Create(r.ctx, "/pods/"+key, []byte(badBytes))
	}
	if err != nil {
		r.t.Fatal(err)
	}
	return uint64(kv.ModRevision)
}

// Weakness 6 of kube-apiserver: an event that cannot be cached is lost and the
// version goes on; weakness 7: it is retried without a list.
func TestAnEventThatDoesNotDecodeIsNotPassedOver(t *testing.T) {
	recorder := newMemoryRecorder()
	observed := func(o *Options) { picky(o); o.Recorder = recorder }
	inBubble(t, observed, func(r *rig) {
		r.put("n/a", "") // 2
		r.put("n/b", "") // 3
		w := r.watch(WatchOptions{SendInitialEvents: ptr(false), AllowBookmarks: true})
		r.spoil("n/a")  // 4
		r.remove("n/b") // 5
		for range 29 {
			time.Sleep(time.Second)
			r.expectList(ListOptions{ResourceVersion: "0"}, "n/a n/b@3") // stale, not wrong
		}
		r.expectNothing(w)
		start := time.Now()
		_, err := r.cacher.List(r.ctx, ListOptions{})
		if got := status(err).ErrStatus; got.Code != 500 || time.Since(start) != 3*time.Second {
			t.Errorf("after %v: %v", time.Since(start), err)
		}
		r.expect(w, "EOF")
		for _, opts := range []ListOptions{{ResourceVersion: "0"}, {}, {ResourceVersion: "3"}} {
			_, err := r.cacher.List(r.ctx, opts)
			if got := status(err).ErrStatus; got.Code != 429 || got.Message != `storage is (re)initializing: decoding "/pods/n/a": bad bytes` {
				t.Errorf("%+v: %v", opts, err)
			}
		}
		r.remove("n/a") // 6
		time.Sleep(1500 * time.Millisecond)
		r.expectList(ListOptions{}, "@6")
		if got := recorder.value("apiserver_storage_decode_errors_total"); got < 2 {
			t.Errorf("%v errors were counted", got)
		}
	})
}

func TestAnObjectThatIsRepairedInTimeIsReadAtOnceWithAllThatWasMissed(t *testing.T) {
	for _, repair := range []string{"updated", "deleted"} {
		inBubble(t, picky, func(r *rig) {
			r.put("n/b", "") // 2
			w := r.watch(WatchOptions{ResourceVersion: "0", SendInitialEvents: ptr(false)})
			r.spoil("n/a")  // 3
			r.remove("n/b") // 4
			time.Sleep(5500 * time.Millisecond)
			want := "n/a@5"
			if repair == "updated" {
				r.put("n/a", "") // 5
			} else {
				r.remove("n/a") // 5
				want = "@5"
			}
			time.Sleep(time.Second)
			r.expect(w, "EOF") // its client starts anew, since it cannot be told what 3 was
			r.expectList(ListOptions{ResourceVersion: "0"}, want)
			r.expect(r.watch(WatchOptions{ResourceVersion: "2"}), "too old resource version: 2 (5)")
		})
	}
}

func TestTheFeedGoesOnAsTheFailureSays(t *testing.T) {
	bad := error(&undecodable{key: "/pods/n/a", cause: errDown})
	const patience = 30 * time.Second
	for _, c := range []struct {
		err     error
		failing time.Duration
		want    feedStep
	}{
		{errDown, 0, watchAgain},
		{errDown, time.Hour, watchAgain},
		{storage.ErrClosed, time.Hour, watchAgain},
		{fmt.Errorf("watch: %w", storage.ErrCompacted), 0, startOver},
		{wentBack(9, 5), 0, startOver},
		{bad, 0, probeObject},
		{bad, patience - 1, probeObject},
		{bad, patience, startOver},
	} {
		if got := afterFailure(c.err, c.failing, patience); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

// Regression of kubernetes#116172 and #116122: a watch made for one generation
// of the cache must not be served by the next one.
func TestAWatchThatWaitsIsClosedIfTheCacheStartsOverMeanwhile(t *testing.T) {
	inBubble(t, gated, func(r *rig) {
		var done sync.WaitGroup
		done.Go(func() {
			w := r.watch(WatchOptions{ResourceVersion: "3", SendInitialEvents: ptr(true), AllowBookmarks: true})
			r.expect(w, "EOF")
		})
		time.Sleep(1500 * time.Millisecond)
		r.gate().breakWatches()
		synctest.Wait()
		r.put("n/a", "")
		r.put("n/b", "") // 3
		done.Wait()
		if got := r.cacher.readiness.generation; got != 2 {
			t.Errorf("generation %d", got)
		}
		r.expect(r.watch(WatchOptions{ResourceVersion: "3", SendInitialEvents: ptr(true)}), "ADDED n/a@2", "ADDED n/b@3")
	})
}

// listing is a store that can begin a watch with the state.
type listing struct {
	*gate
	batch int // events per Next at the beginning
}

func (l *listing) WatchList(ctx context.Context, prefix string) (storage.Watch, error) {
	state, err := l.gate.List(ctx, prefix, storage.ListOptions{})
	if err != nil {
		return nil, err
	}
	inner, err := l.gate.Watch(ctx, prefix, storage.WatchOptions{Revision: state.Revision})
	if err != nil {
		return nil, err
	}
	var events []storage.Event
	for _, kv := range state.KVs {
		events = append(events, storage.Event{Type: storage.Put, KV: kv})
	}
	events = append(events, storage.Event{Type: storage.Progress, KV: storage.KeyValue{ModRevision: state.Revision}})
	return &listingWatch{Watch: inner, begin: events, batch: l.batch}, nil
}

type listingWatch struct {
	storage.Watch
	begin []storage.Event
	batch int
}

func (w *listingWatch) Next(ctx context.Context) ([]storage.Event, error) {
	if len(w.begin) == 0 {
		return w.Watch.Next(ctx)
	}
	n := min(w.batch, len(w.begin))
	events := w.begin[:n]
	w.begin = w.begin[n:]
	if len(w.begin) == 0 { // what comes next may be in the same batch
		short, cancel := context.WithTimeout(ctx, 0)
		defer cancel()
		if more, err := w.Watch.Next(short); err == nil {
			events = append(events, more...)
		}
	}
	return events, nil
}

func TestAStoreThatListsByWatchingIsListedThatWay(t *testing.T) {
	for _, batch := range []int{1, 2, 100} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, func(o *Options) {
				memory := o.Store.(*storage.Memory)
				for i := range 5 {
					if _, err := memory.Create(t.Context(), fmt.Sprintf("/pods/n/%d", i), value(fmt.Sprintf("n/%d", i), "")); err != nil {
						t.Fatal(err)
					}
				}
				o.Store = &listing{gate: newGate(memory), batch: batch}
			})
			r.expectList(ListOptions{ResourceVersion: "0"}, "n/0 n/1 n/2 n/3 n/4@6")
			w := r.watch(WatchOptions{ResourceVersion: "6"})
			r.put("n/5", "")
			r.expect(w, "ADDED n/5@7")
		})
	}
}
