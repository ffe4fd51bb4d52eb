package storage

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
)

// maxBatch bounds the events that one Next returns, and so the time that it
// holds the store's mutex.
const maxBatch = 512

// memoryWatch is a cursor into an event log.
type memoryWatch struct {
	store  *Memory
	prefix string
	log    *eventLog
	after  int64

	// position is the last node that was read. Used by the caller of Next only.
	position *logNode

	// progress is set while a Progress event is owed; wake has room for one.
	progress atomic.Bool
	wake     chan struct{}

	closeOnce sync.Once
	closed    chan struct{}
}

// Watch implements Store. The context bounds the call, not the watch.
func (m *Memory) Watch(ctx context.Context, prefix string, opts WatchOptions) (Watch, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return nil, keyError(prefix, ErrClosed)
	}
	if opts.Revision < m.compacted {
		return nil, keyError(prefix, revisionError(opts.Revision, ErrCompacted))
	}
	log := m.topic(topicOf(prefix))
	return &memoryWatch{
		store: m, prefix: prefix, log: log, after: opts.Revision,
		position: log.after(opts.Revision),
		wake:     make(chan struct{}, 1),
		closed:   make(chan struct{}),
	}, nil
}

// Next implements Watch.
func (w *memoryWatch) Next(ctx context.Context) ([]Event, error) {
	for {
		if err := w.ended(ctx); err != nil {
			return nil, err
		}
		events, changed := w.read()
		if len(events) > 0 {
			return events, nil
		}
		select {
		case <-changed:
		case <-w.wake:
		case <-w.closed:
		case <-w.store.done:
		case <-ctx.Done():
		}
	}
}

// ended says why no event can be returned any more.
func (w *memoryWatch) ended(ctx context.Context) error {
	select {
	case <-w.closed:
		return keyError(w.prefix, ErrClosed)
	case <-w.store.done:
		return keyError(w.prefix, ErrClosed)
	default:
		return ctx.Err()
	}
}

// read takes what is in the log. If that is nothing, it returns a channel that
// is closed when more may be there.
func (w *memoryWatch) read() ([]Event, <-chan struct{}) {
	m := w.store
	m.mu.Lock()
	defer m.mu.Unlock()
	var events []Event
	for w.position.next != nil && len(events) < maxBatch && m.visible(w.position.next.event) {
		w.position = w.position.next
		event := w.position.event
		if event.KV.ModRevision > w.after && strings.HasPrefix(event.KV.Key, w.prefix) {
			events = append(events, *event)
		}
	}
	if w.position.next == nil && !m.held && w.progress.Swap(false) {
		events = append(events, Event{Type: Progress, KV: KeyValue{ModRevision: m.rev}})
	}
	if len(events) > 0 {
		return events, nil
	}
	return nil, w.log.wait()
}

// RequestProgress implements Watch.
func (w *memoryWatch) RequestProgress() {
	w.progress.Store(true)
	select {
	case w.wake <- struct{}{}:
	default: // it is awake already
	}
}

// Close implements Watch.
func (w *memoryWatch) Close() { w.closeOnce.Do(func() { close(w.closed) }) }
