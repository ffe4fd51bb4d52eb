package storage_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/listwatch/listwatch/fakeserver/storage"
)

func Example() {
	store := storage.NewMemory()
	defer store.Close()
	ctx := context.Background()

	made, _ := store.Create(ctx, "/pods/default/web", []byte("v1"))
	fmt.Println("made at", made.ModRevision)
	updated, _ := store.Update(ctx, made.Key, []byte("v2"), made.ModRevision)
	_, err := store.Update(ctx, made.Key, []byte("v3"), made.ModRevision) // somebody was faster
	fmt.Println("conflict:", errors.Is(err, storage.ErrConflict))

	old, _ := store.Get(ctx, made.Key, made.ModRevision)
	fmt.Printf("at %d it was %s\n", made.ModRevision, old.Value)

	watch, _ := store.Watch(ctx, "/pods/", storage.WatchOptions{Revision: made.ModRevision})
	defer watch.Close()
	events, _ := watch.Next(ctx)
	for _, event := range events {
		fmt.Println("event at", event.KV.ModRevision, string(event.Prev.Value), "->", string(event.KV.Value))
	}

	_ = store.Compact(ctx, updated.ModRevision)
	_, err = store.Get(ctx, made.Key, made.ModRevision)
	fmt.Println("forgotten:", errors.Is(err, storage.ErrCompacted))

	// Output:
	// made at 2
	// conflict: true
	// at 2 it was v1
	// event at 3 v1 -> v2
	// forgotten: true
}
