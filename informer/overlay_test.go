package informer

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/indexer"
)

// at is a snapshot of objects, written "key:uid@version", at a version.
func at(version string, objects ...string) *snapshotOfThings {
	x, err := indexer.New(indexer.Options[*thing]{Indexes: map[string]indexer.Func[*thing]{"digit": lastDigit}})
	if err != nil {
		panic(err)
	}
	var changes []indexer.Change[*thing]
	for _, text := range objects {
		obj := thingOf(text)
		changes = append(changes, indexer.Change[*thing]{Key: keyOf(obj), Object: obj})
	}
	return x.Apply(changes, version)
}

// lastDigit is that of an object's version, so that an update changes it.
func lastDigit(obj *thing) []string {
	return []string{obj.ResourceVersion[len(obj.ResourceVersion)-1:]}
}

// overlayCase is a story of one key, "a": what is noted, in order, over which
// snapshots, and what is seen at the end.
type overlayCase struct {
	steps []any // a string is noted, "-" before it as deleted; a snapshot is there from then on
	want  string
	len   int
}

var overlayCases = map[string]overlayCase{
	"a create is seen at once":                         {[]any{"a:u1@5"}, "a:u1@5", 1},
	"an update is seen at once":                        {[]any{at("4", "a:u1@3"), "a:u1@5"}, "a:u1@5", 1},
	"a deletion is seen at once":                       {[]any{at("4", "a:u1@3"), "-a:u1@5"}, "", 1},
	"also with the state before it":                    {[]any{at("4", "a:u1@3"), "-a:u1@3"}, "", 1},
	"also of what was put":                             {[]any{at("4"), "a:u1@5", "-a:u1@5"}, "", 1},
	"also if the state that was known is an old one":   {[]any{at("4", "a:u1@3"), "a:u1@5", "-a:u1@3"}, "", 1},
	"a recreation is seen at once":                     {[]any{at("4", "a:u1@3"), "-a:u1@5", "a:u2@6"}, "a:u2@6", 1},
	"the snapshot's collection catches up":             {[]any{"a:u1@5", at("7", "a:u1@6")}, "a:u1@6", 0},
	"also where the object is gone since":              {[]any{"a:u1@5", at("7")}, "", 0},
	"the snapshot's object catches up":                 {[]any{"a:u1@5", at("4", "a:u1@6")}, "a:u1@6", 0},
	"with the very version":                            {[]any{"a:u1@5", at("5", "a:u1@5")}, "a:u1@5", 0},
	"an earlier version does not":                      {[]any{"a:u1@5", at("4", "a:u1@4")}, "a:u1@5", 1},
	"a deletion stays until the object is gone":        {[]any{"-a:u1@5", at("7", "a:u1@6")}, "", 1},
	"and leaves then":                                  {[]any{"-a:u1@5", at("7", "a:u1@6"), at("8")}, "", 0},
	"a deletion waits for the creation":                {[]any{"-a:u1@5", at("4")}, "", 1},
	"a deletion hides an earlier object":               {[]any{"-a:u2@5", at("4", "a:u1@3")}, "", 1},
	"and not a later one":                              {[]any{"-a:u1@5", at("7", "a:u2@6")}, "a:u2@6", 0},
	"a late answer is ignored":                         {[]any{"a:u1@6", "a:u1@5"}, "a:u1@6", 1},
	"a late answer does not bring back what is gone":   {[]any{"-a:u1@5", "a:u1@6"}, "", 1},
	"nor does a late deletion take away what came":     {[]any{"a:u2@6", "-a:u1@5"}, "a:u2@6", 1},
	"what the snapshot has already is not kept":        {[]any{at("7", "a:u1@6"), "a:u1@5"}, "a:u1@6", 0},
	"a version that cannot be compared is not kept":    {[]any{"a:u1@0"}, "", 0},
	"objects without UID count as the same":            {[]any{at("4", "a:@3"), "a:@5", "-a:@5"}, "", 1},
	"history that goes back empties it":                {[]any{at("90"), "a:u1@95", at("50", "a:u1@40")}, "a:u1@40", 0},
	"history that goes back, seen after another write": {[]any{at("90"), "a:u1@95", at("50", "a:u1@40"), "b:u2@51"}, "a:u1@40", 1},
}

func thingOf(text string) *thing {
	return (&unionRig{}).object(text)
}

func TestOverlayShowsTheNewestOfSnapshotAndWrites(t *testing.T) {
	for name, test := range overlayCases {
		t.Run(name, func(t *testing.T) {
			now := at("")
			o := newOverlay(func() *snapshotOfThings { return now }, 0)
			for _, step := range test.steps {
				switch step := step.(type) {
				case *snapshotOfThings:
					now = step
				case string:
					if step[0] == '-' {
						o.Deleted(thingOf(step[1:]))
					} else {
						o.Put(thingOf(step))
					}
				}
			}
			got := ""
			if obj, found := o.Get("a"); found {
				got = show(obj)
			}
			if got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
			if n := o.Len(); n != test.len {
				t.Errorf("%d entries, want %d", n, test.len)
			}
		})
	}
}

func TestOverlayMergesInKeyOrder(t *testing.T) {
	now := at("5", "a:u@1", "c:u@2", "n/b:u@3", "n/d:u@4", "o/a:u@5")
	o := newOverlay(func() *snapshotOfThings { return now }, 0)
	for _, text := range []string{"A:v@6", "b:v@7", "c:u@8", "n/a:v@9", "n/e:v@10", "z:v@11"} {
		o.Put(thingOf(text))
	}
	o.Deleted(thingOf("a:u@1"))
	o.Deleted(thingOf("n/d:u@12"))
	o.Deleted(thingOf("never:u@12"))
	var got []string
	for key, obj := range o.All() {
		if key != keyOf(obj) {
			t.Errorf("%s under key %s", show(obj), key)
		}
		got = append(got, show(obj))
	}
	want := []string{"A:v@6", "b:v@7", "c:u@8", "n/a:v@9", "n/b:u@3", "n/e:v@10", "o/a:u@5", "z:v@11"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("all (-want +got):\n%s", diff)
	}
	if got := slices.Collect(maps.Keys(maps.Collect(o.Namespace("n")))); len(got) != 3 {
		t.Errorf("namespace n: %v", got)
	}
	for stop := range want { // early ends
		n := 0
		for range o.All() {
			if n++; n > stop {
				break
			}
		}
	}
	if len(o.List()) != len(want) {
		t.Errorf("list of %d", len(o.List()))
	}
}

func TestAFullOverlayGivesUpTheOldestWrite(t *testing.T) {
	now := at("1")
	o := newOverlay(func() *snapshotOfThings { return now }, 3)
	for _, text := range []string{"c:u@5", "a:u@4", "b:u@6", "d:u@7", "e:u@3"} {
		o.Put(thingOf(text))
	}
	var got []string
	for _, obj := range o.All() {
		got = append(got, show(obj))
	}
	if diff := cmp.Diff([]string{"b:u@6", "c:u@5", "d:u@7"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if o.Lost() != 2 || o.Len() != 3 {
		t.Errorf("%d lost, %d kept", o.Lost(), o.Len())
	}
	now = at("6", "b:u@6", "c:u@5")
	o.Put(thingOf("f:u@8")) // room is made by what the snapshot has
	if o.Lost() != 2 || o.Len() != 2 {
		t.Errorf("%d lost, %d kept, after the snapshot caught up", o.Lost(), o.Len())
	}
}

// write is one write of an overlayWalk.
type write struct {
	version int
	obj     *thing // nil: deleted
}

// TestOverlayOverALaggingSnapshotIsTheNewestThatIsKnown lets writers, of whom one
// notes what it is answered, sooner or later, and a lagging snapshot pass through
// random histories.
func TestOverlayOverALaggingSnapshotIsTheNewestThatIsKnown(t *testing.T) {
	for range 200 {
		seed := rand.Uint64()
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) { overlayWalk(t, rand.New(rand.NewPCG(seed, 0))) })
	}
}

func overlayWalk(t *testing.T, rnd *rand.Rand) {
	history := []map[string]*thing{{}, {}}
	now, seen, uids := at("1"), 1, 0
	o := newOverlay(func() *snapshotOfThings { return now }, 0)
	known := map[string]write{} // by key, the newest that was noted
	var answers []func()
	for range 300 {
		key := string(rune('a' + rnd.IntN(4)))
		state := maps.Clone(history[len(history)-1])
		version := len(history)
		old, exists := state[key]
		switch n := rnd.IntN(10); {
		case n < 4: // a write
			w := write{version: version}
			answer := func() { o.Put(w.obj) }
			switch {
			case !exists:
				uids++
				w.obj = newThing(key, fmt.Sprint("u", uids), int64(version))
				state[key] = w.obj
			case rnd.IntN(3) == 0:
				last := old.DeepCopy()
				if rnd.IntN(2) == 0 {
					last.ResourceVersion = strconv.Itoa(version)
				}
				delete(state, key)
				answer = func() { o.Deleted(last) }
			default:
				w.obj = newThing(key, string(old.UID), int64(version))
				state[key] = w.obj
			}
			history = append(history, state)
			if rnd.IntN(3) > 0 { // else it is somebody else's
				answers = append(answers, func() {
					answer()
					if w.version > known[key].version {
						known[key] = w
					}
				})
			}
		case n < 7 && len(answers) > 0:
			k := rnd.IntN(len(answers))
			answers[k]()
			answers = slices.Delete(answers, k, k+1)
		case n < 8:
			seen += rnd.IntN(len(history) - seen)
			var objects []string
			for _, obj := range history[seen] {
				objects = append(objects, show(obj))
			}
			now = at(strconv.Itoa(seen), objects...)
		default:
			compareOverlay(t, o, history[seen], seen, known)
		}
	}
}

func compareOverlay(t *testing.T, o *Overlay[*thing], snapshot map[string]*thing, seen int, known map[string]write) {
	t.Helper()
	want := map[string]string{}
	for key, obj := range snapshot {
		want[key] = show(obj)
	}
	for key, w := range known {
		switch {
		case w.version <= seen:
		case w.obj == nil:
			delete(want, key)
		default:
			want[key] = show(w.obj)
		}
	}
	for _, key := range []string{"a", "b", "c", "d"} {
		got := ""
		if obj, found := o.Get(key); found {
			got = show(obj)
		}
		if got != want[key] {
			t.Errorf("snapshot at %d: got %q, want %q", seen, got, want[key])
		}
	}
	all := map[string]string{}
	for key, obj := range o.All() {
		all[key] = show(obj)
	}
	if diff := cmp.Diff(want, all); diff != "" {
		t.Errorf("snapshot at %d, all (-want +got):\n%s", seen, diff)
	}
	indexed := map[string]string{}
	for digit := range 10 {
		found, err := o.ByIndex("digit", strconv.Itoa(digit))
		if err != nil {
			t.Fatal(err)
		}
		for key, obj := range found {
			if _, twice := indexed[key]; twice || lastDigit(obj)[0] != strconv.Itoa(digit) {
				t.Errorf("snapshot at %d: %s under digit %d", seen, show(obj), digit)
			}
			indexed[key] = show(obj)
		}
	}
	if diff := cmp.Diff(want, indexed); diff != "" {
		t.Errorf("snapshot at %d, by index (-want +got):\n%s", seen, diff)
	}
}

func TestAnOverlayKnowsTheIndexesOfItsSnapshot(t *testing.T) {
	o := newOverlay(func() *snapshotOfThings { return at("4", "a:u@3") }, 0)
	for range 2 {
		if _, err := o.ByIndex("size", "3"); !errors.Is(err, indexer.ErrUnknownIndex) {
			t.Errorf("an index that there is not: %v", err)
		}
		o.Put(thingOf("a:u@5")) // for the second time
	}
}

func TestConcurrentReadersOfAnOverlayAreNeverTakenBack(t *testing.T) {
	const last = 3000
	var current atomic.Pointer[snapshotOfThings]
	current.Store(at("1"))
	o := newOverlay(current.Load, 0)
	var running sync.WaitGroup
	running.Go(func() {
		for version := 2; version <= last; version++ {
			o.Put(newThing("a", "u", int64(version)))
			if version%3 == 0 {
				current.Store(at(strconv.Itoa(version-1), fmt.Sprint("a:u@", version-1)))
			}
		}
	})
	for range 3 {
		running.Go(func() {
			for newest := 0; newest < last; {
				obj, _ := o.Get("a")
				if obj == nil {
					continue
				}
				version, err := strconv.Atoi(obj.ResourceVersion)
				if err != nil || version < newest {
					t.Errorf("version %s after %d", obj.ResourceVersion, newest)
					return
				}
				newest = version
			}
		})
	}
	running.Wait()
}
