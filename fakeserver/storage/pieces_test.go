package storage

import (
	"context"
	"fmt"
	"testing"
)

func TestTheTopicOfAKeyIsItsFirstSegment(t *testing.T) {
	for key, want := range map[string]string{
		"/pods/n/a": "/pods/", "/pods/": "/pods/", "/nodes/n1": "/nodes/",
		"/pods": "/", "/": "/", "": "/", "pods/n/a": "/",
	} {
		if got := topicOf(key); got != want {
			t.Errorf("%q: %q, want %q", key, got, want)
		}
	}
}

func TestThePrefixEndIsTheLeastKeyAfterAllOfThePrefix(t *testing.T) {
	for _, c := range []struct {
		prefix, key string
		within      bool
	}{
		{"/pods/", "/pods/a", true}, {"/pods/", "/pods/\xff", true},
		{"/pods/", "/pods0", false}, {"/pods/", "/podsx/a", false},
		{"/", "/pods/a", true}, {"/", "0", false}, {"", "anything", true},
	} {
		if got := c.key < prefixEnd(c.prefix); got != c.within {
			t.Errorf("%q in %q: %v", c.key, c.prefix, got)
		}
	}
}

func TestCompactedVersionsKeepWhatLaterReadsNeed(t *testing.T) {
	one, two := &KeyValue{Key: "/k", Value: []byte("one"), ModRevision: 2}, &KeyValue{ModRevision: 6}
	for _, c := range []struct {
		at    int64
		left  int
		freed int64
	}{
		{1, 3, 0}, {2, 3, 0}, {3, 3, 0}, {4, 1, 5}, {6, 1, 5}, {9, 1, 5},
	} {
		v := &versions{list: []version{{2, one}, {4, nil}, {6, two}}}
		if freed, empty := v.compact(c.at); empty || freed != c.freed || len(v.list) != c.left {
			t.Errorf("at %d: %v left, %d bytes freed, empty %v", c.at, v.list, freed, empty)
		}
		if c.at >= 6 && v.at(c.at) != two {
			t.Errorf("at %d: the newest is lost", c.at)
		}
	}
	gone := &versions{list: []version{{2, one}, {4, nil}}}
	if _, empty := gone.compact(3); empty {
		t.Error("a deleted key was forgotten too early")
	}
	if freed, empty := gone.compact(4); !empty || freed != 5 {
		t.Errorf("a deleted key is kept: %d bytes freed", freed)
	}
}

func TestCompactionFreesTheHistoryOfDeletedKeys(t *testing.T) {
	ctx := context.Background()
	m := NewMemory()
	defer m.Close()
	for i := range 100 {
		kv, err := m.Create(ctx, fmt.Sprintf("/pods/n/%d", i), nil)
		if err == nil {
			_, err = m.Delete(ctx, kv.Key, kv.ModRevision)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := m.Compact(ctx, 201); err != nil {
		t.Fatal(err)
	}
	if m.history.Len() != 0 || len(m.all.index) != 0 || len(m.topic("/pods/").index) != 0 {
		t.Errorf("%d keys and %d events are left", m.history.Len(), len(m.all.index))
	}
}

// BenchmarkCompact compacts after a hundred updates of a store of n keys: what
// it costs must not depend on n.
func BenchmarkCompact(b *testing.B) {
	for _, n := range []int{1000, 100000} {
		b.Run(fmt.Sprintf("keys_%d", n), func(b *testing.B) {
			ctx := context.Background()
			m := NewMemory()
			defer m.Close()
			kvs := make([]KeyValue, n)
			for i := range kvs {
				kvs[i], _ = m.Create(ctx, fmt.Sprintf("/pods/n/%06d", i), nil)
			}
			if err := m.Compact(ctx, m.rev); err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				b.StopTimer()
				for i := range 100 {
					kvs[i], _ = m.Update(ctx, kvs[i].Key, nil, kvs[i].ModRevision)
				}
				b.StartTimer()
				if err := m.Compact(ctx, m.rev); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkWrite creates keys one by one.
func BenchmarkWrite(b *testing.B) {
	ctx := context.Background()
	m := NewMemory()
	defer m.Close()
	value := make([]byte, 1000)
	i := 0
	for b.Loop() {
		i++
		if _, err := m.Create(ctx, fmt.Sprintf("/pods/n/%08d", i), value); err != nil {
			b.Fatal(err)
		}
	}
}
