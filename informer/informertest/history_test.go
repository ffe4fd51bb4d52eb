package informertest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
)

// thing is the object type of the tests.
type thing = metav1.PartialObjectMetadata

func object(name, uid string, resourceVersion uint64) *thing {
	return &thing{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(uid), ResourceVersion: fmt.Sprint(resourceVersion)}}
}

func labelled(obj metav1.Object) bool { return obj.GetLabels()["x"] == "1" }

func TestAHistoryTakesOnlyWhatContinuesIt(t *testing.T) {
	for name, test := range map[string]struct {
		event watch.EventType
		obj   *thing
		legal bool
	}{
		"an update":                    {watch.Modified, object("a", "u", 8), true},
		"a deletion":                   {watch.Deleted, object("a", "u", 8), true},
		"another object":               {watch.Added, object("b", "v", 8), true},
		"a bookmark":                   {watch.Bookmark, object("", "", 8), true},
		"a bookmark that says no more": {watch.Bookmark, object("", "", 7), true},
		"a bookmark of before":         {watch.Bookmark, object("", "", 6), false},
		"the version again":            {watch.Modified, object("a", "u", 7), false},
		"no version":                   {watch.Modified, &thing{ObjectMeta: metav1.ObjectMeta{Name: "a", UID: "u", ResourceVersion: "x"}}, false},
		"an add of what is there":      {watch.Added, object("a", "u", 8), false},
		"an update of nothing":         {watch.Modified, object("b", "u", 8), false},
		"a deletion of nothing":        {watch.Deleted, object("b", "u", 8), false},
		"an update of another object":  {watch.Modified, object("a", "w", 8), false},
	} {
		t.Run(name, func(t *testing.T) {
			h := NewHistory(5, nil)
			if err := h.Begin(object("z", "z", 5), object("a", "u", 3)); err != nil {
				t.Fatal(err)
			}
			if err := h.Record(watch.Modified, object("a", "u", 7)); err != nil {
				t.Fatal(err)
			}
			err := h.Record(test.event, test.obj)
			if test.legal && err != nil || !test.legal && !errors.Is(err, ErrHistory) {
				t.Errorf("got %v, legal: %v", err, test.legal)
			}
		})
	}
}

func TestABeginningNewerThanItsVersionIsRefused(t *testing.T) {
	if err := NewHistory(5, nil).Begin(object("a", "u", 6)); !errors.Is(err, ErrHistory) {
		t.Errorf("a newer object: %v", err)
	}
	if err := NewHistory(5, nil).Begin(object("a", "u", 2), object("a", "u", 3)); !errors.Is(err, ErrHistory) {
		t.Errorf("an object twice: %v", err)
	}
}

func TestAnObjectThatStopsMatchingIsDeletedWithItsLastMatchingState(t *testing.T) {
	content := func(obj metav1.Object) string { return obj.GetLabels()["y"] }
	h := NewHistory(1, content)
	for i, labels := range []map[string]string{{"x": "1", "y": "first"}, {"y": "second"}, {"x": "1", "y": "third"}} {
		obj := object("a", "u", uint64(5+i))
		obj.Labels = labels
		event := watch.Modified
		if i == 0 {
			event = watch.Added
		}
		if err := h.Record(event, obj); err != nil {
			t.Fatal(err)
		}
	}
	changes := h.Filter(labelled).Changes()
	var got []string
	for _, c := range changes {
		got = append(got, fmt.Sprintf("%s %v", c.Type, c.Version))
	}
	want := []string{`ADDED u@5 "first"`, `DELETED u@6 "first"`, `ADDED u@7 "third"`}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestFollowRecordsAWatchUntilItsContextEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, w := NewHistory(4, nil), watch.NewFake()
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- h.Follow(ctx, w) }()
		w.Add(object("a", "u", 5))
		go func() {
			time.Sleep(time.Minute)
			w.Modify(object("a", "u", 9))
		}()
		if err := h.WaitFor(t.Context(), 8); err != nil {
			t.Fatal(err)
		}
		if got := h.At(7)["a"].ResourceVersion; got != 5 {
			t.Errorf("at 7 it is %d", got)
		}
		if _, to := h.Bounds(); to != 9 {
			t.Errorf("the history goes to %d, want 9", to)
		}
		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := h.WaitFor(short, 10); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("waiting for what does not come: %v", err)
		}
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

func TestFollowSaysWhyAWatchIsOfNoMoreUse(t *testing.T) {
	for name, test := range map[string]struct {
		send func(*watch.FakeWatcher)
		want error
	}{
		"an end":       {func(w *watch.FakeWatcher) { w.Stop() }, ErrWatchEnded},
		"a repetition": {func(w *watch.FakeWatcher) { w.Add(object("a", "u", 3)) }, ErrHistory},
		"a status":     {func(w *watch.FakeWatcher) { w.Error(&metav1.Status{Code: 410}) }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h, w := NewHistory(4, nil), watch.NewFakeWithChanSize(1, false)
				test.send(w)
				err := h.Follow(t.Context(), w)
				if err == nil || test.want != nil && !errors.Is(err, test.want) {
					t.Errorf("got %v, want %v", err, test.want)
				}
			})
		})
	}
}

func TestTheEndOfTheContextIsNoErrorOfTheWatch(t *testing.T) {
	for range 20 { // select picks at random
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		w := watch.NewFakeWithChanSize(1, false)
		w.Error(&metav1.Status{Message: "context canceled"})
		if err := NewHistory(4, nil).Follow(ctx, w); err != nil {
			t.Fatal(err)
		}
	}
}
