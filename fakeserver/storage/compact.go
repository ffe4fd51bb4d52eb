package storage

import "context"

// Compact implements Store. It costs what was written since the last
// compaction, not the size of the store: only keys with an event up to revision
// can have anything to forget.
func (m *Memory) Compact(ctx context.Context, revision int64) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case m.closed:
		return ErrClosed
	case revision > m.rev:
		return revisionError(revision, ErrFutureRevision)
	case revision < m.compacted:
		return revisionError(revision, ErrCompacted)
	}
	m.forget(revision)
	return nil
}

// forget drops the history before revision, which is one of the store's. It needs
// mu.
func (m *Memory) forget(revision int64) {
	touched := map[string]struct{}{} // topics
	for _, node := range m.all.index[:m.all.search(revision)] {
		key := node.event.KV.Key
		touched[topicOf(key)] = struct{}{}
		past, ok := m.history.Get(key)
		if !ok {
			continue
		}
		freed, empty := past.compact(revision)
		m.size -= freed
		if empty {
			m.history.Delete(key)
		}
	}
	for topic := range touched {
		m.topic(topic).trim(revision)
	}
	m.all.trim(revision)
	m.compacted = revision
}
