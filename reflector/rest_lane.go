package reflector

import (
	"context"
	"runtime"
	"slices"
	"sync"

	"github.com/listwatch/listwatch/internal/worker"
)

// chunkItems bounds what is decoded in one go.
const chunkItems = 32

// busyBuffers bounds the free buffers of a lane that expects much.
const busyBuffers = 8

// buffer is what a body is read into. The items in it are decoded while more is
// read behind them.
type buffer struct {
	data  []byte
	users int  // chunks with items in it; guarded by the lane's mu
	left  bool // by the pump; guarded by the lane's mu
}

// rawItem is a frame, or an item of a list.
type rawItem struct {
	data  []byte
	proto bool // else it is JSON
	peek  bool // it may be looked at before it is decoded
}

// chunk is a piece of the stream: some raw items of one buffer, and what they
// were decoded to.
type chunk[R any] struct {
	buffer *buffer
	raw    []rawItem
	out    []R

	claimed bool          // guarded by the lane's mu: no raw item is added any more
	done    chan struct{} // closed when out is complete; nil if the reader itself claimed it
}

// lane takes raw items from one goroutine (the pump) to another (the reader),
// in order, and decodes them on the way. While the reader keeps up it decodes
// by itself, without another switch of goroutines; as soon as it lags, helpers
// join in, which end when there is nothing left to decode.
type lane[R any] struct {
	group  *worker.Group
	decode func(rawItem) R
	most   int // helpers at the same time

	mu      sync.Mutex
	chunks  []*chunk[R] // in order; guarded by mu, as the rest
	helpers int
	busy    bool        // much is to come: more of free is worth keeping
	free    [][]byte    // of buffers that nobody uses
	spare   []*chunk[R] // that were read

	ready chan struct{} // capacity 1: the reader should look
	room  chan struct{} // capacity 1: the pump should look
}

func newLane[R any](group *worker.Group, decode func(rawItem) R) *lane[R] {
	return &lane[R]{
		group: group, decode: decode, most: runtime.GOMAXPROCS(0) - 1,
		ready: make(chan struct{}, 1), room: make(chan struct{}, 1),
	}
}

// signal fills a channel of capacity 1.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// buffer gives the pump one of at least size bytes.
func (l *lane[R]) buffer(size int) *buffer {
	var free []byte
	l.mu.Lock()
	if last := len(l.free) - 1; last >= 0 {
		free = l.free[last]
		l.free[last] = nil
		l.free = l.free[:last]
	}
	l.mu.Unlock()
	if len(free) < size {
		free = make([]byte, size)
	}
	return &buffer{data: free}
}

// expect says whether much is to come, as in a list: then free buffers are kept
// also when the reader has caught up, or every read would make garbage.
func (l *lane[R]) expect(much bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.busy = much
	if !much {
		l.free, l.spare = nil, nil
	}
}

// leave says that the pump adds nothing of b any more.
func (l *lane[R]) leave(b *buffer) {
	l.mu.Lock()
	defer l.mu.Unlock()
	b.left = true
	l.release(b)
}

// unused reports whether nobody needs what is in b but the pump.
func (l *lane[R]) unused(b *buffer) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return b.users == 0
}

// release keeps the memory of a buffer that is no longer used, while there is
// use for it: an idle stream should hold no more than it needs.
func (l *lane[R]) release(b *buffer) {
	if !b.left || b.users > 0 {
		return
	}
	switch {
	case l.busy && len(l.free) < busyBuffers:
		l.free = append(l.free, b.data)
	case l.busy:
	case len(l.chunks) > 0 && len(b.data) <= largeBuffer:
		l.free = append(l.free[:0], b.data)
	default:
		l.free = nil
	}
	b.data = nil
}

// add puts raw, whose data is a part of b, at the end of the lane.
func (l *lane[R]) add(b *buffer, raw rawItem) {
	l.mu.Lock()
	last := l.last()
	if last == nil || last.claimed || last.buffer != b || len(last.raw) >= chunkItems {
		last = l.empty()
		last.buffer = b
		b.users++
		l.chunks = append(l.chunks, last)
	}
	last.raw = append(last.raw, raw)
	help := l.helpers < l.most && l.waiting() > l.helpers+1
	if help {
		l.helpers++
	}
	l.mu.Unlock()
	signal(l.ready)
	if help && !l.group.Go("reflector: decode", l.help) {
		l.mu.Lock()
		l.helpers--
		l.mu.Unlock()
	}
}

// empty returns a chunk to be filled.
func (l *lane[R]) empty() *chunk[R] {
	end := len(l.spare) - 1
	if end < 0 {
		return &chunk[R]{}
	}
	c := l.spare[end]
	l.spare[end] = nil
	l.spare = l.spare[:end]
	return c
}

func (l *lane[R]) last() *chunk[R] {
	if len(l.chunks) == 0 {
		return nil
	}
	return l.chunks[len(l.chunks)-1]
}

// mark puts something at the end of the lane that needs no decoding.
func (l *lane[R]) mark(out R) {
	done := make(chan struct{})
	close(done)
	l.mu.Lock()
	l.chunks = append(l.chunks, &chunk[R]{claimed: true, done: done, out: []R{out}})
	l.mu.Unlock()
	signal(l.ready)
}

// waiting counts the chunks that nobody has claimed, up to as many as matter.
func (l *lane[R]) waiting() int {
	n := 0
	for i := len(l.chunks) - 1; i >= 0 && !l.chunks[i].claimed && n <= l.most+1; i-- {
		n++
	}
	return n
}

// full is how many chunks may be on the way.
func (l *lane[R]) full() int { return 4 * (l.most + 1) }

// wait waits until the lane has room for more, or for the end of ctx.
func (l *lane[R]) wait(ctx context.Context) error {
	for {
		l.mu.Lock()
		full := len(l.chunks) > l.full()
		l.mu.Unlock()
		if !full {
			return nil
		}
		select {
		case <-l.room:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// lively reports whether large buffers pay: much is to come, or the reader lags.
func (l *lane[R]) lively() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.busy || len(l.chunks) > 0
}

// help decodes chunks as long as there are any.
func (l *lane[R]) help(ctx context.Context) {
	for ctx.Err() == nil {
		c := l.claim()
		if c == nil {
			break
		}
		l.work(c)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.helpers--
}

// claim takes the oldest chunk that is still to be decoded, if there is one.
func (l *lane[R]) claim() *chunk[R] {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range l.chunks {
		if !c.claimed {
			c.claimed, c.done = true, make(chan struct{})
			return c
		}
	}
	return nil
}

// work decodes a chunk that was claimed.
func (l *lane[R]) work(c *chunk[R]) {
	c.out = slices.Grow(c.out, len(c.raw))
	for _, raw := range c.raw {
		c.out = append(c.out, l.decode(raw))
	}
	close(c.done)
}

// take waits for the next chunk and removes it from the lane. If decoded is
// false the caller is to decode its raw items. It ends with ctx.
func (l *lane[R]) take(ctx context.Context) (c *chunk[R], decoded bool, err error) {
	for c == nil {
		l.mu.Lock()
		if len(l.chunks) > 0 {
			c = l.chunks[0]
			decoded, c.claimed = c.claimed, true
			l.chunks[0] = nil
			if l.chunks = l.chunks[1:]; len(l.chunks) == 0 {
				l.chunks = nil // and with it the array, which only grows
			}
		}
		l.mu.Unlock()
		if c != nil {
			break
		}
		select {
		case <-l.ready:
		case <-ctx.Done():
			return nil, false, context.Cause(ctx)
		}
	}
	signal(l.room)
	if !decoded {
		return c, false, nil
	}
	for {
		select {
		case <-c.done:
			return c, true, nil
		case <-ctx.Done():
			return nil, false, context.Cause(ctx)
		default:
		}
		if other := l.claim(); other != nil { // instead of waiting
			l.work(other)
			continue
		}
		select {
		case <-c.done:
			return c, true, nil
		case <-ctx.Done():
			return nil, false, context.Cause(ctx)
		}
	}
}

// reuse gives back a chunk that was read.
func (l *lane[R]) reuse(c *chunk[R]) {
	clear(c.raw)
	clear(c.out)
	l.mu.Lock()
	defer l.mu.Unlock()
	if c.buffer != nil {
		c.buffer.users--
		l.release(c.buffer)
	}
	if len(l.spare) == 0 || l.busy && len(l.spare) < l.full() {
		l.spare = append(l.spare, &chunk[R]{raw: c.raw[:0], out: c.out[:0]})
	}
}
