package deltafifo_test

import (
	"slices"
	"testing"

	"github.com/listwatch/listwatch/deltafifo"
)

func TestPendingTellsWhatWaitsForAKey(t *testing.T) {
	q := deltafifo.New[string](deltafifo.Options{})
	q.Add("x", "x1", "1")
	q.Replace([]deltafifo.Item[string]{{Key: "a", Object: "a1"}, {Key: "b", Object: "b1"}, {Key: "a", Object: "a2"}}, "2")
	q.Update("a", "a3", "3")
	q.Bookmark("4")
	q.Delete("b", "b3", "5")
	for key, want := range map[string][]deltafifo.Delta[string]{
		"a": {{Type: deltafifo.Replaced, Key: "a", Object: "a2", ResourceVersion: "2"},
			{Type: deltafifo.Updated, Key: "a", Object: "a3", ResourceVersion: "3"}},
		"b": {{Type: deltafifo.Replaced, Key: "b", Object: "b1", ResourceVersion: "2"},
			{Type: deltafifo.Deleted, Key: "b", Object: "b3", ResourceVersion: "5"}},
		"c": {{Type: deltafifo.Replaced, Key: "c", ResourceVersion: "2"}},
		"":  {{Type: deltafifo.Replaced, Key: "", ResourceVersion: "2"}},
	} {
		if got := q.Pending(key); !slices.Equal(got, want) {
			t.Errorf("%q: got %v, want %v", key, got, want)
		}
	}
	batch, err := q.Pop(t.Context(), nil)
	if err != nil || batch[0].Replacement == nil {
		t.Errorf("looking changed what waits: %v %v", batch, err)
	}
	if got := q.Pending("a"); got != nil {
		t.Errorf("after Pop: %v", got)
	}
}
