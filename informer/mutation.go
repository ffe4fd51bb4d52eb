package informer

import (
	"fmt"
	"os"
	"strings"
)

// detectMutationsVariable is the environment variable that turns the detector on
// in all Informers, for tests: Options.DetectMutations tells more.
const detectMutationsVariable = "LISTWATCH_DETECT_MUTATIONS"

// Mutation is a change that somebody made to an object of the cache, which is
// shared and must not be changed. It is an error.
type Mutation struct {
	// Informer is its name, Key and ResourceVersion are those of the object.
	Informer        string
	Key             string
	ResourceVersion string
	// Fields are the paths of what differs from the object as it was cached, such
	// as "spec.nodeName" or "metadata.labels[app]", sorted; at most eight. There
	// are no values, which may be secret.
	Fields []string
	// Handlers are the suspects: name and site of each handler in a call for the
	// object when it was found changed, the one whose call was checked first.
	// None: it was a reader of the Snapshot, or something that goes on after a
	// handler has returned.
	Handlers []string
	// Found says when: "after a call", "before a call", "on leaving the cache",
	// "at a regular check", "at the end of Run".
	Found string
}

// Error names the object, the fields and the suspects.
func (m *Mutation) Error() string {
	by := "by a reader of the snapshot, or by something that goes on after a handler returned"
	if len(m.Handlers) > 0 {
		by = "by handler " + strings.Join(m.Handlers, ", or handler ")
	}
	return fmt.Sprintf("informer %q: cached object %s (resourceVersion %q) was modified in %s %s (found %s): "+
		"objects of the cache are shared, copy them before changing them",
		m.Informer, m.Key, m.ResourceVersion, strings.Join(m.Fields, ", "), by, m.Found)
}

// newDetector returns the detector that options ask for, nil if they do not.
func newDetector[T Object](options *Options[T]) *detector[T] {
	if !options.DetectMutations && os.Getenv(detectMutationsVariable) != "1" {
		return nil
	}
	report := options.OnMutation
	if report == nil {
		report = func(m *Mutation) { panic(m) }
	}
	return &detector[T]{informer: options.Name, report: report, guards: map[uintptr]*guard[T]{}}
}

// guarded is a Handler that has the objects of each call checked.
type guarded[T Object] struct {
	handler  Handler[T]
	detector *detector[T]
	reg      *Registration
}

// guard returns h, or what checks its calls.
func (i *Informer[T]) guard(h Handler[T], reg *Registration) Handler[T] {
	if i.detector == nil {
		return h
	}
	return guarded[T]{handler: h, detector: i.detector, reg: reg}
}

// OnAdd implements Handler.
func (g guarded[T]) OnAdd(obj T, initial bool) {
	g.detector.enter(g.reg, obj)
	g.handler.OnAdd(obj, initial)
	g.detector.leave(g.reg, obj)
}

// OnUpdate implements Handler.
func (g guarded[T]) OnUpdate(old, obj T) {
	g.detector.enter(g.reg, old)
	g.detector.enter(g.reg, obj)
	g.handler.OnUpdate(old, obj)
	g.detector.leave(g.reg, obj)
	g.detector.leave(g.reg, old)
}

// OnDelete implements Handler.
func (g guarded[T]) OnDelete(deleted Deleted[T]) {
	g.detector.enter(g.reg, deleted.Last)
	g.handler.OnDelete(deleted)
	g.detector.leave(g.reg, deleted.Last)
}
