package storage_test

import (
	"context"
	"errors"
	"testing"

	"go.uber.org/goleak"

	"github.com/listwatch/listwatch/fakeserver/storage"
	"github.com/listwatch/listwatch/fakeserver/storage/storagetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func newMemory(t *testing.T) storage.Store {
	memory := storage.NewMemory()
	t.Cleanup(memory.Close)
	return memory
}

func TestMemoryKeepsThePromisesOfAStore(t *testing.T) { storagetest.RunTests(t, newMemory) }

func TestCloseEndsWatchesAndFailsCalls(t *testing.T) {
	ctx := context.Background()
	memory := storage.NewMemory()
	w, err := memory.Watch(ctx, "/pods/", storage.WatchOptions{Revision: 1})
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error)
	go func() {
		_, err := w.Next(ctx)
		ended <- err
	}()
	memory.Close()
	memory.Close()
	if err := <-ended; !errors.Is(err, storage.ErrClosed) {
		t.Errorf("Next ended with %v", err)
	}
	_, err = memory.Create(ctx, "/pods/n/a", nil)
	_, err2 := memory.List(ctx, "/pods/", storage.ListOptions{})
	_, err3 := memory.Watch(ctx, "/pods/", storage.WatchOptions{Revision: 1})
	_, err4 := memory.CurrentRevision(ctx)
	for _, err := range []error{err, err2, err3, err4, memory.Compact(ctx, 1)} {
		if !errors.Is(err, storage.ErrClosed) {
			t.Errorf("a call after Close ended with %v", err)
		}
	}
}

func TestAnOpenWatchKeepsWhatWasCompacted(t *testing.T) {
	ctx := context.Background()
	memory := newMemory(t)
	w, err := memory.Watch(ctx, "/pods/", storage.WatchOptions{Revision: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	for _, key := range []string{"/pods/n/a", "/pods/n/b"} {
		if _, err := memory.Create(ctx, key, nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := memory.Compact(ctx, 3); err != nil {
		t.Fatal(err)
	}
	events, err := w.Next(ctx)
	if err != nil || len(events) != 2 || events[0].KV.Key != "/pods/n/a" {
		t.Errorf("got %v, %v", events, err)
	}
}

func TestListDoesNotCopyValues(t *testing.T) {
	ctx := context.Background()
	memory := newMemory(t)
	written, err := memory.Create(ctx, "/pods/n/a", []byte("value"))
	if err != nil {
		t.Fatal(err)
	}
	for _, revision := range []int64{0, 2} {
		if _, err := memory.Create(ctx, "/nodes/n"+string('0'+byte(revision)), nil); err != nil {
			t.Fatal(err)
		}
		result, err := memory.List(ctx, "/pods/", storage.ListOptions{Revision: revision})
		if err != nil {
			t.Fatal(err)
		}
		if &result.KVs[0].Value[0] != &written.Value[0] {
			t.Errorf("the value was copied at revision %d", revision)
		}
	}
}
