package cacher

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/listwatch/listwatch/fakeserver/storage"
)

// timeMachine is a store that can be replaced by another one with a lower
// revision, as a database is that is restored from a backup.
type timeMachine struct {
	mu      sync.Mutex
	current storage.Store
	watches []*machineWatch
}

func (m *timeMachine) now() storage.Store {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.current
}

// travel replaces the store. Open watches go on with the new one, if they are
// not to break, from where they were.
func (m *timeMachine) travel(to storage.Store, breaking bool) {
	m.mu.Lock()
	m.current = to
	watches := m.watches
	m.watches = nil
	m.mu.Unlock()
	for _, w := range watches {
		w.travel(to, breaking)
	}
}

func (m *timeMachine) CurrentRevision(ctx context.Context) (int64, error) {
	return m.now().CurrentRevision(ctx)
}

func (m *timeMachine) Get(ctx context.Context, key string, revision int64) (storage.KeyValue, error) {
	return m.now().Get(ctx, key, revision)
}

func (m *timeMachine) List(ctx context.Context, prefix string, opts storage.ListOptions) (storage.ListResult, error) {
	return m.now().List(ctx, prefix, opts)
}

func (m *timeMachine) Create(ctx context.Context, key string, value []byte) (storage.KeyValue, error) {
	return m.now().Create(ctx, key, value)
}

func (m *timeMachine) Update(ctx context.Context, key string, value []byte, expected int64) (storage.KeyValue, error) {
	return m.now().Update(ctx, key, value, expected)
}

func (m *timeMachine) Delete(ctx context.Context, key string, expected int64) (storage.KeyValue, error) {
	return m.now().Delete(ctx, key, expected)
}

func (m *timeMachine) Compact(ctx context.Context, revision int64) error {
	return m.now().Compact(ctx, revision)
}

func (m *timeMachine) Watch(ctx context.Context, prefix string, opts storage.WatchOptions) (storage.Watch, error) {
	inner, err := m.now().Watch(ctx, prefix, opts)
	if err != nil {
		return nil, err
	}
	w := &machineWatch{prefix: prefix, inner: inner}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.watches = append(m.watches, w)
	return w, nil
}

// machineWatch is a watch that survives the journey.
type machineWatch struct {
	prefix string

	mu     sync.Mutex
	inner  storage.Watch
	broken bool
}

func (w *machineWatch) travel(to storage.Store, breaking bool) {
	revision, err := to.CurrentRevision(context.Background())
	if err != nil {
		panic(err)
	}
	inner, err := to.Watch(context.Background(), w.prefix, storage.WatchOptions{Revision: revision})
	if err != nil {
		panic(err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.inner.Close()
	w.inner, w.broken = inner, breaking
}

func (w *machineWatch) Next(ctx context.Context) ([]storage.Event, error) {
	for {
		w.mu.Lock()
		inner, broken := w.inner, w.broken
		w.mu.Unlock()
		if broken {
			return nil, errDown
		}
		events, err := inner.Next(ctx)
		w.mu.Lock()
		moved := w.inner != inner
		w.mu.Unlock()
		if !moved || !errors.Is(err, storage.ErrClosed) {
			return events, err
		}
	}
}

func (w *machineWatch) RequestProgress() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.inner.RequestProgress()
}

func (w *machineWatch) Close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.inner.Close()
}

// backup is a store at revision 3: n/a is at 2 and n/old at 3.
func backup(t testing.TB) *storage.Memory {
	m := storage.NewMemory()
	for _, key := range []string{"n/a", "n/old"} {
		if _, err := m.Create(context.Background(), "/pods/"+key, value(key, "backup")); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(m.Close)
	return m
}

// Weakness 8 of kube-apiserver: a store that was restored from a backup goes
// unnoticed until its revision is where it was.
func TestAStoreWhoseHistoryWentBackIsNoticed(t *testing.T) {
	for _, c := range []struct {
		how      string
		breaking bool
		notice   func(*rig)
	}{
		{"when a list asks for its revision", false, func(r *rig) {
			r.expectList(ListOptions{}, "n/a n/old@3") // and is right itself
		}},
		{"when a watch asks for its revision", false, func(r *rig) {
			if _, err := r.cacher.Watch(r.ctx, WatchOptions{SendInitialEvents: ptr(true)}); status(err).ErrStatus.Code != 429 {
				r.t.Errorf("got %v", err)
			}
		}},
		{"by an event", false, func(r *rig) { r.put("n/b", "") }},
		{"by a progress notification", false, func(r *rig) { r.cacher.requestProgress() }},
		{"when a watch is resumed", true, func(*rig) {}},
	} {
		t.Run(c.how, func(t *testing.T) {
			inBubble(t, func(o *Options) { o.Store = &timeMachine{current: o.Store} }, func(r *rig) {
				for range 8 {
					r.put("n/a", "") // 2 to 9
				}
				r.put("n/new", "") // 10
				w := r.watch(WatchOptions{SendInitialEvents: ptr(false)})
				r.expectList(ListOptions{}, "n/a n/new@10")
				time.Sleep(time.Minute)

				r.memory = backup(r.t)
				r.store.(*timeMachine).travel(r.memory, c.breaking)
				c.notice(r)
				synctest.Wait()
				r.expect(w, "EOF")
				time.Sleep(2 * time.Second)
				if got := r.cacher.readiness.generation; got != 2 {
					t.Errorf("generation %d", got)
				}
				r.expectRestored()
			})
		})
	}
}

// expectRestored checks that nothing of the time before the backup is left.
func (r *rig) expectRestored() {
	r.t.Helper()
	revision, err := r.memory.CurrentRevision(r.ctx)
	if err != nil {
		r.t.Fatal(err)
	}
	got := r.list(ListOptions{ResourceVersion: "0"})
	if got.ResourceVersion != uint64(revision) {
		r.t.Errorf("the cache is at %d, the store at %d", got.ResourceVersion, revision)
	}
	for _, item := range got.Items {
		if item.Key != "n/b" && describeObject(item) != fmt.Sprintf("rv=%d x=backup", item.ResourceVersion) {
			r.t.Errorf("%s is %s", item.Key, describeObject(item))
		}
	}
	w := r.watch(WatchOptions{ResourceVersion: fmt.Sprint(revision), AllowBookmarks: true})
	next := r.put("n/c", "")
	r.expect(w, fmt.Sprintf("ADDED n/c@%d", next))
}

func TestAListThatShowsThatTheStoreWentBackIsReadAnew(t *testing.T) {
	inBubble(t, func(o *Options) { o.Store = &timeMachine{current: newGate(o.Store)} }, func(r *rig) {
		r.put("n/a", "") // 2, as in the backup, but another object
		for range 7 {
			r.put("n/z", "")
		}
		synctest.Wait()
		time.Sleep(time.Minute)
		before := r.store.(*timeMachine).now().(*gate)
		r.memory = backup(r.t)
		r.store.(*timeMachine).mu.Lock()
		r.store.(*timeMachine).current = r.memory
		r.store.(*timeMachine).mu.Unlock()
		before.breakWatches() // as after a compaction: the feed lists
		synctest.Wait()
		r.expectRestored()
	})
}

func TestReadsDuringAJourneyInTimeAreOfOneSideOfIt(t *testing.T) {
	inBubble(t, func(o *Options) { o.Store = &timeMachine{current: o.Store} }, func(r *rig) {
		for round := range 20 {
			for range 8 {
				r.put("n/a", "")
			}
			r.put(fmt.Sprint("n/", round), "") // only on this side
			synctest.Wait()
			time.Sleep(2 * time.Second)
			r.memory = backup(r.t)
			var readers sync.WaitGroup
			for i := range 20 {
				if i == round {
					readers.Go(func() { r.store.(*timeMachine).travel(r.memory, false) })
				}
				readers.Go(func() {
					result, err := r.cacher.List(r.ctx, ListOptions{})
					if err != nil {
						if status(err).ErrStatus.Code != 429 {
							t.Error(err)
						}
					} else if got := shown(result); got != "n/a n/old@3" && got != fmt.Sprintf("n/%d n/a@10", round) && got != fmt.Sprintf("n/%d n/a n/old@12", round) {
						t.Errorf("round %d: %s", round, got)
					}
				})
			}
			readers.Wait()
			_, _ = r.cacher.List(r.ctx, ListOptions{}) // if the journey came last
			time.Sleep(2 * time.Second)
			r.expectList(ListOptions{ResourceVersion: "0"}, "n/a n/old@3")
		}
	})
}

func TestAnEventThatComesAfterTheCacheWasFoundWrongIsPassedOver(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		r.put("n/a", "") // 2
		synctest.Wait()
		r.cacher.interrupted(wentBack(9, 2)) // the feed itself does not know yet
		r.put("n/b", "")
		r.cacher.requestProgress()
		synctest.Wait()
		if c := r.cacher; c.rv != 0 || c.writer != nil || c.readiness.phase != pending {
			t.Errorf("the cache is at %d and %v", c.rv, c.readiness.phase)
		}
		r.cacher.mu.Lock()
		abandon := r.cacher.progress.abandon
		r.cacher.mu.Unlock()
		abandon(wentBack(9, 2))
		time.Sleep(2 * time.Second)
		r.expectList(ListOptions{ResourceVersion: "0"}, "n/a n/b@3")
	})
}
