package indexer_test

import (
	"fmt"
	"strconv"
	"sync"
	"testing"

	"github.com/listwatch/listwatch/indexer"
)

// The writer below gives every key the version of the batch, so any reader can
// tell a snapshot that is torn, or older than one it saw before.
const sharedKeys = 300

func batchOf(version int) changes {
	var batch changes
	for i := range sharedKeys {
		key := fmt.Sprintf("ns-%d/%03d", i%3, i)
		if i%3 == version%3 { // a third is absent, another third every time
			batch = append(batch, gone(key))
			continue
		}
		batch = append(batch, put(key, version, "all", strconv.Itoa(version%7)))
	}
	return batch
}

func TestConcurrentReadersSeeWholeSnapshotsThatNeverGoBack(t *testing.T) {
	x := newLabelled(t, nil)
	x.Apply(batchOf(1), "1")
	done := make(chan struct{})
	var readers sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			last := 0
			for {
				select {
				case <-done:
					return
				default:
				}
				last = readWhole(t, x.Snapshot(), last)
			}
		})
	}
	readers.Go(func() {
		for i := range 5 {
			if err := x.AddIndex(fmt.Sprint("late-", i), parityOf); err != nil {
				t.Error(err)
			}
		}
	})
	for version := 2; version <= 40; version++ {
		if version%10 == 0 {
			x.Replace(batchOf(version), strconv.Itoa(version))
		} else {
			x.Apply(batchOf(version), strconv.Itoa(version))
		}
	}
	close(done)
	readers.Wait()
	if values, err := x.Snapshot().IndexValues("late-4"); err != nil || len(values) != 1 {
		t.Errorf("the late index has values %q, %v", values, err)
	}
}

// readWhole checks one snapshot and returns its version.
func readWhole(t *testing.T, s *indexer.Snapshot[*object], last int) int {
	version, err := strconv.Atoi(s.ResourceVersion())
	if err != nil || version < last {
		t.Errorf("resourceVersion %q after %d", s.ResourceVersion(), last)
		return last
	}
	all, err := s.ByIndex("label", "all")
	if err != nil {
		t.Error(err)
		return version
	}
	indexed := 0
	for key, o := range all {
		indexed++
		if got, ok := s.Get(key); !ok || got != o || o.version != version {
			t.Errorf("%q is %v by index and %v by key in snapshot %d", key, o, got, version)
		}
	}
	if want := sharedKeys * 2 / 3; s.Len() != want || indexed != want || len(s.List()) != want {
		t.Errorf("snapshot %d has %d objects, %d in the index, want %d", version, s.Len(), indexed, want)
	}
	return version
}

func TestConcurrentWritersTakeTurns(t *testing.T) {
	x := newLabelled(t, nil)
	var writers sync.WaitGroup
	for w := range 4 {
		writers.Go(func() {
			for i := range 50 {
				x.Apply(changes{put(fmt.Sprintf("w%d/%02d", w, i), i, "all")}, "1")
			}
		})
	}
	writers.Wait()
	if s := x.Snapshot(); s.Len() != 200 || len(under(t, s, "label", "all")) != 200 {
		t.Errorf("%d of 200 changes are there", s.Len())
	}
}

// TestReadersOfOldSnapshotsDoNotMeetTheWriterInSharedNodes is for the race
// detector: new ids are written into nodes that older snapshots share.
func TestReadersOfOldSnapshotsDoNotMeetTheWriterInSharedNodes(t *testing.T) {
	x := newLabelled(t, nil)
	done := make(chan struct{})
	var readers sync.WaitGroup
	for range 3 {
		readers.Go(func() {
			older := x.Snapshot()
			for {
				select {
				case <-done:
					return
				default:
				}
				newer := x.Snapshot()
				length := older.Len()
				for d := range newer.Differences(older, sameObject) {
					if d.Is && !d.Was {
						length++
					} else if d.Was && !d.Is {
						length--
					}
				}
				if n := len(newer.List()); n != length || newer.Len() != length {
					t.Errorf("%d objects, %d by the differences", n, length)
				}
				for key := range newer.Range("ns/1", "ns/2") {
					if _, ok := newer.Get(key); !ok {
						t.Errorf("%q is missing", key)
					}
				}
				older = newer
			}
		})
	}
	for i := range 3000 {
		batch := changes{put(fmt.Sprint("ns/", i), i, "all", strconv.Itoa(i%50))}
		if i%7 == 0 {
			batch = append(batch, gone(fmt.Sprint("ns/", i/2)))
		}
		x.Apply(batch, "1")
	}
	close(done)
	readers.Wait()
}
