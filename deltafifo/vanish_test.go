package deltafifo_test

import (
	"testing"

	"github.com/listwatch/listwatch/deltafifo"
)

func TestVanishIsAnEmptyReplacementUntilTheNext(t *testing.T) {
	q := deltafifo.New[string](deltafifo.Options{})
	q.Add("a", "a1", "1")
	q.Delete("b", "b1", "2")
	q.Vanish("2")
	batch, err := q.Pop(t.Context(), nil)
	if err != nil || len(batch) != 2 || batch[0].Type != deltafifo.Deleted {
		t.Fatalf("got %+v, %v, want what was deleted, and the end", batch, err)
	}
	if d := batch[1]; d.Type != deltafifo.Replaced || !d.Replacement.Vanished || len(d.Replacement.Items) != 0 || d.ResourceVersion != "2" {
		t.Errorf("got %+v", d)
	}
	q.Vanish("2")
	q.Replace([]deltafifo.Item[string]{{Key: "a", Object: "a3"}}, "3")
	batch, err = q.Pop(t.Context(), nil)
	if err != nil || len(batch) != 1 || batch[0].Replacement.Vanished || len(batch[0].Replacement.Items) != 1 {
		t.Errorf("got %+v, %v, want only what came back", batch, err)
	}
}

func TestARewindIsNotForgottenByAnotherReplacement(t *testing.T) {
	q := deltafifo.New[string](deltafifo.Options{})
	items := []deltafifo.Item[string]{{Key: "a", Object: "a3"}}
	for _, second := range []func(){
		func() { q.Replace(items, "9") },
		func() { q.Rewind(items, "9") },
		func() { q.Add("b", "b4", "4"); q.Replace(items, "9") },
	} {
		q.Rewind(nil, "3")
		second()
		batch, err := q.Pop(t.Context(), nil)
		if err != nil || len(batch) != 1 || !batch[0].Replacement.Rewound || len(batch[0].Replacement.Items) != 1 || batch[0].ResourceVersion != "9" {
			t.Errorf("got %+v, %v, want the second list, and that the history went back", batch, err)
		}
	}
	q.Replace(items, "10")
	if batch, _ := q.Pop(t.Context(), nil); batch[0].Replacement.Rewound {
		t.Error("what was taken does not matter any more")
	}
}
