package informertest

import (
	"errors"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

// restored is a history of which the server forgets what came after 8: b, the
// change of a, and the end of c.
func restored(t *testing.T) *History {
	t.Helper()
	before := coloredHistory(t, "+a u@5 0, +c w@6 0, ~c w@7 0, +b v@9 0, ~a u@10 1, -c w@11 0", 12)
	h, err := before.Restore(8)
	if err != nil {
		t.Fatal(err)
	}
	for _, change := range []struct {
		event watch.EventType
		obj   *thing
	}{{watch.Modified, object("a", "u", 10)}, {watch.Added, object("b", "z", 11)}, {watch.Bookmark, object("", "", 12)}} {
		if err := h.Record(change.event, change.obj); err != nil {
			t.Fatal(err)
		}
	}
	return h
}

func TestATraceMayPassToTheHistoryOfARestoredServer(t *testing.T) {
	const begin = "initial a u@5, initial c w@7, sync, add b v@9, update a u@5 u@10, delete c w@11, "
	for name, test := range map[string]struct {
		rule  Rule // "" is legal
		key   string
		trace string
	}{
		"it has seen everything":        {"", "", begin + "gone b v@9, update a u@10 u@5, add c w@7, update a u@5 u@10, add b z@11, settled 12"},
		"it has seen some":              {"", "", "initial a u@5, initial c w@7, sync, add b v@9, gone b v@9, update a u@5 u@5, update a u@5 u@10, settled 10"},
		"it has seen nothing of it":     {"", "", "initial a u@5, initial c w@7, sync, update a u@5 u@10, add b z@11, settled 12"},
		"it begins afterwards":          {"", "", "initial a u@10, initial b z@11, initial c w@7, sync, settled 12"},
		"a version given again":         {"", "", begin + "gone b v@9, update a u@10 u@10, add c w@7, settled 10"},
		"it ends before":                {"", "", begin + "settled 12"},
		"reads go back once":            {"", "", "snapshot 12 a u@10 b v@9, snapshot 8 a u@5 c w@7, snapshot 12 a u@10 b z@11 c w@7"},
		"reads ahead of calls":          {"", "", "initial a u@5, snapshot 8 a u@5 c w@7, initial c w@7, sync, add b v@9, snapshot 11 a u@10 b z@11 c w@7, gone b v@9"},
		"reads go back twice":           {SnapshotBack, "", "snapshot 12 a u@10 b v@9, snapshot 8 a u@5 c w@7, snapshot 12 a u@10 b z@11 c w@7, snapshot 8 a u@5 c w@7"},
		"what was lost stays":           {Lost, "b", begin + "update a u@10 u@5, add c w@7, settled 9"},
		"what was lost ends exactly":    {FalseDelete, "b", begin + "delete b v@9, update a u@10 u@5"},
		"back to before the backup":     {Resurrection, "c", begin + "add c w@6"},
		"what is back is not told":      {Lost, "c", begin + "gone b v@9, update a u@10 u@5, settled 9"},
		"a new object in an old life":   {MixedLives, "b", begin + "update b v@9 z@11"},
		"a snapshot of both":            {WrongSnapshot, "c", "snapshot 12 a u@10 b v@9, snapshot 12 a u@10 b v@9 c w@7"},
		"nothing comes back from there": {Ghost, "b", begin + "gone b v@9, update a u@10 u@5, add b v@9"},
	} {
		t.Run(name, func(t *testing.T) {
			verdict(t, Verify(restored(t), makeTrace(t, test.trace), VerifyOptions{}), test.rule, test.key)
		})
	}
}

func TestARestoreNeedsAMomentOfTheHistory(t *testing.T) {
	h := coloredHistory(t, "+a u@5 0", 8)
	for at, legal := range map[uint64]bool{0: false, 1: true, 5: true, 8: true, 9: false} {
		if _, err := h.Restore(at); legal != (err == nil) || !legal && !errors.Is(err, ErrHistory) {
			t.Errorf("at %d: %v", at, err)
		}
	}
}

func TestAFilterAppliesToWhatWasBeforeARestore(t *testing.T) {
	h := restored(t).Filter(func(obj metav1.Object) bool { return obj.GetName() != "b" })
	trace := makeTrace(t, "initial a u@5, initial c w@7, sync, update a u@5 u@10, delete c w@11, update a u@10 u@5, add c w@7, settled 8, snapshot 12 a u@10, snapshot 8 a u@5 c w@7")
	if err := Verify(h, trace, VerifyOptions{}); err != nil {
		t.Error(err)
	}
}

func TestAMappedHistoryIsTheImageOfTheCollection(t *testing.T) {
	h := NewHistory(1, func(obj metav1.Object) string { return obj.GetLabels()["shown"] })
	for i, x := range []string{"1", "2", "drop", "3", "drop"} {
		obj := object("a", "u", uint64(5+i))
		obj.Labels = map[string]string{"x": x}
		event := watch.Modified
		if i == 0 {
			event = watch.Added
		}
		if err := h.Record(event, obj); err != nil {
			t.Fatal(err)
		}
	}
	if err := h.Extend(10); err != nil {
		t.Fatal(err)
	}
	mapped := h.Map(func(obj metav1.Object) (metav1.Object, bool) {
		x := obj.GetLabels()["x"]
		image := object(obj.GetName(), string(obj.GetUID()), VersionOf(obj, nil).ResourceVersion)
		image.Labels = map[string]string{"shown": "<" + x + ">"}
		return image, x != "drop"
	})
	for name, test := range map[string]struct {
		rule  Rule
		trace string
	}{
		"all of it":                       {"", "initial a u@5=<1>, sync, snapshot 6 a u@6=<2>, update a u@5=<1> u@6=<2>, delete a u@6=<2>, add a u@8=<3>, snapshot 9, delete a u@8=<3>, settled 10"},
		"an end that a list found":        {"", "initial a u@5=<1>, sync, gone a u@5=<1>"},
		"not transformed":                 {WrongContent, "initial a u@5=1, sync"},
		"dropped, and stays":              {WrongSnapshot, "snapshot 7 a u@6=<2>"},
		"dropped, and nobody told":        {Lost, "initial a u@6=<2>, sync, settled 7"},
		"dropped, and there all the same": {Ghost, "initial a u@6=<2>, sync, update a u@6=<2> u@7=<drop>"},
		"an end merged with a change":     {"", "initial a u@5=<1>, sync, delete a u@5=<1>"},
		"not what was told last":          {WrongLast, "initial a u@5=<1>, sync, delete a u@6=<2>"},
		"back from before its end":        {Resurrection, "initial a u@8=<3>, sync, delete a u@8=<3>, add a u@8=<3>"},
	} {
		t.Run(name, func(t *testing.T) {
			key := "a"
			if test.rule == "" {
				key = ""
			}
			verdict(t, Verify(mapped, makeTrace(t, test.trace), VerifyOptions{}), test.rule, key)
		})
	}
}

func TestWhatAPredicateLetOneNotKnowMayBeUndoneByARestore(t *testing.T) {
	h, err := coloredHistory(t, "+a u@5 1, +b v@6 1, ~a u@8 1, ~b v@9 1", 9).Restore(7)
	if err != nil {
		t.Fatal(err)
	}
	obj := object("a", "u", 8)
	obj.Labels = map[string]string{"x": "2"}
	if err := errors.Join(h.Record(watch.Modified, obj), h.Record(watch.Deleted, object("b", "v", 9))); err != nil {
		t.Fatal(err)
	}
	changed := func(old, updated metav1.Object) bool { return old.GetLabels()["x"] != updated.GetLabels()["x"] }
	trace := makeTrace(t, "initial a u@5, initial b v@6, sync, update a u@8 u@8, gone b v@9, settled 9")
	verdict(t, Verify(h, trace, VerifyOptions{Predicate: changed}), "", "")
}

func TestAPredicateLetsOneNotKnowWhatItSays(t *testing.T) {
	changed := func(old, updated metav1.Object) bool { return old.GetLabels()["x"] != updated.GetLabels()["x"] }
	h := coloredHistory(t, "+a u@5 1, ~a u@6 1, ~a u@7 2, ~a u@8 2, ~a u@9 3, -a u@11 3", 20)
	for name, test := range map[string]struct {
		rule  Rule
		trace string
	}{
		"only what changes":               {"", "initial a u@5, sync, update a u@6 u@7, update a u@8 u@9, delete a u@11, settled 11"},
		"merged":                          {"", "initial a u@5, sync, update a u@5 u@8, settled 8"},
		"at rest":                         {"", "initial a u@5, sync, settled 6"},
		"the last state need not be told": {"", "initial a u@7, sync, gone a u@8"},
		"an update of no interest":        {Repeated, "initial a u@5, sync, update a u@5 u@6"},
		"an interesting one was missed":   {WrongOld, "initial a u@5, sync, update a u@8 u@9"},
		"an interesting one is owed":      {Lost, "initial a u@5, sync, settled 7"},
		"the last state is news":          {WrongLast, "initial a u@6, sync, gone a u@7"},
	} {
		t.Run(name, func(t *testing.T) {
			key := "a"
			if test.rule == "" {
				key = ""
			}
			verdict(t, Verify(h, makeTrace(t, test.trace), VerifyOptions{Predicate: changed}), test.rule, key)
		})
	}
}

func TestMomentsAreInOrderOrTorn(t *testing.T) {
	for name, test := range map[string]struct {
		moments []Instant
		legal   bool
	}{
		"none":                      {nil, true},
		"one after the other":       {[]Instant{{"a": 1, "b": 1}, {"a": 1, "b": 2}, {"a": 5, "b": 2}}, true},
		"in another order":          {[]Instant{{"a": 5, "b": 2}, {"a": 1, "b": 1}, {"a": 1, "b": 2}}, true},
		"the same":                  {[]Instant{{"a": 5, "b": 2}, {"a": 5, "b": 2}}, true},
		"each older in another one": {[]Instant{{"a": 5, "b": 2}, {"a": 4, "b": 3}}, false},
		"of other informers":        {[]Instant{{"a": 5}, {"b": 6}}, false},
		"of more":                   {[]Instant{{"a": 5}, {"a": 6, "b": 6}}, false},
	} {
		if err := VerifyMoments(test.moments); test.legal != (err == nil) || !test.legal && !errors.Is(err, ErrIllegal) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
