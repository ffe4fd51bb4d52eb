package reflector

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/klog/v2"
)

// driver performs the effects of one run. All of it belongs to the goroutine
// that is in Run.
type driver[T Object] struct {
	*Reflector[T]
	ctx    context.Context
	log    klog.Logger
	stream *openStream[T] // nil while none is open
	items  []T            // of the page that arrived last
	event  Event[T]       // that arrived last
	held   []Event[T]     // kept back until the replacement ends
}

// run turns the machine: an input gives effects, and the last of them the next
// input.
func (r *Reflector[T]) run(ctx context.Context) error {
	d := &driver[T]{Reflector: r, ctx: ctx, log: klog.FromContext(ctx).WithValues("reflector", r.options.Name)}
	defer d.close() // where a Sink panics
	d.log.V(3).Info("Starting reflector")
	defer d.log.V(3).Info("Stopped reflector")
	for in := (input{kind: inputStart}); ; {
		in.at, in.random = time.Now(), rand.Float64()
		next, effects := r.machine.step(r.state, in)
		for _, e := range effects {
			d.perform(e)
		}
		d.report(r.state, next, in) // after the Sink was told, before waiting
		r.state = next
		if next.phase == Stopped {
			return ctx.Err()
		}
		in = d.ask(effects[len(effects)-1])
	}
}

// ask does the effect that brings the next input.
func (d *driver[T]) ask(e effect) input {
	if d.ctx.Err() != nil { // a source that never waits must not outrun the stop
		return input{kind: inputStop}
	}
	switch e.kind {
	case effectList:
		return d.list(e)
	case effectOpen:
		return d.open(e)
	case effectNext:
		return d.next()
	default:
		return d.wait(e.delay)
	}
}

// perform does the other effects.
func (d *driver[T]) perform(e effect) {
	switch e.kind {
	case effectClose:
		d.close()
	case effectRewound:
		d.log.Info("Server's history went back: the collection is replaced by an older one")
		d.tracker.update(func(s *Status) { s.Rewinds++ })
	case effectDeliver:
		d.deliver(d.event)
	default:
		d.replace(e)
	}
}

// replace does the effects around a replacement.
func (d *driver[T]) replace(e effect) {
	switch e.kind {
	case effectBegin:
		d.sink.BeginReplace(string(e.reason))
	case effectItems:
		for _, item := range d.items {
			d.sink.ReplaceItem(item)
		}
		d.items = nil
	case effectItem:
		d.sink.ReplaceItem(d.event.Object)
	case effectHold:
		d.held = append(d.held, d.event)
	case effectEnd:
		d.sink.EndReplace(e.resourceVersion)
		d.ended(e)
	case effectRelease:
		for _, event := range d.held {
			d.deliver(event)
		}
		d.held = nil
	case effectAbort:
		d.sink.AbortReplace()
		d.held = nil
	case effectBookmark:
		d.sink.Bookmark(e.resourceVersion)
	}
}

// deliver hands an event of an object to the Sink.
func (d *driver[T]) deliver(event Event[T]) {
	switch event.Type {
	case watch.Added:
		d.sink.Add(event.Object)
	case watch.Modified:
		d.sink.Update(event.Object)
	case watch.Deleted:
		d.sink.Delete(event.Object)
	}
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
	if e.token == "" {
		d.log.V(3).Info("Listing", "resourceVersion", e.resourceVersion, "limit", e.limit, "reason", e.reason)
	}
	ctx, cancel := context.WithTimeoutCause(d.ctx, d.options.ListTimeout, ErrListOverdue)
	defer cancel()
	page, err := d.source.List(ctx, options)
	switch {
	case d.ctx.Err() != nil:
		return input{kind: inputStop}
	case err != nil && ctx.Err() != nil:
		err = fmt.Errorf("%w (%v): %w", context.Cause(ctx), d.options.ListTimeout, err)
	case err == nil && page.Continue != "" && page.Continue == e.token:
		err = &DecodeError{Subject: "list", Err: ErrRepeatedContinue}
	}
	if err != nil {
		return input{kind: inputFailed, failure: classify(fmt.Errorf("list: %w", err))}
	}
	d.items = page.Items
	return input{kind: inputPage, page: pageInput{resourceVersion: page.ResourceVersion, continueToken: page.Continue}}
}

// wait waits for delay, or for Run's context.
func (d *driver[T]) wait(delay time.Duration) input {
	timer := time.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-timer.C:
		return input{kind: inputElapsed}
	case <-d.ctx.Done():
		return input{kind: inputStop}
	}
}

// failed is the input that err makes. An end of Run's context is none of a
// stream's failures.
func (d *driver[T]) failed(err error) input {
	if d.ctx.Err() != nil {
		return input{kind: inputStop}
	}
	if errors.Is(err, errOrderlyEnd) {
		return input{kind: inputFailed, failure: failure{class: classEnded, err: err}}
	}
	return input{kind: inputFailed, failure: classify(fmt.Errorf("watch: %w", err))}
}
