package informer

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/resourceversion"
)

// walk is a random walk of one collection and one informer with handlers that
// come and go.
//
// bubble: made by randomWalk inside one
type walk struct {
	*rig
	rnd      *rand.Rand
	handlers []*walker
	removed  []*walker
	seen     string // newest version that the walk itself has read
}

// walker is a handler of a walk.
type walker struct {
	recorder
	reg  *Registration
	gone atomic.Bool // Done was closed
	seen string
}

// TestRandomWalksLeaveEveryHandlerWithALegalHistoryAndTheFinalState compares
// all that handlers and readers see with what the collection was at each version.
func TestRandomWalksLeaveEveryHandlerWithALegalHistoryAndTheFinalState(t *testing.T) {
	walks := 40
	if testing.Short() {
		walks = 10
	}
	for range walks {
		seed := rand.Uint64()
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) { randomWalk(t, seed) })
	}
}

func randomWalk(t *testing.T, seed uint64) {
	rnd := rand.New(rand.NewPCG(seed, 0))
	options := Options[*thing]{MaxPending: rnd.IntN(3) * 4}
	options.Reflector.DisableWatchList = rnd.IntN(2) == 0
	bubble(t, options, func(t *testing.T, r *rig) {
		w := &walk{rig: r, rnd: rnd}
		for range rnd.IntN(3) {
			w.join()
		}
		w.start()
		for range 300 {
			w.step()
			w.look()
		}
		w.finish()
	})
}

// step does one random thing.
func (w *walk) step() {
	key := string(rune('a' + w.rnd.IntN(8)))
	switch n := w.rnd.IntN(100); {
	case n < 38:
		w.from.set(key)
	case n < 40:
		w.expectWrite(w.from.set(key))
	case n < 55:
		w.from.remove(key)
	case n < 75:
		time.Sleep(time.Duration(w.rnd.IntN(2000)) * time.Millisecond)
	case n < 80:
		w.from.cut()
	case n < 84:
		w.from.compact()
	case n < 87:
		w.from.refuse(errors.New("connection refused"))
	case n < 90:
		w.from.refuse(nil)
	case n < 92:
		w.busy(time.Duration(w.rnd.IntN(5000)) * time.Millisecond)
	case n < 95:
		w.join()
	case n < 97:
		w.part()
	case n < 98:
		w.stop()
		w.start()
	default:
		synctest.Wait()
	}
}

// busy keeps the cache from being written for a while, so that deltas pile up.
func (w *walk) busy(pause time.Duration) {
	go func() {
		w.writing <- struct{}{}
		time.Sleep(pause)
		<-w.writing
	}()
}

// expectWrite waits in the background until the write can be read.
func (w *walk) expectWrite(version string) {
	go func() {
		err := w.WaitFor(w.t.Context(), version)
		order, invalid := resourceversion.CompareResourceVersion(w.Snapshot().ResourceVersion(), version)
		switch {
		case errors.Is(err, ErrStopped):
		case err != nil || invalid != nil || order < 0:
			w.t.Errorf("waited for %s, got %s: %v", version, w.Snapshot().ResourceVersion(), err)
		}
	}()
}

// join adds a handler that takes a random time for each call.
func (w *walk) join() {
	h := &walker{}
	pause := time.Duration(w.rnd.IntN(300)) * time.Millisecond
	if w.rnd.IntN(2) == 0 {
		pause = 0
	}
	h.hold = func() {
		if pause > 0 {
			time.Sleep(pause)
		}
	}
	h.check = func() string {
		if h.gone.Load() {
			return "called after Done"
		}
		return w.snapshotProblem(&h.seen)
	}
	var err error
	if h.reg, err = w.AddHandler(h); err != nil {
		w.t.Fatal(err)
	}
	w.handlers = append(w.handlers, h)
}

// part removes a random handler.
func (w *walk) part() {
	if len(w.handlers) == 0 {
		return
	}
	k := w.rnd.IntN(len(w.handlers))
	h := w.handlers[k]
	w.handlers = slices.Delete(w.handlers, k, k+1)
	w.removed = append(w.removed, h)
	h.reg.Remove()
	go func() {
		<-h.reg.Done()
		h.gone.Store(true)
	}()
}

// look checks the snapshot of this moment.
func (w *walk) look() {
	if problem := w.snapshotProblem(&w.seen); problem != "" {
		w.t.Error(problem)
	}
}

// snapshotProblem says what is wrong with the current snapshot, for a reader
// that has read version seen before.
func (w *walk) snapshotProblem(seen *string) string {
	snapshot := w.Snapshot()
	version := snapshot.ResourceVersion()
	if version == "" {
		if snapshot.Len() > 0 || *seen != "" {
			return "a snapshot with objects, but without a version"
		}
		return ""
	}
	if *seen != "" {
		if order, err := resourceversion.CompareResourceVersion(*seen, version); err != nil || order > 0 {
			return fmt.Sprintf("version went back from %s to %s (%v)", *seen, version, err)
		}
	}
	*seen = version
	if diff := cmp.Diff(w.from.state(version), idents(slices.Values(snapshot.List()))); diff != "" {
		return fmt.Sprintf("snapshot at %s (-collection +snapshot):\n%s", version, diff)
	}
	return ""
}

// finish lets everything settle and compares it.
func (w *walk) finish() {
	w.from.refuse(nil)
	version := w.from.set("last")
	ctx, cancel := context.WithTimeout(w.t.Context(), time.Hour)
	defer cancel()
	if err := w.WaitFor(ctx, version); err != nil {
		w.t.Fatalf("%v; %+v", err, w.Status())
	}
	time.Sleep(time.Hour)
	w.expectCache()
	_, want := w.from.newest()
	for k, h := range w.handlers {
		if diff := cmp.Diff(want, h.state()); diff != "" {
			w.t.Errorf("handler %d (-collection +told):\n%s", k, diff)
		}
		if h.reg.Depth() != 0 || !closed(h.reg.Synced()) {
			w.t.Errorf("handler %d: depth %d, synced %v", k, h.reg.Depth(), closed(h.reg.Synced()))
		}
		if diff := cmp.Diff(maps.Collect(w.Snapshot().All()), map[string]*thing(h.known), cmp.Comparer(func(a, b *thing) bool { return a == b })); diff != "" {
			w.t.Errorf("handler %d does not share the cached objects:\n%s", k, diff)
		}
	}
	for k, h := range slices.Concat(w.handlers, w.removed) {
		for _, problem := range h.complaints() {
			w.t.Errorf("handler %d: %s", k, problem)
		}
	}
	for _, h := range w.removed {
		if !closed(h.reg.Done()) {
			w.t.Error("a removed handler is not done")
		}
	}
}
