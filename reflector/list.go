package reflector

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// openList is a LIST in parts, with the timer that bounds each page.
type openList[T Object] struct {
	stream  ListStream[T]
	ctx     context.Context
	cancel  context.CancelCauseFunc
	overdue *time.Timer
}

// list asks for a page.
func (d *driver[T]) list(e effect) input {
	d.tracker.update(func(s *Status) {
		s.Pages++
		if e.token == "" {
			s.Lists++
		}
	})
	options := metav1.ListOptions{ResourceVersion: e.resourceVersion, Limit: e.limit, Continue: e.token}
	if e.notOlderThan {
		options.ResourceVersionMatch = metav1.ResourceVersionMatchNotOlderThan
	}
	d.token = e.token
	if e.token == "" {
		d.taken, d.foreign = 0, nil
		d.log.V(3).Info("Listing", "resourceVersion", e.resourceVersion, "limit", e.limit, "reason", e.reason)
	}
	switch {
	case d.listing != nil: // which goes on by itself
		d.listing.overdue.Reset(d.options.ListTimeout)
		return d.nextPart()
	case d.streaming != nil:
		return d.openList(options)
	default:
		return d.listPage(options)
	}
}

// listPage gets a page from a Source that gives whole ones.
func (d *driver[T]) listPage(options metav1.ListOptions) input {
	ctx, cancel := context.WithTimeoutCause(d.ctx, d.options.ListTimeout, ErrListOverdue)
	defer cancel()
	page, err := d.source.List(ctx, options)
	if err != nil {
		return d.listFailed(ctx, err)
	}
	d.items = page.Items
	d.taken += len(page.Items)
	for _, err := range page.Skipped {
		d.skipped(err)
	}
	return d.endOfPage(page.ResourceVersion, page.Continue)
}

// openList begins a LIST in parts.
func (d *driver[T]) openList(options metav1.ListOptions) input {
	l := &openList[T]{}
	l.ctx, l.cancel = context.WithCancelCause(d.ctx)
	l.overdue = time.AfterFunc(d.options.ListTimeout, func() { l.cancel(ErrListOverdue) })
	d.listing = l
	stream, err := d.streaming.ListStream(l.ctx, options, d.known())
	if err != nil {
		return d.listFailed(l.ctx, err)
	}
	l.stream = stream
	return input{kind: inputOpened}
}

// nextPart reads the LIST.
func (d *driver[T]) nextPart() input {
	l := d.listing
	part, err := l.stream.Next(l.ctx)
	if err != nil {
		return d.listFailed(l.ctx, err)
	}
	d.part = part.Items
	for i := range part.Items {
		if err := part.Items[i].Skipped; err != nil {
			d.skipped(err)
		} else {
			d.taken++
		}
	}
	if !part.EndOfPage {
		return input{kind: inputPart}
	}
	if part.Continue == "" {
		d.closeList()
	}
	return d.endOfPage(part.ResourceVersion, part.Continue)
}

// endOfPage is the input of a page that was read.
func (d *driver[T]) endOfPage(resourceVersion, token string) input {
	switch {
	case d.ctx.Err() != nil:
		return input{kind: inputStop}
	case token != "" && token == d.token:
		return d.listFailed(d.ctx, &DecodeError{Subject: "list", Err: ErrRepeatedContinue})
	}
	if token == "" && d.onlyForeign() {
		return d.listFailed(d.ctx, d.foreign)
	}
	return input{kind: inputPage, page: pageInput{resourceVersion: resourceVersion, continueToken: token}}
}

// listFailed ends a LIST, whose context was ctx, for err.
func (d *driver[T]) listFailed(ctx context.Context, err error) input {
	if ctx.Err() != nil { // now: closing ends it as well
		err = fmt.Errorf("%w (%v): %w", context.Cause(ctx), d.options.ListTimeout, err)
	}
	d.closeList()
	if d.ctx.Err() != nil {
		return input{kind: inputStop}
	}
	return input{kind: inputFailed, failure: classify(fmt.Errorf("list: %w", err))}
}

// onlyForeign reports whether nothing in the replacement is a T: then it is not
// taken for an empty collection.
func (d *driver[T]) onlyForeign() bool { return d.taken == 0 && d.foreign != nil }

// closeList ends the LIST in parts, if there is one. Items that were read stay
// good.
func (d *driver[T]) closeList() {
	if d.listing == nil {
		return
	}
	l := d.listing
	d.listing = nil
	l.overdue.Stop()
	l.cancel(nil)
	if l.stream != nil {
		l.stream.Close()
	}
}

// replaceItems hands over what the LIST gave last, and lets go of it item by
// item: where the sink knows an object, its new copy is garbage at once.
func (d *driver[T]) replaceItems() {
	for i := range d.items {
		d.replaceItem(d.items[i], "")
		var none T
		d.items[i] = none
	}
	for i := range d.part {
		if d.part[i].Skipped == nil {
			d.replaceItem(d.part[i].Object, d.part[i].Known)
		}
		d.part[i] = Item[T]{}
	}
	d.items, d.part = nil, nil
}
