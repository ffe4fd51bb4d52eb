package deltafifo

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// thing is one version of an object; uid tells apart objects of one name.
type thing struct{ uid, version int }

// rig drives a queue and, beside it, the dumb model: the collection as a map,
// and for every pop the collections at all resourceVersions in between.
type rig struct {
	t     *testing.T
	queue *Queue[thing]
	max   int

	version  int
	uid      int
	truth    map[string]thing // the collection now
	consumer map[string]thing // what the popped batches made of it

	told map[string][]DeltaType // per key since the last pop
	// deleted are keys with a Deleted since the last pop; those must be seen.
	deleted  map[string]thing
	before   map[thing]thing // by what was sent with it, what a deletion ended
	replaces int             // since the last pop
	resync   bool            // asked for since the last pop
	last     string
	batch    []Delta[thing]
}

func newRig(t *testing.T, maxPending int) *rig {
	return &rig{
		t: t, queue: New[thing](Options{MaxPending: maxPending}), max: maxPending,
		truth: map[string]thing{}, consumer: map[string]thing{}, told: map[string][]DeltaType{},
		deleted: map[string]thing{}, before: map[thing]thing{},
	}
}

func (r *rig) next() string {
	r.version++
	r.last = strconv.Itoa(r.version)
	return r.last
}

// put adds or updates key, whichever is true.
func (r *rig) put(key string) {
	rv := r.next()
	old, ok := r.truth[key]
	if ok {
		r.truth[key] = thing{old.uid, r.version}
		r.queue.Update(key, r.truth[key], rv)
		r.told[key] = append(r.told[key], Updated)
		return
	}
	r.uid++
	r.truth[key] = thing{r.uid, r.version}
	r.queue.Add(key, r.truth[key], rv)
	r.told[key] = append(r.told[key], Added)
}

// addAgain says Added of a key that is there, as odd servers do.
func (r *rig) addAgain(key string) {
	old, ok := r.truth[key]
	if !ok {
		r.put(key)
		return
	}
	rv := r.next()
	r.truth[key] = thing{old.uid, r.version}
	r.queue.Add(key, r.truth[key], rv)
	r.told[key] = append(r.told[key], Added)
}

func (r *rig) remove(key string) {
	old, ok := r.truth[key]
	if !ok {
		return
	}
	rv := r.next()
	r.queue.Delete(key, thing{old.uid, r.version}, rv)
	r.before[thing{old.uid, r.version}] = old
	delete(r.truth, key)
	r.told[key] = append(r.told[key], Deleted)
	r.deleted[key] = old
}

// replace lets some keys vanish and others appear unseen, then relists.
func (r *rig) replace(drop, grow string) {
	rv := r.next()
	delete(r.truth, drop)
	if _, ok := r.truth[grow]; !ok {
		r.uid++
		r.truth[grow] = thing{r.uid, r.version}
	}
	var items []Item[thing]
	for _, key := range slices.Sorted(maps.Keys(r.truth)) {
		items = append(items, Item[thing]{Key: key, Object: r.truth[key]})
	}
	r.queue.Replace(items, rv)
	r.replaces++
}

func (r *rig) askResync() {
	r.queue.Resync()
	r.resync = true
}

func (r *rig) bookmark() { r.queue.Bookmark(r.next()) }

// bounded checks the bound that doc.go promises.
func (r *rig) bounded() {
	r.t.Helper()
	if n, bound := r.queue.Len(), max(r.max, 2*(3*len(r.told)+3)); n > bound {
		r.t.Fatalf("%d deltas wait for %d keys, more than %d", n, len(r.told), bound)
	}
}

// pop takes a batch, if there is one, and checks all promises on it.
func (r *rig) pop() {
	r.t.Helper()
	if r.queue.Len() == 0 {
		return
	}
	var err error
	r.batch, err = r.queue.Pop(context.Background(), r.batch)
	if err != nil {
		r.t.Fatal(err)
	}
	before := maps.Clone(r.consumer)
	seen := map[string][]Delta[thing]{}
	version := 0
	for i, d := range r.batch {
		if rv, _ := strconv.Atoi(d.ResourceVersion); rv < version {
			r.t.Fatalf("resourceVersion goes back from %d to %d in %v", version, rv, r.batch)
		} else {
			version = rv
		}
		if d.Type == Bookmark && i != len(r.batch)-1 && len(r.batch) >= r.max {
			r.t.Fatalf("a bookmark in the middle of a merged batch")
		}
		r.apply(d)
		seen[d.Key] = append(seen[d.Key], d)
	}
	if diff := cmp.Diff(r.truth, r.consumer, cmp.AllowUnexported(thing{})); diff != "" {
		r.t.Fatalf("after the batch %v (-collection +consumer):\n%s", r.batch, diff)
	}
	if got := r.batch[len(r.batch)-1].ResourceVersion; got != r.last {
		r.t.Fatalf("the last delta has resourceVersion %s, want %s", got, r.last)
	}
	r.noDeleteLost(before, seen)
	r.resyncOnce()
	r.told, r.deleted, r.replaces = map[string][]DeltaType{}, map[string]thing{}, 0
}

// apply is the consumer, as doc.go describes it, and rejects illegal chains.
func (r *rig) apply(d Delta[thing]) {
	r.t.Helper()
	old, ok := r.consumer[d.Key]
	switch d.Type {
	case Added, Updated:
		if d.Type == Updated && !ok {
			r.t.Fatalf("Updated of %q, which the consumer does not hold: %v", d.Key, r.batch)
		}
		if ok && old.uid != d.Object.uid {
			r.t.Fatalf("%q became another object without a Deleted: %v", d.Key, r.batch)
		}
		if ok && old.version > d.Object.version {
			r.t.Fatalf("%q goes back in time: %v", d.Key, r.batch)
		}
		r.consumer[d.Key] = d.Object
	case Deleted:
		// Only a replacement that was replaced can hide how one object followed another.
		if ok && old.uid != d.Object.uid && r.replaces < 2 {
			r.t.Fatalf("Deleted of %q is about another object than the consumer's: %v", d.Key, r.batch)
		}
		if ok && !d.Merged && r.before[d.Object] != old {
			r.t.Fatalf("Deleted of %q does not follow what the consumer holds, and is not marked as merged: %v", d.Key, r.batch)
		}
		delete(r.consumer, d.Key)
	case Replaced:
		clear(r.consumer)
		for _, item := range d.Replacement.Items {
			r.consumer[item.Key] = item.Object
		}
		if d.Replacement.ResourceVersion != d.ResourceVersion {
			r.t.Fatalf("replacement at %s in a delta at %s", d.Replacement.ResourceVersion, d.ResourceVersion)
		}
	case Bookmark:
	case Resync:
		if d.Key != "" || d.Object != (thing{}) || d.Replacement != nil {
			r.t.Fatalf("a Resync says more than it knows: %v", d)
		}
	default:
		r.t.Fatalf("unknown type %v", d.Type)
	}
}

// resyncOnce checks that a batch has one Resync if any was asked for, and else
// none.
func (r *rig) resyncOnce() {
	r.t.Helper()
	want := 0
	if r.resync {
		want = 1
	}
	got := 0
	for _, d := range r.batch {
		if d.Type == Resync {
			got++
		}
	}
	if got != want {
		r.t.Fatalf("%d Resyncs, want %d: %v", got, want, r.batch)
	}
	r.resync = false
}

// noDeleteLost checks that each key that the consumer held and that the server
// said to be deleted has a Deleted in the batch, also if the key came back.
func (r *rig) noDeleteLost(before map[string]thing, seen map[string][]Delta[thing]) {
	r.t.Helper()
	for key := range r.deleted {
		if _, held := before[key]; !held {
			continue
		}
		if !slices.ContainsFunc(seen[key], func(d Delta[thing]) bool { return d.Type == Deleted }) {
			r.t.Fatalf("the delete of %q is lost: told %v, popped %v", key, r.told[key], r.batch)
		}
	}
}

// step does one operation chosen by two bytes.
func (r *rig) step(op, key byte) {
	r.t.Helper()
	name := fmt.Sprint("key-", key%7)
	switch op % 17 {
	case 0, 1, 2, 3, 4:
		r.put(name)
	case 5, 6, 7, 8:
		r.remove(name)
	case 9:
		r.addAgain(name)
	case 10:
		r.replace(name, fmt.Sprint("key-", key/7%7))
	case 11, 12:
		r.bookmark()
	case 13:
		r.pop()
	case 16:
		r.askResync()
	default:
		r.remove(name)
		r.put(name)
	}
	r.bounded()
}

func TestAnySequenceOfOperationsKeepsThePromises(t *testing.T) {
	for _, maxPending := range []int{1, 2, 8, 50, 0} {
		t.Run(fmt.Sprintf("MaxPending %d", maxPending), func(t *testing.T) {
			seed := rand.Uint64()
			t.Logf("seed %d", seed)
			random := rand.New(rand.NewPCG(seed, 0))
			for range 60 {
				r := newRig(t, maxPending)
				if maxPending == 0 {
					r.max = defaultMaxPending
				}
				for range 400 {
					r.step(byte(random.Uint32()), byte(random.Uint32()))
				}
				r.pop()
			}
		})
	}
}

func FuzzQueue(f *testing.F) {
	f.Add(uint8(1), []byte{0, 0, 5, 0, 10, 1, 13, 0})
	f.Add(uint8(0), []byte{0, 0, 16, 0, 5, 0, 16, 0, 10, 1, 16, 0, 11, 0, 16, 0, 13, 0})
	f.Add(uint8(3), []byte{0, 0, 13, 0, 5, 0, 0, 0, 5, 0, 0, 0, 13, 0})
	f.Fuzz(func(t *testing.T, maxPending uint8, ops []byte) {
		r := newRig(t, 1+int(maxPending))
		for len(ops) >= 2 {
			r.step(ops[0], ops[1])
			ops = ops[2:]
		}
		r.pop()
	})
}
