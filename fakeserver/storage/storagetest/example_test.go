package storagetest_test

import (
	"context"
	"fmt"

	"github.com/listwatch/listwatch/fakeserver/storage"
	"github.com/listwatch/listwatch/fakeserver/storage/storagetest"
)

func ExampleDescribe() {
	store := storage.NewMemory()
	defer store.Close()
	ctx := context.Background()
	watch, err := store.Watch(ctx, "/pods/", storage.WatchOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer watch.Close()

	made, _ := store.Create(ctx, "/pods/a", []byte("v"))
	_, _ = store.Update(ctx, "/pods/a", []byte("w"), made.ModRevision)
	events, _ := watch.Next(ctx)
	for _, event := range events {
		fmt.Println(storagetest.Describe(event))
	}

	// Output:
	// Put /pods/a=v@2(2)
	// Put /pods/a=w@3(2) was /pods/a=v@2(2)
}
