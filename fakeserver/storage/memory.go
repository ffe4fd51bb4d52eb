package storage

import (
	"bytes"
	"context"
	"sync"
	"time"

	"github.com/tidwall/btree"
)

// Memory is a Store in memory. Make it with NewMemory. It owns no goroutine.
type Memory struct {
	mu sync.RWMutex
	// rev is the newest revision. Guarded by mu, as all that follows.
	rev int64
	// compacted is the oldest revision that can still be read; 0 before the first
	// compaction.
	compacted int64
	// live holds the newest version of every key that exists. It is copied on
	// write, so that a reader takes a copy and reads it without the mutex.
	live *btree.Map[string, *KeyValue]
	// history holds every retained version of every key, deletions included.
	history *btree.Map[string, *versions]
	// size is that of history in bytes.
	size int64
	// all logs every event, topics those under one first segment.
	all    *eventLog
	topics map[string]*eventLog
	closed bool
	// held: watches see nothing newer than heldAt.
	held   bool
	heldAt int64
	keep   retention

	// done is closed by Close.
	done chan struct{}
}

var _ Store = (*Memory)(nil)

// NewMemory returns an empty store at revision 1. Options are the defaults, or
// those given; there is one set of them at most.
func NewMemory(options ...MemoryOptions) *Memory {
	var o MemoryOptions
	if len(options) > 0 {
		o = options[0]
	}
	return &Memory{
		keep:    newRetention(o),
		rev:     1,
		live:    btree.NewMap[string, *KeyValue](0),
		history: btree.NewMap[string, *versions](0),
		all:     newEventLog(),
		topics:  map[string]*eventLog{},
		done:    make(chan struct{}),
	}
}

// Close ends all watches with ErrClosed and lets every further call fail with
// it. It may be called again.
func (m *Memory) Close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.closed {
		m.closed = true
		close(m.done)
	}
}

// Create implements Store. The value is copied.
func (m *Memory) Create(ctx context.Context, key string, value []byte) (KeyValue, error) {
	return m.write(ctx, key, func(current *KeyValue, revision int64) (Event, error) {
		if current != nil {
			return Event{}, ErrExists
		}
		return Event{Type: Put, KV: KeyValue{
			Key: key, Value: bytes.Clone(value), CreateRevision: revision, ModRevision: revision,
		}}, nil
	})
}

// Update implements Store. The value is copied.
func (m *Memory) Update(ctx context.Context, key string, value []byte, expected int64) (KeyValue, error) {
	return m.write(ctx, key, func(current *KeyValue, revision int64) (Event, error) {
		if err := expect(current, expected); err != nil {
			return Event{}, err
		}
		return Event{Type: Put, Prev: current, KV: KeyValue{
			Key: key, Value: bytes.Clone(value), CreateRevision: current.CreateRevision, ModRevision: revision,
		}}, nil
	})
}

// Delete implements Store.
func (m *Memory) Delete(ctx context.Context, key string, expected int64) (KeyValue, error) {
	return m.write(ctx, key, func(current *KeyValue, revision int64) (Event, error) {
		if err := expect(current, expected); err != nil {
			return Event{}, err
		}
		last := *current
		last.ModRevision = revision
		return Event{Type: Delete, Prev: current, KV: last}, nil
	})
}

// expect checks the compare half of compare-and-swap.
func expect(current *KeyValue, expected int64) error {
	switch {
	case current == nil:
		return ErrNotFound
	case current.ModRevision != expected:
		return ErrConflict
	default:
		return nil
	}
}

// write applies the event that decide makes from the current version of key,
// nil if there is none, at the next revision.
func (m *Memory) write(ctx context.Context, key string, decide func(*KeyValue, int64) (Event, error)) (KeyValue, error) {
	if err := ctx.Err(); err != nil {
		return KeyValue{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return KeyValue{}, keyError(key, ErrClosed)
	}
	current, _ := m.live.Get(key)
	event, err := decide(current, m.rev+1)
	if err != nil {
		return KeyValue{}, keyError(key, err)
	}
	m.rev++
	m.record(&event)
	if revision := m.keep.due(time.Now(), m.rev, m.compacted); revision > m.compacted {
		m.forget(revision)
	}
	return event.KV, nil
}

// record puts an event of the newest revision into the trees and the logs.
func (m *Memory) record(event *Event) {
	key := event.KV.Key
	past, ok := m.history.Get(key)
	if !ok {
		past = &versions{}
		m.history.Set(key, past)
	}
	added := version{revision: event.KV.ModRevision}
	if event.Type == Delete {
		m.live.Delete(key)
	} else {
		m.live.Set(key, &event.KV)
		added.kv = &event.KV
	}
	past.add(added)
	m.size += added.size()
	m.all.append(event)
	if log := m.topic(topicOf(key)); log != m.all {
		log.append(event)
	}
}

// topic returns the log of a topic, making it at its first use.
func (m *Memory) topic(name string) *eventLog {
	if name == "/" {
		return m.all
	}
	log, ok := m.topics[name]
	if !ok {
		log = newEventLog()
		m.topics[name] = log
	}
	return log
}
