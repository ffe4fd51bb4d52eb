package informer

import (
	"fmt"
	"slices"
	"testing"
)

func TestRecentKeepsTheLastOnes(t *testing.T) {
	var r recent[int]
	var all []int
	for k := range 3*maxRecent + 7 {
		r.add(k)
		all = append(all, k)
		if k%50 != 0 && k != maxRecent {
			continue
		}
		want := slices.Clone(all[max(0, len(all)-maxRecent):])
		slices.Reverse(want)
		got := r.find(func(int) bool { return true })
		if !slices.Equal(got, want) || r.count() != int64(len(all)) {
			t.Fatalf("after %d: got %d entries of %d, %v…", len(all), len(got), r.count(), got[:min(3, len(got))])
		}
	}
	if got := r.find(func(k int) bool { return k%100 == 0 }); !slices.Equal(got, []int{700, 600}) {
		t.Errorf("got %v", got)
	}
}

func TestOfManyDeletionsTheLastAreRemembered(t *testing.T) {
	var notices []notice[*thing]
	for k := range 2 * maxRecent {
		obj := newThing(fmt.Sprint("o", k), "u", int64(k))
		notices = append(notices, notice[*thing]{kind: noticeDelete, key: obj.Name, obj: obj, exact: k%2 == 0},
			notice[*thing]{kind: noticeAdd, obj: obj})
	}
	var r recent[Deletion]
	noteDeletions(&r, notices)
	got := r.find(func(Deletion) bool { return true })
	if r.count() != maxRecent || got[0].Key != "o511" || got[0].Exact || got[maxRecent-1].Key != "o256" || !got[1].Exact {
		t.Errorf("%d deletions, from %+v to %+v", r.count(), got[len(got)-1], got[0])
	}
	noteDeletions(&r, notices[1:2]) // an add
	if r.count() != maxRecent {
		t.Error("an add counts as deletion")
	}
}
