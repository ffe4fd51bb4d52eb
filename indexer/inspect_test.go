package indexer_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/indexer"
)

// labelled returns a snapshot of n objects, each with a few of the labels l0 to
// l9, and the objects.
func labelled(t *testing.T, n int) (*indexer.Snapshot[*object], oracle) {
	t.Helper()
	x, err := indexer.New(indexer.Options[*object]{Indexes: map[string]indexer.Func[*object]{"label": labelsOf, "parity": parityOf}})
	if err != nil {
		t.Fatal(err)
	}
	random, all := rand.New(rand.NewPCG(1, uint64(n))), oracle{}
	for range 2 { // the second time over moves objects between values
		var changes []indexer.Change[*object]
		for k := range n {
			o := &object{version: random.IntN(100)}
			for range random.IntN(4) {
				o.labels = append(o.labels, fmt.Sprint("l", random.IntN(10)))
			}
			changes = append(changes, indexer.Change[*object]{Key: fmt.Sprintf("ns/%d", k), Object: o, Delete: k%7 == 3})
		}
		all.apply(changes)
		x.Apply(changes, "1")
	}
	return x.Snapshot(), all
}

func TestValuesOfIsTheInverseOfByIndex(t *testing.T) {
	for _, n := range []int{0, 1, 10, 3000} {
		s, all := labelled(t, n)
		if diff := cmp.Diff([]string{"label", "parity"}, s.IndexNames()); diff != "" {
			t.Errorf("%d objects: names (-want +got):\n%s", n, diff)
		}
		for key := range n + 1 {
			key := fmt.Sprintf("ns/%d", key)
			var want []string
			if o := all[key]; o != nil {
				want = append(want, o.labels...)
				slices.Sort(want)
				want = slices.Compact(want)
			}
			got, err := s.ValuesOf("label", key)
			if err != nil || !slices.Equal(got, want) {
				t.Fatalf("%d objects, %s: got %v %v, want %v", n, key, got, err, want)
			}
		}
	}
}

func TestValuesOfAnUnknownIndexIsAnError(t *testing.T) {
	s, _ := labelled(t, 1)
	if _, err := s.ValuesOf("none", "ns/0"); err == nil {
		t.Error("no error")
	}
}

func TestASampleHasAboutTheSizeAskedFor(t *testing.T) {
	for _, n := range []int{0, 1, 5, 100, 5000} {
		s, all := labelled(t, n)
		for _, size := range []int{0, 1, 20, 200, 100000} {
			seen := map[string]bool{}
			for key, o := range s.Sample(size) {
				if seen[key] || all[key] != o {
					t.Fatalf("%s of %d comes twice, or is not what is cached", key, n)
				}
				seen[key] = true
			}
			want := min(size, s.Len())
			if got := len(seen); got < want/3 || got > 3*want+40 || (size >= s.Len() && got != want) {
				t.Errorf("%d of %d objects, want about %d", got, s.Len(), want)
			}
		}
	}
}
