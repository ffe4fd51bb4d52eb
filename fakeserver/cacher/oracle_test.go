package cacher

import (
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/watch"
)

// oracle remembers the whole collection at every resource version: key to
// label, nil where nothing changed.
type oracle struct {
	states []map[string]string // index: resource version
	wrote  []string            // index: resource version; the key written, "" if none
}

// record adds the state after a write.
func (o *oracle) record(rv uint64, key, label string, deleted bool) {
	for uint64(len(o.states)) <= rv {
		last := map[string]string{}
		if len(o.states) > 0 {
			last = o.states[len(o.states)-1]
		}
		o.states, o.wrote = append(o.states, last), append(o.wrote, "")
	}
	if key == "" {
		return
	}
	next := maps.Clone(o.states[rv])
	if next[key] = label; deleted {
		delete(next, key)
	}
	o.states[rv], o.wrote[rv] = next, key
}

// selected says whether a predicate selects key in a state.
func selected(predicate *Predicate, state map[string]string, key string) bool {
	label, ok := state[key]
	if !ok {
		return false
	}
	item := &Item{Key: key, Labels: labels.Set{"x": label}}
	item.Namespace, item.Name = splitKey(key)
	return predicate.matches(item)
}

// initial is the state at rv as keys.
func (o *oracle) initial(predicate *Predicate, rv uint64) []string {
	var all []string
	for _, key := range slices.Sorted(maps.Keys(o.states[rv])) {
		if selected(predicate, o.states[rv], key) {
			all = append(all, key)
		}
	}
	return all
}

// changes are the events that a watch must deliver after one version, up to
// another.
func (o *oracle) changes(predicate *Predicate, after, upTo uint64) []string {
	var all []string
	for rv := after + 1; rv <= upTo && rv < uint64(len(o.states)); rv++ {
		key := o.wrote[rv]
		was, is := key != "" && selected(predicate, o.states[rv-1], key), key != "" && selected(predicate, o.states[rv], key)
		kind := map[[2]bool]watch.EventType{{false, true}: watch.Added, {true, true}: watch.Modified, {true, false}: watch.Deleted}[[2]bool{was, is}]
		if kind != "" {
			all = append(all, fmt.Sprintf("%s %s@%d", kind, key, rv))
		}
	}
	return all
}

// follower is a watcher under test and what it has delivered.
type follower struct {
	watcher   *Watcher
	predicate Predicate
	opened    string
	// initial events are read until the end bookmark, at after.
	initially bool
	initial   []string
	after     uint64
	got       []string
	// reached is the newest version delivered.
	reached uint64
	ended   bool
}

// walk does random things to a rig and compares with the oracle.
//
// bubble: made by TestWatchersAndListsEqualTheHistory only, in a bubble
type walk struct {
	*rig
	random    *rand.Rand
	oracle    oracle
	newest    uint64
	compacted uint64
	broken    time.Time
	followers []*follower
}

func TestWatchersAndListsEqualTheHistory(t *testing.T) {
	small := func(o *Options) {
		o.Store = newGate(o.Store)
		o.MinCapacity, o.MaxCapacity, o.LagLimit, o.Fresh = 8, 64, 30, 5*time.Second
	}
	for seed := range uint64(25) {
		t.Run(fmt.Sprint("seed_", seed), func(t *testing.T) {
			inBubble(t, small, func(r *rig) {
				w := &walk{rig: r, random: rand.New(rand.NewPCG(seed, 0)), newest: 1}
				w.oracle.record(1, "", "", false)
				for range 500 {
					w.step()
				}
				for _, f := range w.followers {
					w.drain(f)
				}
			})
		})
	}
}

// step does one random thing.
func (w *walk) step() {
	switch n := w.random.IntN(100); {
	case n < 50:
		w.write()
	case n < 60:
		w.open()
	case n < 80 && len(w.followers) > 0:
		w.drain(w.followers[w.random.IntN(len(w.followers))])
	case n < 90:
		w.compareList()
	case n < 96:
		time.Sleep(time.Duration(w.random.Int64N(int64(30 * time.Second))))
	case n < 98:
		w.compacted = w.compact()
	case n < 99:
		w.gate().breakWatches()
		w.broken = time.Now()
	}
}

// refused says whether err is the refusal of a cache that starts over, which it
// does for a second at most after its watch broke.
func (w *walk) refused(err error) bool {
	if err == nil {
		return false
	}
	if status(err).ErrStatus.Code != 429 || time.Since(w.broken) > time.Second {
		w.t.Fatalf("%v after the watch broke: %v", time.Since(w.broken), err)
	}
	return true
}

// write changes a random object, here or of another resource.
func (w *walk) write() {
	key := []string{"m/", "n/"}[w.random.IntN(2)] + string('a'+byte(w.random.IntN(5)))
	label := fmt.Sprint(w.random.IntN(3))
	_, exists := w.oracle.states[w.newest][key]
	switch n := w.random.IntN(10); {
	case n == 0:
		w.newest = w.elsewhere()
		w.oracle.record(w.newest, "", "", false)
	case exists && n < 4:
		w.newest = w.remove(key)
		w.oracle.record(w.newest, key, "", true)
	default:
		w.newest = w.put(key, label)
		w.oracle.record(w.newest, key, label, false)
	}
}

// somePredicate is a random one.
func (w *walk) somePredicate() Predicate {
	predicate := Predicate{}
	if w.random.IntN(2) == 0 {
		predicate = labelled(fmt.Sprint(w.random.IntN(3)))
	}
	predicate.Scope = []Scope{{}, {}, {Namespace: "n"}, {Namespace: "m", Name: "a"}, {Name: "b"}}[w.random.IntN(5)]
	return predicate
}

// open starts a follower at a random place.
func (w *walk) open() {
	f := &follower{predicate: w.somePredicate()}
	opts := WatchOptions{Predicate: f.predicate, AllowBookmarks: true, SendInitialEvents: ptr(false)}
	switch w.random.IntN(4) {
	case 0:
		opts.SendInitialEvents, opts.ResourceVersion = ptr(true), []string{"", "0", fmt.Sprint(w.newest)}[w.random.IntN(3)]
		f.initially = true
	case 1:
		f.after = w.newest
	default:
		f.after = w.newest - w.random.Uint64N(min(w.newest, 30))
		opts.ResourceVersion = strconv.FormatUint(f.after, 10)
	}
	f.opened = fmt.Sprintf("%+v from %q, initial events %v", f.predicate.Scope, opts.ResourceVersion, f.initially)
	var err error
	f.watcher, err = w.cacher.Watch(w.ctx, opts)
	if w.refused(err) {
		return
	}
	w.t.Cleanup(f.watcher.Stop)
	f.reached = f.after
	w.followers = append(w.followers, f)
}

// drain takes what is there and compares everything it ever delivered.
func (w *walk) drain(f *follower) {
	synctest.Wait()
	for !f.ended && f.watcher.Pending() {
		event, err := f.watcher.Next(w.ctx)
		switch {
		case err == io.EOF:
			f.ended = true
		case err != nil:
			if status(err).ErrStatus.Code != 410 || len(f.got) > 0 || f.initially {
				w.t.Fatalf("%s: %v", f.opened, err)
			}
		default:
			w.took(f, event)
		}
	}
	upTo := f.reached
	if !f.ended {
		upTo = w.newest
	}
	if f.initially && !f.ended {
		w.t.Fatalf("%s: no end of the initial events", f.opened)
	}
	if want := w.oracle.changes(&f.predicate, f.after, upTo); !f.initially && !slices.Equal(f.got, want) {
		w.t.Fatalf("%s, up to %d, ended %v\n got %q\nwant %q", f.opened, upTo, f.ended, f.got, want)
	}
}

// took handles one event.
func (w *walk) took(f *follower, event Event) {
	switch {
	case f.initially && event.InitialEventsEnd:
		f.initially, f.after, f.reached = false, event.ResourceVersion, event.ResourceVersion
		if want := w.oracle.initial(&f.predicate, f.after); !slices.Equal(f.initial, want) {
			w.t.Fatalf("%s at %d\n got %q\nwant %q", f.opened, f.after, f.initial, want)
		}
	case f.initially:
		f.initial = append(f.initial, event.Item.Key)
	case event.Type == watch.Bookmark:
		if event.ResourceVersion < f.reached || event.ResourceVersion > w.newest {
			w.t.Fatalf("%s: bookmark at %d after %d", f.opened, event.ResourceVersion, f.reached)
		}
		f.reached = event.ResourceVersion
		if want := w.oracle.changes(&f.predicate, f.after, f.reached); !slices.Equal(f.got, want) {
			w.t.Fatalf("%s: at the bookmark %d\n got %q\nwant %q", f.opened, f.reached, f.got, want)
		}
	default:
		f.got, f.reached = append(f.got, show(event)), event.ResourceVersion
	}
}

// compareList lists in a random way.
func (w *walk) compareList() {
	opts := ListOptions{Predicate: w.somePredicate()}
	at := w.newest - w.random.Uint64N(min(w.newest, 40))
	if w.random.IntN(2) == 0 {
		opts.ResourceVersion, opts.Match = strconv.FormatUint(at, 10), exact
	} else {
		at = w.newest
	}
	result, err := w.cacher.List(w.ctx, opts)
	if status(err).ErrStatus.Code == 429 && w.refused(err) {
		return
	}
	if at < w.compacted {
		if status(err).ErrStatus.Code != 410 {
			w.t.Fatalf("list at %d, compacted at %d: %v", at, w.compacted, err)
		}
		return
	}
	if err != nil || result.ResourceVersion != at {
		w.t.Fatalf("list at %d: %d, %v", at, result.ResourceVersion, err)
	}
	var got []string
	for _, item := range result.Items {
		got = append(got, item.Key)
	}
	if want := w.oracle.initial(&opts.Predicate, at); !slices.Equal(got, want) {
		w.t.Fatalf("list at %d\n got %q\nwant %q", at, got, want)
	}
}
