package indexer_test

import (
	"testing"
	"unsafe"

	"github.com/listwatch/listwatch/indexer"
)

func TestEntryReturnsTheStoredKeyNotTheOneAskedFor(t *testing.T) {
	x := newLabelled(t, nil)
	change := put("ns/a", 1)
	s := x.Apply([]indexer.Change[*object]{change}, "1")
	asked := string([]byte("ns/a")) // other memory
	stored, obj, found := s.Entry(asked)
	if !found || stored != "ns/a" || obj != change.Object {
		t.Fatalf("Entry = %q, %v, %v", stored, obj, found)
	}
	if unsafe.StringData(stored) != unsafe.StringData(change.Key) {
		t.Error("the key is not the stored one")
	}
	if stored, obj, found := s.Entry("ns/b"); found || stored != "" || obj != nil {
		t.Errorf("Entry of a missing key = %q, %v, %v", stored, obj, found)
	}
}
