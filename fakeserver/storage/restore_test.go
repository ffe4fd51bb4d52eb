package storage_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/listwatch/listwatch/fakeserver/storage"
)

// content writes a list.
func content(t *testing.T, m *storage.Memory, revision int64) string {
	t.Helper()
	list, err := m.List(t.Context(), "/", storage.ListOptions{Revision: revision})
	if err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprint(list.Revision)
	for _, kv := range list.KVs {
		text += fmt.Sprintf(" %s=%s@%d,%d", kv.Key, kv.Value, kv.CreateRevision, kv.ModRevision)
	}
	return text
}

// scribble writes n times at random.
func scribble(t *testing.T, m *storage.Memory, random *rand.Rand, n int) {
	t.Helper()
	for i := range n {
		key := fmt.Sprintf("/%s/%d", []string{"pods", "nodes"}[random.IntN(2)], random.IntN(4))
		value := []byte(fmt.Sprint(i))
		was, err := m.Get(t.Context(), key, 0)
		switch {
		case errors.Is(err, storage.ErrNotFound):
			_, err = m.Create(t.Context(), key, value)
		case err == nil && random.IntN(3) == 0:
			_, err = m.Delete(t.Context(), key, was.ModRevision)
		case err == nil:
			_, err = m.Update(t.Context(), key, value, was.ModRevision)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func TestARestoredStoreIsWhatWasThereAndGoesOnFromThere(t *testing.T) {
	for range 30 {
		seed := rand.Uint64()
		random := rand.New(rand.NewPCG(seed, 0))
		m := storage.NewMemory()
		scribble(t, m, random, 40)
		revision := 1 + random.Int64N(41)
		before, now := content(t, m, revision), content(t, m, 0)
		restored, err := m.Restored(t.Context(), revision)
		if err != nil {
			t.Fatal(err)
		}
		if got := content(t, restored, 0); got != before {
			t.Fatalf("seed %d: restored %s\nwant %s", seed, got, before)
		}
		wantPods := storage.Usage{}
		list, err := restored.List(t.Context(), "/pods/", storage.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, kv := range list.KVs {
			wantPods.Keys++
			wantPods.Bytes += int64(len(kv.Value))
		}
		if got := restored.Usage("/pods/"); got != wantPods {
			t.Errorf("seed %d: usage %v, want %v", seed, got, wantPods)
		}
		w, err := restored.Watch(t.Context(), "/", storage.WatchOptions{Revision: revision})
		if err != nil {
			t.Fatal(err)
		}
		scribble(t, restored, random, 5)
		var seen []int64
		for len(seen) < 5 {
			events, err := w.Next(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for _, event := range events {
				seen = append(seen, event.KV.ModRevision-revision)
			}
		}
		if !slices.Equal(seen, []int64{1, 2, 3, 4, 5}) {
			t.Errorf("seed %d: a watch of the restored store has the revisions %v after the first", seed, seen)
		}
		if got := content(t, m, 0); got != now {
			t.Errorf("seed %d: the store itself has changed", seed)
		}
		if _, err := restored.List(t.Context(), "/", storage.ListOptions{Revision: revision - 1}); revision > 1 && !errors.Is(err, storage.ErrCompacted) {
			t.Errorf("seed %d: before the backup: %v", seed, err)
		}
	}
}

func TestAStoreIsRestoredOnlyToWhatItKnows(t *testing.T) {
	m := storage.NewMemory()
	scribble(t, m, rand.New(rand.NewPCG(1, 1)), 5)
	if err := m.Compact(t.Context(), 4); err != nil {
		t.Fatal(err)
	}
	for revision, want := range map[int64]error{3: storage.ErrCompacted, 4: nil, 6: nil, 7: storage.ErrFutureRevision} {
		if _, err := m.Restored(t.Context(), revision); !errors.Is(err, want) {
			t.Errorf("at %d: %v, want %v", revision, err, want)
		}
	}
	m.Close()
	if _, err := m.Restored(t.Context(), 4); !errors.Is(err, storage.ErrClosed) {
		t.Errorf("closed: %v", err)
	}
}
