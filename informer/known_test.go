package informer

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTheSinkKnowsWhatTheCacheHeldWhenTheReplacementBegan(t *testing.T) {
	cached := newThing("ns/a", "u1", 5)
	anonymous := newThing("anonymous", "", 5)
	versionless := newThing("versionless", "u2", 5)
	versionless.ResourceVersion = ""
	now := snapshotOf(cached, anonymous, versionless, newThing("failed", "u3", 5))
	s := newSink(pick)
	s.cached = func() *snapshotOfThings { return now }
	s.failures.set("failed", ObjectError{Key: "failed"})

	known := func(key string) string {
		uid, resourceVersion, ok := s.Known(key)
		if !ok {
			return "unknown"
		}
		return string(uid) + "@" + resourceVersion
	}
	if got := known("ns/a"); got != "unknown" {
		t.Errorf("known outside of a replacement: %s", got)
	}
	s.BeginReplace("expired")
	now = snapshotOf(newThing("ns/a", "u1", 7)) // the cache goes on
	for key, want := range map[string]string{
		"ns/a": "u1@5", "ns/b": "unknown", "anonymous": "unknown", "versionless": "unknown", "failed": "unknown",
	} {
		if got := known(key); got != want {
			t.Errorf("%s: %s, want %s", key, got, want)
		}
	}
	s.AbortReplace()
	if got := known("ns/a"); got != "unknown" {
		t.Errorf("known after a replacement: %s", got)
	}
}

func TestReplaceKnownAddsTheCachedObjectUnderTheCachedKey(t *testing.T) {
	cached := newThing("ns/a", "u1", 5)
	s := newSink(func(*thing) (*thing, error) { return nil, errors.New("called for a known object") })
	now := snapshotOf(cached)
	s.cached = func() *snapshotOfThings { return now }
	s.BeginReplace("expired")
	buffer := []byte("ns/a")
	s.ReplaceKnown(string(buffer))
	s.ReplaceKnown("ns/x") // never known
	s.EndReplace("9")
	batch, err := s.queue.Pop(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	items := batch[0].Replacement.Items
	if len(items) != 2 || items[0].Object != cached || items[0].Key != "ns/a" {
		t.Fatalf("items %v, want the cached object", items)
	}
	if items[1].Key != "ns/x" || items[1].Object != nil {
		t.Errorf("got %v for an object that nobody knows, want its key", items[1])
	}
	s.BeginReplace("expired")
	if n := testing.AllocsPerRun(100, func() {
		s.items = s.items[:0]
		s.Known("ns/a")
		s.ReplaceKnown("ns/a")
	}); n > 0 {
		t.Errorf("%v allocations for a known object", n)
	}
}

func TestAKnownItemEndsAnEarlierFailureInTheSameList(t *testing.T) {
	s := newSink(pick)
	now := snapshotOf(newThing("bad", "u1", 5))
	s.cached = func() *snapshotOfThings { return now }
	s.BeginReplace("expired")
	s.ReplaceItem(newThing("bad", "u1", 4))
	s.ReplaceKnown("bad")
	s.EndReplace("9")
	if _, standing, _ := s.failures.list(maxListed); standing != 0 {
		t.Errorf("%d failures stand", standing)
	}
}

func TestATransformThatTakesIdentityAwayIsReported(t *testing.T) {
	strip := func(obj *thing) (*thing, error) { obj.ResourceVersion = ""; return obj, nil }
	bubble(t, Options[*thing]{Transform: strip}, func(t *testing.T, r *rig) {
		r.from.set("a")
		h := &recorder{}
		r.add(h)
		r.start()
		r.expect(h, "initial a:u1@")
		r.outage(func() { r.from.set("b"); r.from.compact() })
		r.expect(h, "update a:u1@ -> a:u1@", "add b:u2@")
		if got := r.Status().Transform.Anonymous; got != 3 {
			t.Errorf("%d anonymous objects were received, want 3", got)
		}
	})
}

// Items of a list are in key order or not: the cache must not care.
func TestAListOfKnownObjectsChangesNothing(t *testing.T) {
	a, b, c := newThing("a", "u1", 1), newThing("b", "u2", 2), newThing("c", "u3", 3)
	for _, keys := range [][]string{{"a", "b", "c"}, {"c", "a", "b"}} {
		s := newSink(nil)
		now := snapshotOf(a, b, c)
		s.cached = func() *snapshotOfThings { return now }
		s.BeginReplace("expired")
		for _, key := range keys {
			s.ReplaceKnown(key)
		}
		s.EndReplace("9")
		batch, err := s.queue.Pop(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		var d differ[*thing]
		out := d.diff(now, batch, false)
		if len(out.notices)+len(out.changes) > 0 {
			t.Errorf("%v: %d notices, %d changes, want none", keys, len(out.notices), len(out.changes))
		}
		if diff := cmp.Diff("9", out.resourceVersion); diff != "" {
			t.Error(diff)
		}
	}
}
