package reflector

import (
	"context"
	"errors"
	"io"
	"sync"
	"sync/atomic"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kjson "sigs.k8s.io/json"

	"github.com/listwatch/listwatch/internal/worker"
	"github.com/listwatch/listwatch/reflector/internal/wire"
)

// listed is what becomes of an item; or the end of a page, or of everything.
type listed[T any] struct {
	item Item[T]
	page *Part[T]
	err  error
}

// opener asks for a page.
type opener func(ctx context.Context, options metav1.ListOptions) (io.ReadCloser, error)

// wireList is a LIST whose items are cut by one goroutine, which also goes from
// page to page, and decoded by the reader, or by several where it lags.
type wireList[T Object] struct {
	codec  *codec[T]
	known  Known // nil: no peeking
	group  *worker.Group
	open   opener
	follow bool // on to the next page
	lane   *lane[listed[T]]
	header atomic.Pointer[wire.ListHeader] // of the page whose items come

	begin, end sync.Once

	// These belong to the pump, once it runs.
	options metav1.ListOptions // of the page that is read
	body    io.ReadCloser
	split   *sniffer
	page    *Part[T]      // what the page says of itself, once it came
	ahead   chan nextPage // of a page asked for ahead of need; nil if none was

	items []Item[T] // belongs to the reader
}

// nextPage is the answer to a request ahead of need.
type nextPage struct {
	options metav1.ListOptions
	body    io.ReadCloser
	err     error
}

// newWireList reads body, which came for options, and with follow the pages
// after it. The requests live as long as group.
func newWireList[T Object](c *codec[T], group *worker.Group, first nextPage, open opener) *wireList[T] {
	l := &wireList[T]{codec: c, group: group, open: open, options: first.options, body: first.body}
	l.lane = newLane(group, l.decode)
	l.lane.expect(true)
	return l
}

// pump reads page after page.
func (l *wireList[T]) pump(ctx context.Context) {
	p := &pump[listed[T]]{lane: l.lane, arrived: l.look, peek: l.peekable}
	for more := true; more; {
		more = l.readPage(ctx, p)
	}
	_ = l.body.Close()
	if l.ahead != nil { // not needed after all
		if next := <-l.ahead; next.body != nil {
			_ = next.body.Close()
		}
	}
}

// readPage reads one page, and reports whether another follows.
func (l *wireList[T]) readPage(ctx context.Context, p *pump[listed[T]]) bool {
	l.split, l.page = &sniffer{check: l.codec.checkList}, nil
	err := p.run(ctx, l.body, l.split)
	if err == nil {
		err = l.readHeader()
	}
	if err != nil {
		l.lane.mark(listed[T]{err: err})
		return false
	}
	l.lane.mark(listed[T]{page: l.page})
	if l.page.Continue == "" || !l.follow {
		return false
	}
	_ = l.body.Close()
	if l.ahead == nil {
		l.askAhead()
	}
	next := nextPage{err: context.Canceled}
	if l.ahead != nil {
		next, l.ahead = <-l.ahead, nil
	}
	if next.err != nil {
		l.lane.mark(listed[T]{err: next.err})
		return false
	}
	l.options, l.body = next.options, next.body
	return true
}

// look asks for the next page as soon as this one has named it. It is called
// after each read.
func (l *wireList[T]) look() {
	if l.page != nil || l.split.list == nil || l.split.list.Metadata() == nil {
		return
	}
	if err := l.readHeader(); err != nil {
		return // and will be found at the end again
	}
	if token := l.page.Continue; l.follow && token != "" && token != l.options.Continue {
		l.askAhead()
	}
}

// askAhead asks for the next page.
func (l *wireList[T]) askAhead() {
	options := metav1.ListOptions{Limit: l.options.Limit, Continue: l.page.Continue}
	ahead := make(chan nextPage, 1)
	if l.group.Go("reflector: ask for a page", func(ctx context.Context) {
		body, err := l.open(ctx, options)
		ahead <- nextPage{options, body, err}
	}) {
		l.ahead = ahead
	}
}

// readHeader makes the end of the page of what the page says of itself.
func (l *wireList[T]) readHeader() error {
	var meta metav1.ListMeta
	raw := l.split.list.Metadata()
	err := error(nil)
	switch {
	case isJSON(raw):
		err = kjson.UnmarshalCaseSensitivePreserveInts(raw, &meta)
	case l.split.isProto:
		err = meta.Unmarshal(raw)
	case raw != nil && string(raw) != "null":
		err = ErrMalformed
	}
	if err == nil {
		err = l.codec.checkList(l.split.list.Header())
	}
	if err != nil {
		return asDecodeError("list", err)
	}
	l.page = &Part[T]{EndOfPage: true, ResourceVersion: meta.ResourceVersion, Continue: meta.Continue, Remaining: meta.RemainingItemCount}
	return nil
}

// peekable is asked about each item before it is decoded.
func (l *wireList[T]) peekable([]byte) bool {
	if header := l.split.list.Header(); l.header.Load() == nil || *l.header.Load() != header {
		l.header.Store(&header)
	}
	return l.known != nil
}

// decode makes an item of its bytes.
func (l *wireList[T]) decode(raw rawItem) listed[T] {
	if raw.peek {
		if key, _, ok := l.codec.peek(raw.data, l.known); ok {
			return listed[T]{item: Item[T]{Known: key}}
		}
	}
	var obj T
	var err error
	if raw.proto {
		obj, err = l.codec.fromProto(raw.data)
	} else {
		obj, err = l.codec.fromJSON(raw.data, l.header.Load())
	}
	switch {
	case errors.Is(err, ErrWrongType):
		return listed[T]{item: Item[T]{Skipped: err}}
	case err != nil:
		return listed[T]{err: err}
	}
	return listed[T]{item: Item[T]{Object: obj}}
}

// Next implements ListStream.
func (l *wireList[T]) Next(ctx context.Context) (Part[T], error) {
	l.begin.Do(func() {
		if !l.group.Go("reflector: read list", l.pump) {
			l.lane.mark(listed[T]{err: context.Canceled})
		}
	})
	c, decoded, err := l.lane.take(ctx)
	if err != nil {
		return Part[T]{}, err
	}
	if !decoded {
		for _, raw := range c.raw {
			c.out = append(c.out, l.decode(raw))
		}
	}
	clear(l.items)
	l.items = l.items[:0]
	defer l.lane.reuse(c)
	for _, out := range c.out {
		switch {
		case out.err != nil:
			return Part[T]{}, out.err
		case out.page != nil:
			return *out.page, nil
		}
		l.items = append(l.items, out.item)
	}
	return Part[T]{Items: l.items}, nil
}

// Close implements ListStream.
func (l *wireList[T]) Close() {
	l.end.Do(func() {
		l.group.Stop() // ends the requests
		l.begin.Do(func() { _ = l.body.Close() })
	})
	l.group.Wait()
}
