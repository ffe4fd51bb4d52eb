package indexer_test

import (
	"fmt"

	"github.com/listwatch/listwatch/indexer"
)

type machine struct{ zone string }

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
		{Key: "prod/a", Object: machine{"north"}},
		{Key: "prod/b", Object: machine{"south"}},
		{Key: "test/c", Object: machine{"north"}},
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
