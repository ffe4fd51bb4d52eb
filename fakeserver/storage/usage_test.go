package storage

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
)

func TestUsageIsThatOfWhatCanBeRead(t *testing.T) {
	ctx := context.Background()
	m := NewMemory()
	defer m.Close()
	random := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		key := fmt.Sprintf("/%s/n/%d", []string{"pods", "nodes"}[random.IntN(2)], random.IntN(20))
		value := make([]byte, random.IntN(50))
		kv, err := m.Get(ctx, key, 0)
		switch {
		case err != nil:
			_, err = m.Create(ctx, key, value)
		case random.IntN(3) == 0:
			_, err = m.Delete(ctx, key, kv.ModRevision)
		default:
			_, err = m.Update(ctx, key, value, kv.ModRevision)
		}
		if err != nil {
			t.Fatal(err)
		}
		if random.IntN(100) == 0 {
			_ = m.Compact(ctx, m.rev-int64(random.IntN(10)))
		}
	}
	for _, prefix := range []string{"/pods/", "/nodes/", "/", "/none/"} {
		listed, err := m.List(ctx, prefix, ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		want := Usage{Keys: int64(len(listed.KVs))}
		for _, kv := range listed.KVs {
			want.Bytes += int64(len(kv.Value))
		}
		if got := m.Usage(prefix); got != want {
			t.Errorf("%s: %+v, want %+v", prefix, got, want)
		}
	}
	size := int64(0)
	m.history.Scan(func(_ string, past *versions) bool {
		for _, v := range past.list {
			size += v.size()
		}
		return true
	})
	if got := m.Size(); got != size || size == 0 {
		t.Errorf("size %d, want %d", got, size)
	}
}
