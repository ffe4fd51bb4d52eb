package informer

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/listwatch/listwatch/reflector"
)

// collection is a versioned set of things that can be listed and watched, and
// misbehave. It remembers every state that it was in.
type collection struct {
	mu        sync.Mutex
	version   int64
	uids      int
	objects   map[string]*thing
	history   []change                    // oldest first
	compacted int64                       // watches from before it are refused
	changed   chan struct{}               // closed by the next change of anything
	cuts      int                         // streams opened before a cut end with an error
	fail      error                       // of every List and Watch
	states    map[int64]map[string]string // by version: key to "uid@resourceVersion"
	lists     int
	requests  int
}

type change struct {
	event watch.EventType
	obj   *thing // for DELETED with the deletion's version
}

func newCollection() *collection {
	c := &collection{version: 1, compacted: 1, objects: map[string]*thing{}, changed: make(chan struct{}), states: map[int64]map[string]string{}}
	c.states[1] = map[string]string{}
	return c
}

// signal wakes everyone who waits. Called with mu held.
func (c *collection) signal() {
	close(c.changed)
	c.changed = make(chan struct{})
}

func (c *collection) write(event watch.EventType, obj *thing) {
	c.version++
	obj.ResourceVersion = strconv.FormatInt(c.version, 10)
	if event == watch.Deleted {
		delete(c.objects, keyOf(obj))
	} else {
		c.objects[keyOf(obj)] = obj
	}
	c.history = append(c.history, change{event: event, obj: obj})
	c.states[c.version] = idents(maps.Values(c.objects))
	c.signal()
}

// set creates or updates key and returns its resourceVersion.
func (c *collection) set(key string) string { return c.edit(key, func(*thing) {}) }

// edit is set with an object that f has changed.
func (c *collection) edit(key string, f func(*thing)) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if old := c.objects[key]; old != nil {
		obj := old.DeepCopy()
		f(obj)
		c.write(watch.Modified, obj)
		return obj.ResourceVersion
	}
	c.uids++
	obj := newThing(key, fmt.Sprint("u", c.uids), 0)
	f(obj)
	c.write(watch.Added, obj)
	return obj.ResourceVersion
}

// remove deletes key, if it is there.
func (c *collection) remove(key string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if old := c.objects[key]; old != nil {
		c.write(watch.Deleted, old.DeepCopy())
	}
}

// rewrite has f write history anew, up to the version that was reached, and breaks
// all streams.
func (c *collection) rewrite(f func(map[string]*thing)) {
	c.mu.Lock()
	f(c.objects)
	c.mu.Unlock()
	c.cut()
}

// cut breaks all streams.
func (c *collection) cut() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cuts++
	c.signal()
}

// compact forgets the history, so that only what follows can be watched.
func (c *collection) compact() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.compacted = c.version
	c.history = nil
}

// refuse makes every request fail with err, and breaks all streams; nil heals.
func (c *collection) refuse(err error) {
	c.mu.Lock()
	c.fail = err
	c.mu.Unlock()
	if err != nil {
		c.cut()
	}
}

func (c *collection) state(version string) map[string]string {
	c.mu.Lock()
	defer c.mu.Unlock()
	v, _ := strconv.ParseInt(version, 10, 64)
	return c.states[v]
}

func (c *collection) newest() (string, map[string]string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return strconv.FormatInt(c.version, 10), c.states[c.version]
}

// List implements reflector.Source: everything, at the newest version.
func (c *collection) List(_ context.Context, _ metav1.ListOptions) (reflector.Page[*thing], error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lists++
	c.requests++
	if c.fail != nil {
		return reflector.Page[*thing]{}, c.fail
	}
	page := reflector.Page[*thing]{ResourceVersion: strconv.FormatInt(c.version, 10)}
	for _, key := range slices.Sorted(maps.Keys(c.objects)) {
		page.Items = append(page.Items, c.objects[key].DeepCopy())
	}
	return page, nil
}

// Watch implements reflector.Source, watch-lists included.
func (c *collection) Watch(_ context.Context, options metav1.ListOptions) (reflector.Stream[*thing], error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.requests++
	if c.fail != nil {
		return nil, c.fail
	}
	s := &stream{from: c, cuts: c.cuts}
	if options.SendInitialEvents != nil && *options.SendInitialEvents {
		c.lists++
		for _, key := range slices.Sorted(maps.Keys(c.objects)) {
			s.initial = append(s.initial, event(watch.Added, c.objects[key].DeepCopy()))
		}
		s.at = c.version
		s.initial = append(s.initial, reflector.Event[*thing]{
			Type: watch.Bookmark, ResourceVersion: strconv.FormatInt(c.version, 10), InitialEventsEnd: true,
		})
		return s, nil
	}
	s.at, _ = strconv.ParseInt(options.ResourceVersion, 10, 64)
	if s.at < c.compacted {
		return nil, apierrors.NewResourceExpired(fmt.Sprintf("too old resource version: %d (%d)", s.at, c.compacted))
	}
	return s, nil
}

func event(kind watch.EventType, obj *thing) reflector.Event[*thing] {
	return reflector.Event[*thing]{Type: kind, Object: obj, ResourceVersion: obj.ResourceVersion}
}

// stream is a watch from version at on.
type stream struct {
	from    *collection
	cuts    int
	initial []reflector.Event[*thing]
	at      int64
}

// Next implements reflector.Stream.
func (s *stream) Next(ctx context.Context) (reflector.Event[*thing], error) {
	for {
		event, changed, err := s.poll()
		if changed == nil {
			return event, err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return reflector.Event[*thing]{}, ctx.Err()
		}
	}
}

// poll returns the next event, or a channel that says when to look again.
func (s *stream) poll() (reflector.Event[*thing], <-chan struct{}, error) {
	c := s.from
	c.mu.Lock()
	defer c.mu.Unlock()
	if s.cuts != c.cuts {
		return reflector.Event[*thing]{}, nil, io.ErrUnexpectedEOF
	}
	if len(s.initial) > 0 {
		next := s.initial[0]
		s.initial = s.initial[1:]
		return next, nil, nil
	}
	if s.at < c.compacted && s.at < c.version {
		return reflector.Event[*thing]{}, nil, apierrors.NewResourceExpired("too old resource version")
	}
	// Versions are consecutive, so that the place in the history is known.
	if k := int(s.at - (c.version - int64(len(c.history)))); k < len(c.history) {
		s.at++
		return event(c.history[k].event, c.history[k].obj.DeepCopy()), nil, nil
	}
	return reflector.Event[*thing]{}, c.changed, nil
}

// Close implements reflector.Stream.
func (s *stream) Close() {}

// idents tells objects apart: key to "uid@resourceVersion".
func idents(objects func(func(*thing) bool)) map[string]string {
	out := map[string]string{}
	for obj := range objects {
		out[keyOf(obj)] = fmt.Sprintf("%s@%s", obj.UID, obj.ResourceVersion)
	}
	return out
}

// forbidden is what a server says to a user who may not list.
var forbidden = &apierrors.StatusError{ErrStatus: metav1.Status{
	Status: metav1.StatusFailure, Code: 403, Reason: metav1.StatusReasonForbidden,
	Message: `things is forbidden: User "alice" cannot list resource "things" in API group "" at the cluster scope`,
}}
