package storage

import (
	"cmp"
	"context"
	"slices"
	"time"
)

// Restored returns a new store that is what this one was at revision, with the
// same options: a database restored from a backup of then. It goes on from that
// revision, and gives those after it again. Nothing before revision can be read.
// m stays as it is. Errors: ErrCompacted, ErrFutureRevision.
func (m *Memory) Restored(ctx context.Context, revision int64) (*Memory, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	if err := m.readable(revision); err != nil {
		return nil, err
	}
	if revision == 0 {
		revision = m.rev
	}
	var kept []*KeyValue
	m.history.Scan(func(_ string, past *versions) bool {
		if kv := past.at(revision); kv != nil {
			kept = append(kept, kv)
		}
		return true
	})
	slices.SortFunc(kept, func(a, b *KeyValue) int { return cmp.Compare(a.ModRevision, b.ModRevision) })
	restored := NewMemory(m.keep.MemoryOptions)
	for _, kv := range kept {
		restored.record(&Event{Type: Put, KV: *kv})
	}
	restored.rev = revision
	restored.keep.mark, restored.keep.markedAt = revision, time.Now()
	restored.forget(revision)
	return restored, nil
}
