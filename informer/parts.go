package informer

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/listwatch/listwatch/deltafifo"
	"github.com/listwatch/listwatch/internal/worker"
	"github.com/listwatch/listwatch/reflector"
)

// part is where a collection, or a part of it, comes from: a reflector, which
// may be one of another type, and the sink that it writes to.
type part[T Object] struct {
	name       string // "" where there is only one
	reflector  feeder
	sink       inlet[T]
	collection reflector.Collection // as far as it is known
}

// feeder is a *reflector.Reflector of any type.
type feeder interface {
	Run(ctx context.Context) error
	Status() reflector.Status
	Relist()
}

// inlet is a sink of any type.
type inlet[T Object] interface {
	attach(queue *deltafifo.Queue[T], pushed func())
	trouble() *failures
	suspect(resourceVersion string)
}

// newPart makes a part of i, which may have a name of its own.
func newPart[S, T Object](i *Informer[T], name string, source reflector.Source[S], transform func(S) (T, error), options Options[T]) (*part[T], error) {
	if source == nil {
		return nil, fmt.Errorf("informer %q: %w: no source", i.name, ErrInvalidOptions)
	}
	if name != "" {
		options.Reflector.Name += "/" + name
	}
	options.Reflector.Observer = i.news.observer(options.Reflector.Observer)
	s := &sink[S, T]{transform: transform, cached: i.Snapshot}
	r, err := reflector.New(source, s, options.Reflector)
	if err != nil {
		return nil, fmt.Errorf("informer %q: %w", i.name, err)
	}
	s.rewinds = func() int64 { return r.Status().Rewinds }
	p := &part[T]{name: name, reflector: r, sink: s, collection: reflector.Describe(source)}
	if p.collection == (reflector.Collection{}) {
		p.collection = options.Collection
	}
	s.spread = func(resourceVersion string) { i.rewound(p, resourceVersion) }
	return p, nil
}

// rewound has the other parts fetched again because one was told that the server's
// history went back to resourceVersion. A quiet one may never see that by itself: the
// server may have passed its last version again.
func (i *Informer[T]) rewound(by *part[T], resourceVersion string) {
	for _, p := range i.parts {
		if p != by {
			p.sink.suspect(resourceVersion)
			p.reflector.Relist()
		}
	}
}

// receive runs the reflectors, each in a goroutine, until ctx ends or one of them
// gives up.
func (i *Informer[T]) receive(ctx context.Context, r *run[T]) error {
	group := worker.New(ctx)
	failed := make(chan error, len(i.parts))
	for _, p := range i.parts {
		group.Go("informer: "+p.reflector.Status().Name, func(inner context.Context) {
			defer group.Stop()
			defer r.noteExit(inner)
			if err := p.reflector.Run(inner); err != nil && inner.Err() == nil {
				failed <- err
			}
		})
	}
	group.Wait()
	group.Stop()
	select {
	case err := <-failed:
		return err
	default:
		return ctx.Err()
	}
}

// waiting are the queues of the current run, none outside of one.
func (i *Informer[T]) waiting() []*deltafifo.Queue[T] {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.run == nil {
		return nil
	}
	return i.run.queues // does not change
}

// partStatus tells what the parts are at.
func (i *Informer[T]) partStatus() []PartStatus {
	parts := make([]PartStatus, 0, len(i.parts))
	for _, p := range i.parts {
		parts = append(parts, PartStatus{Name: p.name, Collection: p.collection, Reflector: p.reflector.Status()})
	}
	return parts
}

// transformStatus adds up what the parts report.
func (i *Informer[T]) transformStatus() TransformStatus {
	var s TransformStatus
	for _, p := range i.parts {
		failures, standing, objects := p.sink.trouble().list(maxListed)
		s.Failures += failures
		s.Standing += standing
		s.Objects = append(s.Objects, objects...)
		s.Anonymous += p.sink.trouble().anonymous.Load()
		s.Dropped += p.sink.trouble().dropped.Load()
	}
	slices.SortStableFunc(s.Objects, func(a, b ObjectError) int { return cmp.Compare(a.Key, b.Key) })
	s.Objects = s.Objects[:min(maxListed, len(s.Objects))]
	return s
}
