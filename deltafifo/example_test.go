package deltafifo_test

import (
	"context"
	"fmt"

	"github.com/listwatch/listwatch/deltafifo"
)

func Example() {
	queue := deltafifo.New[string](deltafifo.Options{})
	queue.Add("pets/cat", "asleep", "1")
	queue.Delete("pets/cat", "asleep", "2")
	// A relist: what was pending is void, but the delete stays told.
	queue.Replace([]deltafifo.Item[string]{{Key: "pets/cat", Object: "a new one"}}, "3")
	queue.Close()

	var batch []deltafifo.Delta[string]
	var err error
	for {
		batch, err = queue.Pop(context.Background(), batch)
		if err != nil {
			fmt.Println(err)
			return
		}
		for _, delta := range batch {
			fmt.Println(delta.Type, delta.Key, "at", delta.ResourceVersion)
			if delta.Type == deltafifo.Replaced {
				fmt.Println("now:", delta.Replacement.Items)
			}
		}
	}
	// Output:
	// Deleted pets/cat at 2
	// Replaced  at 3
	// now: [{pets/cat a new one}]
	// deltafifo: queue is closed
}

func ExampleQueue_Resync() {
	queue := deltafifo.New[string](deltafifo.Options{})
	queue.Add("pets/cat", "asleep", "1")
	queue.Resync()
	queue.Resync() // the one that waits is enough
	queue.Update("pets/cat", "awake", "2")

	cache := map[string]string{}
	batch, err := queue.Pop(context.Background(), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, delta := range batch {
		switch delta.Type {
		case deltafifo.Added, deltafifo.Updated:
			cache[delta.Key] = delta.Object
		case deltafifo.Resync:
			fmt.Println("resync at", delta.ResourceVersion, cache)
		}
	}
	fmt.Println("then", cache)
	// Output:
	// resync at 1 map[pets/cat:asleep]
	// then map[pets/cat:awake]
}
