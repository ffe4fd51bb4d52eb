package bench

import (
	"slices"
	"testing"
)

func TestBothStoresAnswerTheSame(t *testing.T) {
	s := newStores(t, 1000)
	for _, i := range s.random[:100] {
		s.put(i, s.moved[i], false)
		if err := s.theirs.Update(s.moved[i]); err != nil {
			t.Fatal(err)
		}
	}
	snapshot := s.ours.Snapshot()
	for _, key := range s.keys {
		ours, _ := snapshot.Get(key)
		if theirs, _, _ := s.theirs.GetByKey(key); theirs != ours {
			t.Fatalf("%s is %v here and %v there", key, ours, theirs)
		}
	}
	for _, node := range s.nodes {
		found, err := snapshot.ByIndex("node", node)
		if err != nil {
			t.Fatal(err)
		}
		var ours []string
		for key := range found {
			ours = append(ours, key)
		}
		theirs, err := s.theirs.IndexKeys("node", node)
		if err != nil || !slices.Equal(ours, theirs) {
			t.Fatalf("%s has %q here and %q there, %v", node, ours, theirs, err)
		}
	}
	var ours []string
	for key := range snapshot.Namespace("namespace-0003") {
		ours = append(ours, key)
	}
	if theirs, err := s.theirs.IndexKeys("namespace", "namespace-0003"); err != nil || !slices.Equal(ours, theirs) {
		t.Errorf("a namespace has %q here and %q there, %v", ours, theirs, err)
	}
}

func TestBothInformersTellTheSame(t *testing.T) {
	for _, side := range sides {
		f := follow(t, side, setupOf{objects: 100, handlers: 3})
		f.events(1000, 3) // would not end if a handler missed one
		if left := f.left.Load(); left != 0 {
			t.Errorf("%s tells %d times too much", side.name, -left)
		}
		f.stop()
	}
}
