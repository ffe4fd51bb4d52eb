package informertest

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
)

// randomHistory is a collection of few keys that changes a lot.
func randomHistory(t testing.TB, rnd *rand.Rand) *History {
	t.Helper()
	h := NewHistory(10, nil)
	at, uids := uint64(10), 0
	for range 20 + rnd.IntN(60) {
		at += 1 + uint64(rnd.IntN(3))
		c := Change{Type: watch.Added, Key: string(rune('a' + rnd.IntN(5)))}
		was, exists := h.latest(c.Key)
		switch {
		case exists && rnd.IntN(3) == 0:
			c.Type, c.Version.UID = watch.Deleted, was.Version.UID
		case exists:
			c.Type, c.Version.UID = watch.Modified, was.Version.UID
		default:
			uids++
			c.Version.UID = types.UID(fmt.Sprint("u", uids))
		}
		c.Version.ResourceVersion, c.Version.Content = at, fmt.Sprint("c", at)
		if err := h.Add(c); err != nil {
			t.Fatal(err)
		}
	}
	if err := h.Extend(at + uint64(rnd.IntN(3))); err != nil {
		t.Fatal(err)
	}
	return h
}

// client is a dumb correct client, whose trace is legal by construction: it
// knows the history and goes along it in steps, each a batch of calls.
type client struct {
	history *History
	rnd     *rand.Rand
	at      uint64
	told    map[string]Version
	synced  bool
	trace   []Entry
}

// randomTrace is a legal trace that ends with everything told.
func randomTrace(h *History, rnd *rand.Rand) []Entry {
	from, to := h.Bounds()
	c := &client{history: h, rnd: rnd, at: from, told: map[string]Version{}}
	if rnd.IntN(3) == 0 {
		c.trace = append(c.trace, Entry{Kind: SnapshotRead})
	}
	c.replace(from + uint64(rnd.IntN(int(to-from)/2)))
	for c.at < to {
		next := min(to, c.at+1+uint64(rnd.IntN(8)))
		if rnd.IntN(4) == 0 {
			c.replace(next)
		} else {
			c.follow(next)
		}
	}
	c.trace = append(c.trace, Entry{Kind: SettledMark, ResourceVersion: to})
	return c.trace
}

// replace goes to a resourceVersion by a list.
func (c *client) replace(to uint64) {
	objects := c.history.At(to)
	var calls []Entry
	for _, key := range slices.Sorted(maps.Keys(c.told)) {
		if now, exists := objects[key]; !exists || now.UID != c.told[key].UID {
			calls = append(calls, Entry{Kind: DeleteCall, Key: key, Object: c.told[key]})
		}
	}
	for _, key := range slices.Sorted(maps.Keys(objects)) {
		switch was, known := c.told[key]; {
		case !known || was.UID != objects[key].UID:
			calls = append(calls, Entry{Kind: AddCall, Key: key, Object: objects[key]})
		case was != objects[key]:
			calls = append(calls, Entry{Kind: UpdateCall, Key: key, Old: was, Object: objects[key]})
		}
	}
	c.emit(calls, to)
	if !c.synced {
		c.synced = true
		c.trace = append(c.trace, Entry{Kind: SyncMark})
	}
}

// follow goes there by events, of which those of one key may be merged.
func (c *client) follow(to uint64) {
	last := map[string]int{}
	changes := c.history.Changes()
	for i, change := range changes {
		if change.Version.ResourceVersion <= to {
			last[change.Key] = i
		}
	}
	merging := c.rnd.IntN(3) == 0
	alive := maps.Clone(c.told)
	var calls []Entry
	for i, change := range changes {
		key, v := change.Key, change.Version
		was, known := alive[key]
		// An update may be left out if there is a later change, and an add if the
		// object is updated later.
		skip := merging && last[key] != i && change.Type == watch.Modified
		if v.ResourceVersion <= c.at || v.ResourceVersion > to || skip {
			continue
		}
		switch {
		case change.Type == watch.Deleted:
			calls = append(calls, Entry{Kind: DeleteCall, Key: key, Object: v, Exact: true})
			delete(alive, key)
			continue
		case known:
			calls = append(calls, Entry{Kind: UpdateCall, Key: key, Old: was, Object: v})
		default:
			calls = append(calls, Entry{Kind: AddCall, Key: key, Object: v})
		}
		alive[key] = v
	}
	c.emit(calls, to)
}

// emit publishes a snapshot, then makes the calls, and reads now and then.
func (c *client) emit(calls []Entry, to uint64) {
	c.at, c.told = to, c.history.At(to)
	for _, e := range calls {
		e.Initial = e.Kind == AddCall && !c.synced
		c.trace = append(c.trace, e)
		if c.rnd.IntN(3) == 0 {
			c.read()
		}
	}
	c.read()
	if c.rnd.IntN(4) == 0 {
		c.trace = append(c.trace, Entry{Kind: SettledMark, ResourceVersion: max(10, to-uint64(c.rnd.IntN(2)))})
	}
}

func (c *client) read() {
	c.trace = append(c.trace, Entry{Kind: SnapshotRead, ResourceVersion: c.at, Objects: c.history.At(c.at)})
}

func TestTracesOfACorrectClientAreNeverRefused(t *testing.T) {
	for range 300 {
		seed := rand.Uint64()
		rnd := rand.New(rand.NewPCG(seed, 0))
		h := randomHistory(t, rnd)
		if err := Verify(h, randomTrace(h, rnd), VerifyOptions{}); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
}

func TestAFilteredHistoryIsTheCollectionOfWhatMatches(t *testing.T) {
	for range 300 {
		seed := rand.Uint64()
		rnd := rand.New(rand.NewPCG(seed, 0))
		h := NewHistory(1, nil)
		at := uint64(1)
		states := map[uint64]map[string]uint64{1: {}} // what matches, by resourceVersion
		for range 60 {
			at++
			obj := object(fmt.Sprint("o", rnd.IntN(4)), "u", at)
			obj.Labels = map[string]string{"x": fmt.Sprint(rnd.IntN(2))}
			event := watch.Added
			if _, exists := h.latest(obj.Name); exists {
				event = []watch.EventType{watch.Modified, watch.Deleted}[rnd.IntN(2)]
			}
			if err := h.Record(event, obj); err != nil {
				t.Fatal(err)
			}
			state := maps.Clone(states[at-1])
			delete(state, obj.Name)
			if event != watch.Deleted && obj.Labels["x"] == "1" {
				state[obj.Name] = at
			}
			states[at] = state
		}
		filtered := h.Filter(labelled)
		for version, want := range states {
			got := map[string]uint64{}
			for key, v := range filtered.At(version) {
				got[key] = v.ResourceVersion
			}
			if !maps.Equal(got, want) {
				t.Fatalf("seed %d, at %d: got %v, want %v", seed, version, got, want)
			}
		}
	}
}
