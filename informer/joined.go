package informer

import (
	"fmt"

	"github.com/listwatch/listwatch/reflector"
)

// Part is one of several sources that together make a collection: one namespace,
// or one selector.
type Part[T Object] struct {
	// Name tells the part from the others in Status and log lines. Parts must
	// have different ones, and none must be empty.
	Name string
	// Source lists and watches it.
	Source reflector.Source[T]
}

// Namespaces makes a Part of each namespace, in order; source makes the Source
// for one.
func Namespaces[T Object](namespaces []string, source func(namespace string) reflector.Source[T]) []Part[T] {
	parts := make([]Part[T], 0, len(namespaces))
	for _, namespace := range namespaces {
		parts = append(parts, Part[T]{Name: namespace, Source: source(namespace)})
	}
	return parts
}

// NewJoined makes one Informer of several parts of a resource, such as several
// namespaces or selectors. Each part is listed and watched by a reflector of its
// own, with a resourceVersion of its own to resume from.
//
// An object is cached while any part has it; parts may overlap. If they know
// different versions the newest counts, so that an object which moves from one
// part to another is updated where the cache hears of both at about the same
// time; otherwise it is deleted, then added. What has ended does not come back by a
// part that lags behind. A relist of one part concerns the objects of that part only.
//
// The Informer is in sync when all parts have listed; objects of those that have
// are cached and told before that. The resourceVersion of its snapshots is the
// oldest of the parts', so that after WaitFor a write to any of them can be
// read; single objects may be newer. A quiet part moves on with bookmarks only,
// about one a minute, and so does WaitFor: an Overlay does not wait.
//
// Options.MaxPending and Options.Reflector apply to each part; calls of
// Options.Transform and Reflector.Observer for different parts may come at the
// same time. The resourceVersions must be comparable, as those of API servers
// are; where they are not, the snapshots have none.
//
// Errors are those of New, and ErrInvalidOptions if there are no parts, or one
// lacks a name of its own.
func NewJoined[T Object](parts []Part[T], options Options[T]) (*Informer[T], error) {
	return newJoined(parts, options.Transform, options)
}

// newJoined is NewJoined of parts whose objects go through transform; without it S
// has to be T.
func newJoined[S, T Object](parts []Part[S], transform func(S) (T, error), options Options[T]) (*Informer[T], error) {
	i, err := newCache(&options)
	if err != nil {
		return nil, err
	}
	if options.NewUIDUpdates {
		return nil, fmt.Errorf("informer %q: %w: NewUIDUpdates of a joined informer", i.name, ErrInvalidOptions)
	}
	if len(parts) == 0 {
		return nil, fmt.Errorf("informer %q: %w: no parts", i.name, ErrInvalidOptions)
	}
	names := map[string]bool{"": true}
	for k, from := range parts {
		if names[from.Name] {
			return nil, fmt.Errorf("informer %q: %w: part %d has no name of its own, but %q", i.name, ErrInvalidOptions, k, from.Name)
		}
		names[from.Name] = true
		p, err := newPart(i, from.Name, from.Source, transform, options)
		if err != nil {
			return nil, err
		}
		i.parts = append(i.parts, p)
	}
	i.union = newUnion[T](len(parts))
	return i, nil
}

// collection is what the parts read, as far as they have it in common.
func (i *Informer[T]) collection() reflector.Collection {
	c := i.parts[0].collection
	for _, p := range i.parts[1:] {
		for _, field := range []struct{ all, one *string }{
			{&c.Group, &p.collection.Group}, {&c.Version, &p.collection.Version}, {&c.Resource, &p.collection.Resource},
			{&c.Namespace, &p.collection.Namespace},
			{&c.LabelSelector, &p.collection.LabelSelector}, {&c.FieldSelector, &p.collection.FieldSelector},
		} {
			if *field.all != *field.one {
				*field.all = ""
			}
		}
	}
	return c
}

// worst returns the status of the part that most needs to be looked at.
func worst(parts []PartStatus) reflector.Status {
	worst := parts[0].Reflector
	for _, p := range parts[1:] {
		switch r := p.Reflector; {
		case r.Synced != worst.Synced:
			if worst.Synced {
				worst = r
			}
		case r.Tries > worst.Tries:
			worst = r
		}
	}
	return worst
}
