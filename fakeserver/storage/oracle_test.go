package storage_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/listwatch/listwatch/fakeserver/storage"
	"github.com/listwatch/listwatch/fakeserver/storage/storagetest"
)

// oracle is the dumbest store there is: one whole map per revision.
type oracle struct {
	states    []map[string]storage.KeyValue // index: revision
	events    []storage.Event               // index: revision
	compacted int64
}

func newOracle() *oracle {
	return &oracle{states: []map[string]storage.KeyValue{nil, {}}, events: make([]storage.Event, 2)}
}

func (o *oracle) revision() int64 { return int64(len(o.states) - 1) }

// write records an event of the next revision.
func (o *oracle) write(event storage.Event) {
	state := maps.Clone(o.states[o.revision()])
	if event.Type == storage.Delete {
		delete(state, event.KV.Key)
	} else {
		state[event.KV.Key] = event.KV
	}
	o.states, o.events = append(o.states, state), append(o.events, event)
}

// list is what List must return.
func (o *oracle) list(prefix string, opts storage.ListOptions) (storage.ListResult, error) {
	result := storage.ListResult{Revision: opts.Revision}
	switch {
	case opts.Revision == 0:
		result.Revision = o.revision()
	case opts.Revision > o.revision():
		return storage.ListResult{}, storage.ErrFutureRevision
	case opts.Revision < o.compacted:
		return storage.ListResult{}, storage.ErrCompacted
	}
	state := o.states[result.Revision]
	for _, key := range slices.Sorted(maps.Keys(state)) {
		if !strings.HasPrefix(key, prefix) || key < opts.From {
			continue
		}
		result.Count++
		if opts.Limit > 0 && result.Count > opts.Limit {
			result.More = true
			continue
		}
		result.KVs = append(result.KVs, state[key])
	}
	return result, nil
}

// after is what a watch from revision must deliver.
func (o *oracle) after(prefix string, revision int64) []string {
	var events []string
	for _, event := range o.events[min(revision+1, o.revision()+1):] {
		if strings.HasPrefix(event.KV.Key, prefix) {
			events = append(events, storagetest.Describe(event))
		}
	}
	return events
}

var prefixes = []string{"/", "/pods/", "/pods/n/", "/pods/m/", "/nodes/"}

// walk drives a store and the oracle by the same random steps.
type walk struct {
	t      *testing.T
	random *rand.Rand
	memory *storage.Memory
	oracle *oracle
	open   []openWatch
}

// openWatch is a watch and what it has delivered.
type openWatch struct {
	watch  storage.Watch
	prefix string
	from   int64
	got    []string
}

func TestMemoryEqualsAMapPerRevision(t *testing.T) {
	for seed := range uint64(30) {
		t.Run(fmt.Sprint("seed_", seed), func(t *testing.T) {
			w := &walk{t: t, random: rand.New(rand.NewPCG(seed, 0)), memory: storage.NewMemory(), oracle: newOracle()}
			defer w.memory.Close()
			for range 400 {
				w.step()
			}
			for i := range w.open {
				w.drain(&w.open[i])
			}
		})
	}
}

// step does one thing at random.
func (w *walk) step() {
	switch n := w.random.IntN(100); {
	case n < 55:
		w.write()
	case n < 75:
		w.list()
	case n < 85:
		w.openOne()
	case n < 97 && len(w.open) > 0:
		w.drain(&w.open[w.random.IntN(len(w.open))])
	case n >= 97:
		w.compact()
	}
}

// write creates, updates or deletes a key, sometimes with a wrong expectation.
func (w *walk) write() {
	ctx := context.Background()
	key := []string{"/pods/n/", "/pods/m/", "/nodes/"}[w.random.IntN(3)] + string('a'+byte(w.random.IntN(6)))
	value := fmt.Appendf(nil, "%d", w.random.IntN(1000))
	old, exists := w.oracle.states[w.oracle.revision()][key]
	expected := old.ModRevision - int64(w.random.IntN(10)/9)
	var event storage.Event
	var err, want error
	switch op := w.random.IntN(3); {
	case op == 0:
		event.Type = storage.Put
		event.KV, err = w.memory.Create(ctx, key, value)
		if exists {
			want = storage.ErrExists
		}
	case op == 1:
		event.Type, event.Prev = storage.Put, &old
		event.KV, err = w.memory.Update(ctx, key, value, expected)
		want = expectation(exists, expected == old.ModRevision)
	default:
		event.Type, event.Prev = storage.Delete, &old
		event.KV, err = w.memory.Delete(ctx, key, expected)
		want = expectation(exists, expected == old.ModRevision)
	}
	if !errors.Is(err, want) {
		w.t.Fatalf("writing %s: %v, want %v", key, err, want)
	}
	if err == nil {
		w.oracle.write(event)
		if event.KV.ModRevision != w.oracle.revision() {
			w.t.Fatalf("revision %d, want %d", event.KV.ModRevision, w.oracle.revision())
		}
	}
}

func expectation(exists, right bool) error {
	switch {
	case !exists:
		return storage.ErrNotFound
	case !right:
		return storage.ErrConflict
	default:
		return nil
	}
}

// list compares a list with random options.
func (w *walk) list() {
	opts := storage.ListOptions{Limit: int64(w.random.IntN(4)), Revision: int64(w.random.IntN(int(w.oracle.revision()) + 3))}
	if w.random.IntN(3) == 0 {
		opts.From = []string{"/nodes/c", "/pods/m/b\x00", "/pods/n/c"}[w.random.IntN(3)]
	}
	prefix := prefixes[w.random.IntN(len(prefixes))]
	got, err := w.memory.List(context.Background(), prefix, opts)
	want, wantErr := w.oracle.list(prefix, opts)
	if !errors.Is(err, wantErr) {
		w.t.Fatalf("list %s %+v: %v, want %v", prefix, opts, err, wantErr)
	}
	if fmt.Sprintf("%v", got) != fmt.Sprintf("%v", want) {
		w.t.Fatalf("list %s %+v\n got %v\nwant %v", prefix, opts, got, want)
	}
}

// openOne opens a watch somewhere.
func (w *walk) openOne() {
	prefix := prefixes[w.random.IntN(len(prefixes))]
	from := w.random.Int64N(w.oracle.revision() + 3)
	watch, err := w.memory.Watch(context.Background(), prefix, storage.WatchOptions{Revision: from})
	if from < w.oracle.compacted {
		if !errors.Is(err, storage.ErrCompacted) {
			w.t.Fatalf("watch from %d: %v", from, err)
		}
		return
	}
	if err != nil {
		w.t.Fatal(err)
	}
	w.open = append(w.open, openWatch{watch: watch, prefix: prefix, from: from})
}

// drain reads a watch up to now and compares all that it ever delivered.
func (w *walk) drain(open *openWatch) {
	open.watch.RequestProgress()
	for {
		events, err := open.watch.Next(context.Background())
		if err != nil {
			w.t.Fatal(err)
		}
		for _, event := range events {
			if event.Type != storage.Progress {
				open.got = append(open.got, storagetest.Describe(event))
			}
		}
		if last := events[len(events)-1]; last.Type == storage.Progress {
			if last.KV.ModRevision != w.oracle.revision() {
				w.t.Fatalf("progress at %d, want %d", last.KV.ModRevision, w.oracle.revision())
			}
			break
		}
	}
	if want := w.oracle.after(open.prefix, open.from); !slices.Equal(open.got, want) {
		w.t.Fatalf("watch %s from %d\n got %q\nwant %q", open.prefix, open.from, open.got, want)
	}
}

// compact compacts at random, mostly not very far.
func (w *walk) compact() {
	revision := w.oracle.compacted + w.random.Int64N(w.oracle.revision()-w.oracle.compacted+1)
	if err := w.memory.Compact(context.Background(), revision); err != nil {
		w.t.Fatal(err)
	}
	w.oracle.compacted = revision
}
