package reflector

import (
	"context"
	"io"
)

// Sizes of what a body is read into. Most streams are idle most of the time, so
// that only the busy ones get large buffers.
const (
	smallBuffer = 8 << 10
	largeBuffer = 64 << 10
)

// pump cuts bodies into items and puts them into a lane. It belongs to one
// goroutine.
type pump[R any] struct {
	lane *lane[R]
	// arrived, if set, is called after reads that brought something new.
	arrived func()
	// peek, if set, is asked about each item, in order.
	peek func(item []byte) bool

	buffer     *buffer
	begin, end int // of the bytes in buffer that are not yet cut
	last       int // length of the last item
}

// run cuts body until it ends. It returns nil where it may end, and what
// reading or cutting failed with.
func (p *pump[R]) run(ctx context.Context, body io.Reader, split *sniffer) error {
	if p.buffer == nil {
		p.buffer = p.lane.buffer(smallBuffer)
	}
	p.begin = p.end
	for {
		if p.end == len(p.buffer.data) || p.begin == p.end && len(p.buffer.data) > largeBuffer {
			p.grow()
		}
		n, failure := body.Read(p.buffer.data[p.end:])
		p.end += n
		if err := p.cut(split); err != nil {
			return err
		}
		if p.arrived != nil {
			p.arrived()
		}
		switch {
		case failure == io.EOF:
			if err := split.End(p.buffer.data[p.begin:p.end]); err != nil {
				return asDecodeError(split.subject(), err)
			}
			return nil
		case failure != nil:
			return failure
		}
		if err := p.lane.wait(ctx); err != nil {
			return err
		}
	}
}

// cut takes all items out of what has been read.
func (p *pump[R]) cut(split *sniffer) error {
	for idle := false; ; {
		advance, item, err := split.Split(p.buffer.data[p.begin:p.end], idle)
		switch {
		case err != nil:
			return asDecodeError(split.subject(), err)
		case advance == 0 && idle:
			return nil
		}
		idle = advance == 0
		if item != nil {
			p.last = len(item)
			p.lane.add(p.buffer, rawItem{data: item, proto: split.isProto, peek: p.peek != nil && p.peek(item)})
		}
		p.begin += advance
	}
}

// grow makes room behind the bytes that are not yet cut. If all items before them were
// read it does so in the same buffer, so that a stream of single events makes no garbage.
// Else, and if that is larger than such items need, it goes over to another one, a
// larger one while the stream is busy. One that a single large item took is left as soon
// as all of it is cut: what comes next may take hours.
func (p *pump[R]) grow() {
	size := smallBuffer
	if p.lane.lively() {
		size = min(2*len(p.buffer.data), largeBuffer)
	}
	rest := p.buffer.data[p.begin:p.end]
	for size < 2*len(rest) {
		size *= 2
	}
	most := max(size, min(max(2*size, 4*p.last), largeBuffer))
	if has := len(p.buffer.data); size <= has && has <= most && p.lane.unused(p.buffer) {
		copy(p.buffer.data, rest)
		p.begin, p.end = 0, len(rest)
		return
	}
	next := p.lane.buffer(size)
	copy(next.data, rest)
	p.lane.leave(p.buffer)
	p.buffer, p.begin, p.end = next, 0, len(rest)
}
