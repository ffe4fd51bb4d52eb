package storage

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

// oldest is the oldest revision that can be read.
func oldest(t *testing.T, m *Memory) int64 {
	t.Helper()
	ctx := context.Background()
	newest, err := m.CurrentRevision(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for revision := int64(1); revision <= newest; revision++ {
		_, err := m.List(ctx, "/pods/", ListOptions{Revision: revision})
		if err == nil {
			return revision
		}
		if !errors.Is(err, ErrCompacted) {
			t.Fatal(err)
		}
	}
	t.Fatalf("revision %d cannot be read", newest)
	return 0
}

// writes makes n revisions.
func writes(t *testing.T, m *Memory, n int) {
	t.Helper()
	for range n {
		if _, err := m.Create(context.Background(), fmt.Sprintf("/pods/n/%d", m.rev), nil); err != nil {
			t.Fatal(err)
		}
	}
}

func TestHistoryIsKeptForTheTimeAndNoLongerThanTwice(t *testing.T) {
	for _, c := range []struct {
		options MemoryOptions
		least   time.Duration // 0: for ever
	}{
		{MemoryOptions{}, 5 * time.Minute},
		{MemoryOptions{KeepFor: time.Hour}, time.Hour},
		{MemoryOptions{KeepFor: -1}, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			m := NewMemory(c.options)
			defer m.Close()
			at := []time.Time{{}, time.Now()} // index: revision
			for range 2000 {
				writes(t, m, 1)
				at = append(at, time.Now())
				time.Sleep(7 * time.Second)
			}
			age := at[len(at)-1].Sub(at[oldest(t, m)])
			switch whole := at[len(at)-1].Sub(at[1]); {
			case c.least == 0 && age != whole:
				t.Errorf("%+v: it goes back %v of %v", c.options, age, whole)
			case c.least > 0 && (age < c.least || age > 2*c.least+time.Minute):
				t.Errorf("%+v: it goes back %v", c.options, age)
			}
		})
	}
}

func TestAnIdleStoreForgetsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := NewMemory()
		defer m.Close()
		writes(t, m, 10)
		time.Sleep(24 * time.Hour)
		if got := oldest(t, m); got != 1 {
			t.Errorf("the oldest is %d", got)
		}
	})
}

func TestNoMoreRevisionsAreKeptThanAllowed(t *testing.T) {
	for _, n := range []int64{1, 2, 3, 4, 10, 100} {
		m := NewMemory(MemoryOptions{KeepRevisions: n})
		for range 3 * n {
			writes(t, m, 1)
			if kept := m.rev + 1 - oldest(t, m); kept > n || kept < min(m.rev, n*3/4) || kept < 1 {
				t.Errorf("at most %d: %d are kept at revision %d", n, kept, m.rev)
			}
		}
		m.Close()
	}
}

func TestAWatchThatIsOpenOutlivesTheAutomaticCompaction(t *testing.T) {
	m := NewMemory(MemoryOptions{KeepRevisions: 2})
	defer m.Close()
	w, err := m.Watch(context.Background(), "/pods/", WatchOptions{Revision: 1})
	if err != nil {
		t.Fatal(err)
	}
	writes(t, m, 20)
	events, err := w.Next(context.Background())
	if err != nil || len(events) != 20 {
		t.Errorf("%d events, %v", len(events), err)
	}
}
