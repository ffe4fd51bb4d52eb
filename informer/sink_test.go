package informer

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/deltafifo"
	"github.com/listwatch/listwatch/indexer"
)

// pending drains what the sink has queued, as text.
func pending(t *testing.T, queue *deltafifo.Queue[*thing]) (out []string) {
	t.Helper()
	if queue.Len() == 0 {
		return nil
	}
	batch, err := queue.Pop(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range batch {
		text := d.Type.String() + " "
		switch d.Type {
		case deltafifo.Replaced:
			for _, item := range d.Replacement.Items {
				text += item.Key + "=" + show(item.Object) + " "
			}
		case deltafifo.Bookmark:
		default:
			text += d.Key + "=" + show(d.Object) + " "
		}
		out = append(out, text+"at "+d.ResourceVersion)
	}
	return out
}

func newSink(transform func(*thing) (*thing, error)) *sink[*thing, *thing] {
	return &sink[*thing, *thing]{
		rewinds: func() int64 { return 0 },
		queue:   deltafifo.New[*thing](deltafifo.Options{}), transform: transform, cached: emptySnapshot,
		pushed: func() {},
	}
}

type snapshotOfThings = indexer.Snapshot[*thing]

func emptySnapshot() *snapshotOfThings {
	return snapshotOf()
}

func snapshotOf(objects ...*thing) *indexer.Snapshot[*thing] {
	x, err := indexer.New(indexer.Options[*thing]{})
	if err != nil {
		panic(err)
	}
	var changes []indexer.Change[*thing]
	for _, obj := range objects {
		changes = append(changes, indexer.Change[*thing]{Key: keyOf(obj), Object: obj})
	}
	return x.Apply(changes, "1")
}

func TestTheSinkQueuesAReplacementWhenItIsComplete(t *testing.T) {
	s := newSink(nil)
	s.BeginReplace("initial")
	s.ReplaceItem(newThing("ns/a", "u1", 1))
	s.ReplaceItem(newThing("b", "u2", 2))
	if got := pending(t, s.queue); got != nil {
		t.Errorf("queued before the end: %v", got)
	}
	s.EndReplace("5")
	s.Add(newThing("c", "u3", 6))
	s.Update(newThing("c", "u3", 7))
	s.Delete(newThing("c", "u3", 8))
	s.Bookmark("9")
	want := []string{
		"Replaced ns/a=ns/a:u1@1 b=b:u2@2 at 5",
		"Added c=c:u3@6 at 6", "Updated c=c:u3@7 at 7", "Deleted c=c:u3@8 at 8", "Bookmark at 9",
	}
	if diff := cmp.Diff(want, pending(t, s.queue)); diff != "" {
		t.Errorf("queued (-want +got):\n%s", diff)
	}
}

func TestTheSinkDropsAnAbortedReplacement(t *testing.T) {
	s := newSink(nil)
	s.BeginReplace("initial")
	s.ReplaceItem(newThing("a", "u1", 1))
	s.AbortReplace()
	s.BeginReplace("initial")
	s.ReplaceItem(newThing("b", "u2", 2))
	s.EndReplace("5")
	if diff := cmp.Diff([]string{"Replaced b=b:u2@2 at 5"}, pending(t, s.queue)); diff != "" {
		t.Errorf("queued (-want +got):\n%s", diff)
	}
}

// pick fails for objects called "bad", panics for "worse", and makes "none" of
// those called so.
func pick(obj *thing) (*thing, error) {
	switch obj.Name {
	case "bad":
		return obj, errors.New("cannot digest")
	case "worse":
		panic("out of range")
	case "none":
		return nil, nil
	}
	obj.Labels = map[string]string{"picked": obj.Labels["picked"] + "once"}
	return obj, nil
}

func TestTheSinkQueuesTheKeyOfWhatCannotBeTransformed(t *testing.T) {
	s := newSink(pick)
	s.BeginReplace("initial")
	for k, name := range []string{"good", "bad", "worse", "none"} {
		s.ReplaceItem(newThing(name, "u", int64(k+1)))
	}
	s.EndReplace("5")
	s.Update(newThing("bad", "u", 6))
	want := []string{"Replaced good=good:u@1 bad=nil worse=nil none=nil at 5", "Bookmark at 6"}
	if diff := cmp.Diff(want, pending(t, s.queue)); diff != "" {
		t.Errorf("queued (-want +got):\n%s", diff)
	}
	total, standing, objects := s.failures.list(maxListed)
	if total != 4 || standing != 3 {
		t.Errorf("%d failures, %d standing, want 4 and 3", total, standing)
	}
	for k, want := range []string{"bad 6 transform failed: cannot digest", "none 4 transform failed: returned no object", "worse 3 transform failed: panic: out of range"} {
		if got := strings.Join([]string{objects[k].Key, objects[k].ResourceVersion, objects[k].Err.Error()}, " "); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
		if !errors.Is(objects[k].Err, ErrTransform) {
			t.Errorf("%v is no ErrTransform", objects[k].Err)
		}
	}
	s.Delete(newThing("worse", "u", 7))
	s.BeginReplace("expired")
	s.EndReplace("9")
	if _, standing, _ := s.failures.list(maxListed); standing != 0 {
		t.Errorf("%d failures stand after a list without these objects", standing)
	}
	want = []string{"Deleted worse=nil at 7", "Replaced at 9"}
	if diff := cmp.Diff(want, pending(t, s.queue)); diff != "" {
		t.Errorf("queued (-want +got):\n%s", diff)
	}
}

func TestEveryReceivedObjectIsTransformedOnce(t *testing.T) {
	bubble(t, Options[*thing]{Transform: pick}, func(t *testing.T, r *rig) {
		r.from.set("a")
		r.from.set("b")
		deleted := 0
		r.add(HandlerFuncs[*thing]{DeleteFunc: func(d Deleted[*thing]) {
			deleted++
			if d.Last.Labels["picked"] != "once" {
				t.Errorf("deleted object has label %q", d.Last.Labels["picked"])
			}
		}})
		r.start()
		r.from.set("b")
		r.from.set("c")
		synctest.Wait()
		for key, obj := range r.Snapshot().All() {
			if obj.Labels["picked"] != "once" {
				t.Errorf("%s has label %q", key, obj.Labels["picked"])
			}
		}
		r.from.remove("b")
		synctest.Wait()
		if deleted != 1 {
			t.Errorf("%d deletes, want 1", deleted)
		}
	})
}

func TestATransformErrorKeepsTheCachedVersionAndLosesNothingElse(t *testing.T) {
	refuse := false
	transform := func(obj *thing) (*thing, error) {
		if refuse && obj.Name == "a" {
			return nil, errors.New("cannot digest")
		}
		return obj, nil
	}
	bubble(t, Options[*thing]{Transform: transform}, func(t *testing.T, r *rig) {
		r.from.set("a")
		h := &recorder{}
		r.add(h)
		r.start()
		refuse = true
		r.from.set("a")
		r.from.set("b")
		r.expect(h, "initial a:u1@2", "add b:u2@4")
		s := r.Status()
		if s.ResourceVersion != "4" || s.Transform.Standing != 1 || s.Transform.Objects[0].Key != "a" {
			t.Errorf("status %+v, want a failure of a at version 4", s)
		}
		relist := func() { r.outage(func() { r.from.set("b"); r.from.compact() }) }
		relist()
		r.expect(h, "update b:u2@4 -> b:u2@5")
		refuse = false
		relist()
		r.expect(h, "update a:u1@2 -> a:u1@3", "update b:u2@5 -> b:u2@6")
		if s := r.Status(); s.Transform.Standing != 0 || s.Transform.Failures != 2 {
			t.Errorf("status %+v, want two failures that do not stand", s.Transform)
		}
		refuse = true
		r.from.remove("a")
		r.expect(h, "delete a:u1@3 exact")
		r.expectCache()
	})
}

func TestAPanickingIndexFunctionIsReportedAndLosesNothing(t *testing.T) {
	f := func(obj *thing) []string {
		if obj.Name == "bad" {
			panic("out of range")
		}
		return []string{"all"}
	}
	options := Options[*thing]{Indexes: map[string]indexer.Func[*thing]{"all": f}}
	bubble(t, options, func(t *testing.T, r *rig) {
		r.from.set("bad")
		r.from.set("good")
		r.start()
		r.expectCache()
		if errs := r.Status().IndexErrors; len(errs) != 1 || !strings.Contains(errs[0].Error(), "bad") {
			t.Errorf("index errors %v, want one about bad", errs)
		}
		r.from.set("bad")
		r.from.set("good")
		synctest.Wait()
		if s := r.Status(); s.IndexFailures != 2 || s.IndexErrorsStanding != 1 {
			t.Errorf("%d failures, %d standing; want 2, 1", s.IndexFailures, s.IndexErrorsStanding)
		}
		r.from.remove("bad")
		synctest.Wait()
		if s := r.Status(); s.IndexFailures != 2 || s.IndexErrorsStanding != 0 {
			t.Errorf("%d failures, %d standing; want 2, 0", s.IndexFailures, s.IndexErrorsStanding)
		}
	})
}
