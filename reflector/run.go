package reflector

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/klog/v2"
)

// driver performs the effects of one run. All of it belongs to the goroutine
// that is in Run.
type driver[T Object] struct {
	*Reflector[T]
	ctx       context.Context
	log       klog.Logger
	stream    *openStream[T] // nil while none is open
	listing   *openList[T]   // nil while no LIST in parts is under way
	token     string         // that asked for the page under way
	items     []T            // of the page that arrived last
	part      []Item[T]      // that arrived last
	event     Event[T]       // that arrived last
	held      []Event[T]     // kept back until the replacement ends
	taken     int            // objects received for the replacement under way
	replacing bool           // the Sink's bracket is open
	foreign   error          // why the last one of others was left out; nil if none was
	missing   int            // failures in a row, up to the last, that were a 404
}

// run turns the machine: an input gives effects, and the last of them the next
// input.
func (r *Reflector[T]) run(ctx context.Context) error {
	d := &driver[T]{Reflector: r, ctx: ctx, log: klog.FromContext(ctx).WithValues("reflector", r.options.Name)}
	defer d.abandon()
	d.log.V(3).Info("Starting reflector")
	defer d.log.V(3).Info("Stopped reflector")
	for in := (input{kind: inputStart}); ; {
		in.at, in.random = time.Now(), rand.Float64()
		if in.kind == inputFailed {
			in.failure.absent = d.absent(in.failure)
		}
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

// abandon ends what is open and not stopped, where a Source or Sink panicked, or
// ended the goroutine (runtime.Goexit): another Run is to find nothing half done.
func (d *driver[T]) abandon() {
	d.closeList()
	d.close()
	if d.state.phase == Stopped {
		return
	}
	if d.replacing {
		d.sink.AbortReplace()
	}
	d.state, _ = d.machine.step(d.state, input{kind: inputStop})
	d.tracker.update(func(s *Status) { s.Phase, s.Since, s.NextRetry = Stopped, time.Now(), time.Time{} })
}

// ask does the effect that brings the next input.
func (d *driver[T]) ask(e effect) input {
	if in, yes := d.interrupted(); yes { // a source that never waits must not outrun it
		return in
	}
	switch {
	case e.kind == effectList:
		return d.list(e)
	case e.kind == effectOpen:
		return d.open(e)
	case e.kind == effectNext && d.listing != nil:
		return d.nextPart()
	case e.kind == effectNext:
		return d.follow()
	case e.kind == effectAwait:
		return d.await(e)
	default:
		return d.wait(e.delay)
	}
}

// interrupted reports whether there is an input already, whatever is asked for.
func (d *driver[T]) interrupted() (in input, yes bool) {
	if d.ctx.Err() != nil {
		return input{kind: inputStop}, true
	}
	if d.mayBeForced() && d.forcing.take() {
		return input{kind: inputForced}, true
	}
	return in, false
}

// follow reads the stream. While watching it does by itself what step, perform and
// report would do with the events of objects, which are too many for more, up to
// another input.
func (d *driver[T]) follow() input {
	for {
		in := d.next()
		if d.state.phase != Watching || in.kind != inputEvent || in.event.eventType == watch.Bookmark {
			return in
		}
		in.at = time.Now()
		d.deliver(&d.event)
		d.state.objectEvent(in.event)
		d.reportEvent(&d.state, &in)
		if d.stream.ctx.Err() != nil { // which every interruption ends
			if in, yes := d.interrupted(); yes {
				return in
			}
		}
	}
}

// perform does the other effects.
func (d *driver[T]) perform(e effect) {
	switch e.kind {
	case effectClose:
		d.close()
	case effectProbe:
		d.stream.probe = d.probe(e)
	case effectRewound:
		d.log.Info("Server's history went back: the collection is replaced by what it has now")
		d.tracker.update(func(s *Status) { s.Rewinds++ })
	case effectDeliver:
		d.deliver(&d.event)
	default:
		d.replace(e)
	}
}

// replace does the effects around a replacement.
func (d *driver[T]) replace(e effect) {
	switch e.kind {
	case effectBegin:
		d.replacing = true
		d.sink.BeginReplace(string(e.reason))
	case effectItems:
		d.replaceItems()
	case effectItem:
		d.replaceItem(d.event.Object, d.event.Known)
	case effectHold:
		d.held = append(d.held, d.event)
	case effectEnd:
		d.replacing = false
		d.sink.EndReplace(e.resourceVersion)
		d.ended(e)
	case effectRelease:
		for k := range d.held {
			d.deliver(&d.held[k])
		}
		d.held = nil
	case effectAbort:
		d.closeList() // which may be asking what is known
		d.replacing = false
		d.sink.AbortReplace()
		d.held = nil
	case effectBookmark:
		d.sink.Bookmark(e.resourceVersion)
	}
}

// deliver hands an event of an object to the Sink.
func (d *driver[T]) deliver(event *Event[T]) {
	switch event.Type {
	case watch.Added:
		d.sink.Add(event.Object)
	case watch.Modified:
		d.sink.Update(event.Object)
	case watch.Deleted:
		d.sink.Delete(event.Object)
	}
}

// wait waits for delay, for the wish for a relist, or for Run's context.
func (d *driver[T]) wait(delay time.Duration) input {
	ctx, cancel := context.WithCancelCause(d.ctx)
	defer cancel(nil)
	d.forcing.arm(cancel)
	defer d.forcing.arm(nil)
	timer := time.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-timer.C:
		return input{kind: inputElapsed}
	case <-ctx.Done():
		return d.failed(context.Cause(ctx))
	}
}

// failed is the input that err makes. An end of Run's context is none of a
// stream's failures.
func (d *driver[T]) failed(err error) input {
	if d.ctx.Err() != nil {
		return input{kind: inputStop}
	}
	if err == errForced {
		d.forcing.take()
		return input{kind: inputForced}
	}
	if errors.Is(err, errOrderlyEnd) {
		return input{kind: inputFailed, failure: failure{class: classEnded, err: err}}
	}
	return input{kind: inputFailed, failure: classify(fmt.Errorf("watch: %w", err))}
}
