package storage_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/listwatch/listwatch/fakeserver/storage"
	"github.com/listwatch/listwatch/fakeserver/storage/storagetest"
)

func TestHeldWatchesAreBehindUntilTheyAreReleased(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := context.Background()
		memory := storage.NewMemory()
		defer memory.Close()
		create := func(key string) {
			if _, err := memory.Create(ctx, key, nil); err != nil {
				t.Fatal(err)
			}
		}
		open := func(from int64) chan string {
			w, err := memory.Watch(ctx, "/pods/", storage.WatchOptions{Revision: from})
			if err != nil {
				t.Fatal(err)
			}
			w.RequestProgress()
			got := make(chan string, 10)
			go func() {
				for {
					events, err := w.Next(ctx)
					if err != nil {
						return
					}
					for _, event := range events {
						got <- storagetest.Describe(event)
					}
				}
			}()
			return got
		}
		expect := func(got chan string, want ...string) {
			t.Helper()
			synctest.Wait()
			var all []string
			for len(got) > 0 {
				all = append(all, <-got)
			}
			if fmt.Sprint(all) != fmt.Sprint(want) {
				t.Errorf("got %q, want %q", all, want)
			}
		}

		create("/pods/n/a")
		memory.Hold()
		before := open(1)
		create("/pods/n/b")
		create("/nodes/n1")
		during := open(2)
		expect(before, "Put /pods/n/a=@2(2)")
		expect(during)
		if list, err := memory.List(ctx, "/pods/", storage.ListOptions{}); err != nil || len(list.KVs) != 2 || list.Revision != 4 {
			t.Errorf("a list sees %d at %d, %v", len(list.KVs), list.Revision, err)
		}
		memory.Release()
		expect(before, "Put /pods/n/b=@3(3)", "Progress@4")
		expect(during, "Put /pods/n/b=@3(3)", "Progress@4")
		create("/pods/n/c")
		expect(during, "Put /pods/n/c=@5(5)")
	})
}
