package cacher

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/listwatch/listwatch/fakeserver/storage"
)

const (
	stormSeeds    = 200
	stormWriters  = 8
	stormWrites   = 20 // of each
	stormWatchers = 50
	// stormPatience is how long after the last write a watcher may take to have
	// seen everything.
	stormPatience = 10 * time.Minute
)

// storm is a Cacher in bad weather: writers and watchers that do what they
// like, while compactions, lost feeds, lag and dropped watches come in between.
//
// bubble: made by TestWhatWatchersSeeEqualsTheHistoryOfTheStore only
type storm struct {
	*rig
	// record is a watch of the store itself, read at the end.
	record storage.Watch
	past   past
	// final is the store's last revision, 0 until the last write.
	final atomic.Uint64

	mu       sync.Mutex // guards failures
	failures []string
}

// TestWhatWatchersSeeEqualsTheHistoryOfTheStore is the whole promise of the
// package: what a watcher delivers, joined over its resumes, is the history of
// the store seen through its selection.
func TestWhatWatchersSeeEqualsTheHistoryOfTheStore(t *testing.T) {
	seeds := uint64(stormSeeds)
	if testing.Short() {
		seeds /= 10
	}
	for seed := range seeds {
		t.Run(fmt.Sprint("seed_", seed), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { newStorm(t, seed).blow(seed) })
		})
	}
}

func newStorm(t *testing.T, seed uint64) *storm {
	random := rand.New(rand.NewPCG(seed, 1))
	r := newRig(t, func(o *Options) {
		o.Store = newGate(o.Store)
		o.Fields = fieldsByLabel
		o.MinCapacity, o.MaxCapacity = 4+random.IntN(20), 24+random.IntN(100)
		o.Fresh, o.BookmarkPeriod = time.Duration(1+random.IntN(10))*time.Second, 5*time.Second
		stormOptions(o, random)
	})
	s := &storm{rig: r, past: newPast()}
	var err error
	if s.record, err = r.memory.Watch(r.ctx, "/", storage.WatchOptions{Revision: 1}); err != nil {
		t.Fatal(err)
	}
	return s
}

// stormOptions chooses what else a storm varies.
func stormOptions(o *Options, random *rand.Rand) {
	o.LagLimit, o.SlowBudget = 1+random.IntN(20), time.Duration(1+random.IntN(1000))*time.Millisecond
	o.TellSlow = random.IntN(2) == 0
	if random.IntN(2) == 0 {
		o.TriggerField = "x"
	}
	if random.IntN(4) == 0 {
		o.MaxWatchers = stormWatchers * 2 / 3
	}
}

// blow runs the storm and then compares.
func (s *storm) blow(seed uint64) {
	var writers, weather, watchers sync.WaitGroup
	var open []*seer
	for i := range stormWatchers {
		e := newSeer(s, rand.New(rand.NewPCG(seed, uint64(100+i))))
		open = append(open, e)
		watchers.Go(e.run)
	}
	for i := range stormWriters {
		random := rand.New(rand.NewPCG(seed, uint64(10+i)))
		writers.Go(func() { s.write(random) })
	}
	over := make(chan struct{})
	weather.Go(func() { s.disturb(rand.New(rand.NewPCG(seed, 2)), over) })
	writers.Wait()
	close(over)
	weather.Wait()
	revision, err := s.memory.CurrentRevision(s.ctx)
	if err != nil {
		s.t.Fatal(err)
	}
	s.final.Store(uint64(revision))
	watchers.Wait()

	s.past.read(s.t, s.record, uint64(revision))
	for i, e := range open {
		for _, text := range s.past.compare(e) {
			s.fail("watcher %d, %v: %s", i, e.selection, text)
		}
	}
	for _, text := range s.failures[:min(3, len(s.failures))] {
		s.t.Errorf("seed %d: %s", seed, text)
	}
}

// fail notes a failure; the test goes on so that all goroutines end.
func (s *storm) fail(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failures = append(s.failures, fmt.Sprintf(format, args...))
}

// stormKey is a random key; a few are written much more often than others.
func stormKey(random *rand.Rand) string {
	return []string{"m/", "n/", "o/"}[random.IntN(3)] + string('a'+byte(min(random.IntN(6), random.IntN(6))))
}

// write changes random objects, against the other writers.
func (s *storm) write(random *rand.Rand) {
	for range stormWrites {
		if random.IntN(3) > 0 {
			time.Sleep(time.Duration(random.Int64N(int64(3 * time.Second))))
		}
		key := stormKey(random)
		full, content := "/pods/"+key, value(key, strconv.Itoa(random.IntN(3)))
		old, err := s.memory.Get(s.ctx, full, 0)
		// Others may have been faster: then nothing was written, which is fine.
		switch {
		case random.IntN(8) == 0:
			_, _ = s.memory.Create(s.ctx, fmt.Sprintf("/nodes/%d", random.Uint64()), nil)
		case err != nil:
			_, _ = s.memory.Create(s.ctx, full, content)
		case random.IntN(4) == 0:
			_, _ = s.memory.Delete(s.ctx, full, old.ModRevision)
		default:
			_, _ = s.memory.Update(s.ctx, full, content, old.ModRevision)
		}
	}
}

// disturb does everything that can happen to a server.
func (s *storm) disturb(random *rand.Rand, over chan struct{}) {
	held, failing := false, false
	for {
		select {
		case <-over:
			if held {
				s.gate().release()
			}
			s.gate().failLists(nil)
			return
		case <-time.After(time.Duration(random.Int64N(int64(2 * time.Second)))):
		}
		switch n := random.IntN(13); {
		case n < 3 && !held:
			s.gate().hold()
			held = true
		case n < 6 && held:
			s.gate().release()
			held = false
		case n < 7:
			s.compact()
		case n < 9:
			s.gate().breakWatches()
		case n < 11:
			s.gate().breakWith(errors.New("connection lost"))
		case n < 12:
			failing = !failing
			s.gate().failLists(map[bool]error{true: errors.New("no luck")}[failing])
		default:
			s.cacher.DropWatches()
		}
	}
}

// selection is a watcher's, understood without the code under test.
type selection struct {
	scope Scope
	// label and field are values of label "x", "" for any.
	label, field string
}

func someSelection(random *rand.Rand) selection {
	pick := func(values ...string) string { return values[random.IntN(len(values))] }
	return selection{
		scope: Scope{Namespace: pick("", "", "m", "n"), Name: pick("", "", "", "a", "b")},
		label: pick("", "", "", "0", "1"),
		field: pick("", "", "", "0", "1"),
	}
}

// sees says whether an object is selected; x is the value of its label.
func (s selection) sees(key, x string) bool {
	namespace, name := splitKey(key)
	return (s.scope.Namespace == "" || s.scope.Namespace == namespace) &&
		(s.scope.Name == "" || s.scope.Name == name) &&
		(s.label == "" || s.label == x) && (s.field == "" || s.field == x)
}

// past is the history of the store.
type past struct {
	states []map[string]object // index: revision
	events []storage.Event     // index: revision
}

// object is what is known of a version.
type object struct {
	rv uint64
	x  string
}

func newPast() past {
	return past{states: []map[string]object{{}, {}}, events: make([]storage.Event, 2)}
}

// label reads the label of a stored pod, without the code under test.
func label(kv storage.KeyValue) string {
	decoded, err := decodeMeta(kv)
	if err != nil {
		panic(err)
	}
	return fieldsByLabel(decoded)["x"]
}

// read takes the history up to a revision.
func (p *past) read(t testing.TB, record storage.Watch, final uint64) {
	for uint64(len(p.events)) <= final {
		events, err := record.Next(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		for _, event := range events {
			p.add(event)
		}
	}
}

// add adds the event of the next revision.
func (p *past) add(event storage.Event) {
	state := make(map[string]object, len(p.states[0]))
	for key, known := range p.states[len(p.states)-1] {
		state[key] = known
	}
	if key, isPod := podKey(event.KV.Key); isPod && event.Type == storage.Delete {
		delete(state, key)
	} else if isPod {
		state[key] = object{uint64(event.KV.ModRevision), label(event.KV)}
	}
	p.states, p.events = append(p.states, state), append(p.events, event)
}

// podKey cuts the prefix of pods off.
func podKey(key string) (string, bool) {
	const prefix = "/pods/"
	if len(key) < len(prefix) || key[:len(prefix)] != prefix {
		return "", false
	}
	return key[len(prefix):], true
}

// seen is the event of a revision through a selection, "" if it is not seen.
func (p *past) seen(s selection, rv uint64) string {
	key, isPod := podKey(p.events[rv].KV.Key)
	if !isPod {
		return ""
	}
	before, was := p.states[rv-1][key]
	after, is := p.states[rv][key]
	was, is = was && s.sees(key, before.x), is && s.sees(key, after.x)
	switch {
	case was && is:
		return fmt.Sprintf("MODIFIED %s@%d x=%s", key, rv, after.x)
	case is:
		return fmt.Sprintf("ADDED %s@%d x=%s", key, rv, after.x)
	case was:
		return fmt.Sprintf("DELETED %s@%d x=%s", key, rv, before.x)
	default:
		return ""
	}
}

// compare says in what an observer's stretches differ from the history.
func (p *past) compare(e *seer) (differences []string) {
	for _, stretch := range e.stretches {
		if stretch.to > uint64(len(p.events)-1) || stretch.from > stretch.to {
			differences = append(differences, fmt.Sprintf("reached %d from %d, the last is %d", stretch.to, stretch.from, len(p.events)-1))
			continue
		}
		if stretch.state != nil {
			if want := p.selected(e.selection, stretch.from); !slices.Equal(stretch.state, want) {
				differences = append(differences, fmt.Sprintf("%v\n  got state %q\n want state %q", stretch.log, stretch.state, want))
			}
		}
		var want []string
		for rv := stretch.from + 1; rv <= stretch.to; rv++ {
			if text := p.seen(e.selection, rv); text != "" {
				want = append(want, text)
			}
		}
		if !slices.Equal(stretch.events, want) {
			differences = append(differences, fmt.Sprintf("%v\n  got %q\n want %q", stretch.log, stretch.events, want))
		}
	}
	return differences
}

// selected is the state at a revision through a selection.
func (p *past) selected(s selection, rv uint64) []string {
	all := []string{}
	for key, known := range p.states[rv] {
		if s.sees(key, known.x) {
			all = append(all, fmt.Sprintf("%s@%d x=%s", key, known.rv, known.x))
		}
	}
	slices.Sort(all)
	return all
}
