package storage

// Usage is what the newest versions of some keys take.
type Usage struct {
	// Keys is their number.
	Keys int64
	// Bytes is the size of their values.
	Bytes int64
}

// follow takes in a change.
func (u *Usage) follow(event *Event) {
	if event.Prev != nil {
		u.Keys--
		u.Bytes -= int64(len(event.Prev.Value))
	}
	if event.Type == Put {
		u.Keys++
		u.Bytes += int64(len(event.KV.Value))
	}
}

// Usage returns that of a resource's keys, prefix being theirs, or with "/" of
// all keys. It counts as it goes, and costs nothing.
func (m *Memory) Usage(prefix string) Usage {
	m.mu.RLock()
	defer m.mu.RUnlock()
	topic := topicOf(prefix)
	if topic == "/" {
		return m.all.usage
	}
	if log, ok := m.topics[topic]; ok {
		return log.usage
	}
	return Usage{}
}

// Size is the size in bytes of all versions that are kept, of their keys and
// values.
func (m *Memory) Size() int64 {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.size
}

// Compacted returns the oldest revision that can still be read; 0 before the
// first compaction.
func (m *Memory) Compacted() int64 {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.compacted
}
