package indexer_test

import (
	"fmt"
	"net"
	"strconv"

	"github.com/listwatch/listwatch/indexer"
)

type machine struct{ zone, size string }

func Example() {
	machines, err := indexer.New(indexer.Options[machine]{
		Indexes: map[string]indexer.Func[machine]{
			"zone": func(m machine) []string { return []string{m.zone} },
		},
	})
	if err != nil {
		panic(err)
	}
	before := machines.Replace([]indexer.Change[machine]{
		{Key: "prod/a", Object: machine{zone: "north"}},
		{Key: "prod/b", Object: machine{zone: "south"}},
		{Key: "test/c", Object: machine{zone: "north"}},
	}, "10")
	after := machines.Apply([]indexer.Change[machine]{{Key: "prod/a", Delete: true}}, "11")

	for _, snapshot := range []*indexer.Snapshot[machine]{before, after} {
		north, err := snapshot.ByIndex("zone", "north")
		if err != nil {
			panic(err)
		}
		fmt.Print("at ", snapshot.ResourceVersion(), " in the north:")
		for key := range north {
			fmt.Print(" ", key)
		}
		fmt.Println()
	}
	// Output:
	// at 10 in the north: prod/a test/c
	// at 11 in the north: test/c
}

func ExampleSnapshot_Namespace() {
	machines, _ := indexer.New(indexer.Options[machine]{})
	snapshot := machines.Replace([]indexer.Change[machine]{
		{Key: "prod-2/x"}, {Key: "prod/b"}, {Key: "prod/a"},
	}, "1")
	for key := range snapshot.Namespace("prod") {
		fmt.Println(key)
	}
	// Output:
	// prod/a
	// prod/b
}

func ExampleIndex() {
	type room struct{ floor, number int }
	byFloor := indexer.NewIndex("floor", func(r room) []int { return []int{r.floor} })
	rooms, err := indexer.New(indexer.Options[room]{Defined: []indexer.Definition[room]{byFloor}})
	if err != nil {
		panic(err)
	}
	s := rooms.Replace([]indexer.Change[room]{
		{Key: "hall", Object: room{0, 1}}, {Key: "office", Object: room{3, 30}}, {Key: "lab", Object: room{3, 31}},
	}, "1")
	for key, r := range byFloor.Objects(s, 3) {
		fmt.Println(key, r.number)
	}
	// Output:
	// lab 31
	// office 30
}

func ExampleNewFallibleIndex() {
	byPort := indexer.NewFallibleIndex("port", func(address string) ([]int, error) {
		_, port, err := net.SplitHostPort(address)
		if err != nil {
			return nil, err
		}
		n, err := strconv.Atoi(port)
		return []int{n}, err
	})
	x, _ := indexer.New(indexer.Options[string]{
		Defined: []indexer.Definition[string]{byPort},
		OnError: func(e *indexer.IndexError) { fmt.Println(e) },
	})
	s := x.Apply([]indexer.Change[string]{{Key: "good", Object: "host:80"}, {Key: "bad", Object: "host"}}, "1")
	fmt.Println(s.Len(), "objects,", byPort.Len(s, 80), "at port 80")
	// Output:
	// indexer: function of index "port" failed for "bad": address host: missing port in address
	// 2 objects, 1 at port 80
}

func ExampleSnapshot_ByIndexes() {
	machines, _ := indexer.New(indexer.Options[machine]{Indexes: map[string]indexer.Func[machine]{
		"zone": func(m machine) []string { return []string{m.zone} },
		"size": func(m machine) []string { return []string{m.size} },
	}})
	s := machines.Replace([]indexer.Change[machine]{
		{Key: "a", Object: machine{"north", "big"}}, {Key: "b", Object: machine{"north", "small"}}, {Key: "c", Object: machine{"south", "big"}},
	}, "1")
	found, err := s.ByIndexes(indexer.Is("zone", "north"), indexer.Is("size", "big"))
	if err != nil {
		panic(err)
	}
	for key := range found {
		fmt.Println(key)
	}
	// Output: a
}

func ExampleSnapshot_Range() {
	x, _ := indexer.New(indexer.Options[int]{})
	s := x.Replace([]indexer.Change[int]{{Key: "a"}, {Key: "b"}, {Key: "c"}, {Key: "d"}, {Key: "e"}}, "1")
	// In pages of two: each begins behind the last key of the page before.
	from := ""
	for page := 1; from != "end"; page++ {
		n := 0
		next := "end"
		for key := range s.Range(from, "") {
			if n++; n > 2 {
				break
			}
			fmt.Println(page, key)
			if n == 2 {
				next = key + "\x00"
			}
		}
		from = next
	}
	// Output:
	// 1 a
	// 1 b
	// 2 c
	// 2 d
	// 3 e
}

func ExampleIndexer_Watch() {
	x, _ := indexer.New(indexer.Options[string]{})
	go func() {
		x.Apply([]indexer.Change[string]{{Key: "door", Object: "shut"}}, "1")
		x.Apply([]indexer.Change[string]{{Key: "window", Object: "open"}}, "2")
		x.Apply([]indexer.Change[string]{{Key: "door", Object: "open"}}, "3")
	}()
	for {
		s := x.Snapshot()
		if door, _ := s.Get("door"); door == "open" {
			fmt.Println("the door is open")
			return
		}
		w, err := x.Watch(s, indexer.Key("door"))
		if err != nil {
			panic(err)
		}
		<-w.Changed()
	}
	// Output: the door is open
}
