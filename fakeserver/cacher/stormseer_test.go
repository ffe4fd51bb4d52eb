package cacher

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/watch"
)

// seer watches as clients do in a storm: it is slow, cut, resumes where it was,
// and starts anew when that is too long ago.
//
// bubble: made by storm.blow only
type seer struct {
	storm     *storm
	random    *rand.Rand
	selection selection
	lazy      bool // sleeps often
	stretches []*stretch
}

// stretch is what was seen without a gap, over any number of watches.
type stretch struct {
	from, to uint64
	state    []string // at from; nil if it was not asked for
	events   []string // after from, up to to
	log      []string // how it came about
}

func newSeer(s *storm, random *rand.Rand) *seer {
	return &seer{storm: s, random: random, selection: someSelection(random), lazy: random.IntN(3) == 0}
}

func (e *seer) predicate() Predicate {
	p := Predicate{Scope: e.selection.scope}
	if x := e.selection.label; x != "" {
		p.Labels = labels.SelectorFromSet(labels.Set{"x": x})
	}
	if x := e.selection.field; x != "" {
		p.Fields = fields.OneTermEqualSelector("x", x)
	}
	return p
}

// run watches until it has seen the last revision.
func (e *seer) run() {
	var current *stretch
	var last time.Time // when writing ended
	for current == nil || !e.done(current) {
		if e.storm.final.Load() > 0 && last.IsZero() {
			last = time.Now()
		}
		if !last.IsZero() && time.Since(last) > stormPatience {
			e.storm.fail("%v never saw the end; %+v", e.selection, current)
			return
		}
		if current == nil {
			current = e.begin()
		} else {
			current = e.resume(current)
		}
		e.sleep(time.Second)
	}
}

// done says whether nothing more is to come.
func (e *seer) done(current *stretch) bool {
	final := e.storm.final.Load()
	return final > 0 && current.to >= final
}

// sleep pauses at random.
func (e *seer) sleep(most time.Duration) { time.Sleep(time.Duration(e.random.Int64N(int64(most)))) }

// begin starts a stretch: with a list, with initial events, or with nothing
// known. It returns nil if that did not succeed.
func (e *seer) begin() *stretch {
	switch e.random.IntN(4) {
	case 0:
		return e.list()
	case 1:
		return e.live()
	default:
		return e.initial()
	}
}

// keep notes a stretch for the comparison.
func (e *seer) keep(s *stretch) *stretch {
	e.stretches = append(e.stretches, s)
	return s
}

// live starts a stretch at the store's revision: nothing is known of what was
// before.
func (e *seer) live() *stretch {
	before, err := e.storm.cacher.storeRevision(e.storm.ctx)
	if err != nil {
		e.storm.fail("%v", err)
		return nil
	}
	w, err := e.storm.cacher.Watch(e.storm.ctx, WatchOptions{Predicate: e.predicate(), SendInitialEvents: ptr(false), AllowBookmarks: true})
	if err != nil {
		e.expectStatus("watch", err, 429)
		return nil
	}
	defer w.Stop()
	s := &stretch{from: w.start, to: w.start, log: []string{fmt.Sprintf("live from %d", w.start)}}
	if s.from > 0 && s.from < before {
		e.storm.fail("live from %d, which is before %d", s.from, before)
	}
	if s.from == 0 {
		return nil // closed: the cache is being filled
	}
	return e.follow(w, e.keep(s))
}

func (e *seer) list() *stretch {
	opts := ListOptions{Predicate: e.predicate(), ResourceVersion: []string{"", "0"}[e.random.IntN(2)]}
	result, err := e.storm.cacher.List(e.storm.ctx, opts)
	if err != nil {
		e.expectStatus("list", err, 429, 500, 504)
		return nil
	}
	s := &stretch{from: result.ResourceVersion, to: result.ResourceVersion, state: []string{}}
	for _, item := range result.Items {
		s.state = append(s.state, e.describe(item, item.ResourceVersion))
	}
	s.log = append(s.log, fmt.Sprintf("list %q at %d", opts.ResourceVersion, s.from))
	return e.keep(s)
}

// describe writes an item, and fails if the object says something else.
func (e *seer) describe(item *Item, rv uint64) string {
	obj := item.Object.(*metav1.PartialObjectMetadata)
	if obj.ResourceVersion != strconv.FormatUint(rv, 10) || joinKey(obj.Namespace, obj.Name) != item.Key {
		e.storm.fail("%s@%d is %s/%s@%s", item.Key, rv, obj.Namespace, obj.Name, obj.ResourceVersion)
	}
	return fmt.Sprintf("%s@%d x=%s", item.Key, rv, obj.Labels["x"])
}

// expectStatus fails if an error is not one of those that clients expect.
func (e *seer) expectStatus(what string, err error, codes ...int32) {
	for _, code := range codes {
		if status(err).ErrStatus.Code == code {
			return
		}
	}
	e.storm.fail("%s: %v", what, err)
}

// initial starts a stretch with a watch that sends initial events.
func (e *seer) initial() *stretch {
	opts := WatchOptions{
		Predicate: e.predicate(), SendInitialEvents: ptr(true), AllowBookmarks: true,
		ResourceVersion: []string{"", "0"}[e.random.IntN(2)],
	}
	w, err := e.storm.cacher.Watch(e.storm.ctx, opts)
	if err != nil {
		e.expectStatus("watch", err, 429, 504)
		return nil
	}
	defer w.Stop()
	s := &stretch{state: []string{}, log: []string{fmt.Sprintf("initial events of %q", opts.ResourceVersion)}}
	for {
		event, err := e.next(w)
		if err != nil {
			if !errors.Is(err, io.EOF) && !errors.Is(err, context.DeadlineExceeded) {
				e.expectStatus("initial events", err, 410, 504)
			}
			return nil // cut in the middle: of no use
		}
		if event.InitialEventsEnd {
			s.from, s.to = event.ResourceVersion, event.ResourceVersion
			s.log = append(s.log, fmt.Sprintf("to %d", s.to))
			e.keep(s)
			return e.follow(w, s)
		}
		if event.Type != watch.Added {
			e.storm.fail("%s among the initial events", show(event))
			return nil
		}
		s.state = append(s.state, e.describe(event.Item, event.ResourceVersion))
		if e.random.IntN(200) == 0 {
			return nil
		}
	}
}

// next takes an event, sometimes late.
func (e *seer) next(w *Watcher) (Event, error) {
	if e.lazy && e.random.IntN(4) == 0 {
		e.sleep(4 * time.Second)
	} else if e.random.IntN(60) == 0 {
		e.sleep(20 * time.Second)
	}
	ctx, cancel := context.WithTimeout(e.storm.ctx, 7*time.Second)
	defer cancel()
	return w.Next(ctx)
}

// resume goes on where a stretch ended. It returns nil if that is too old.
func (e *seer) resume(s *stretch) *stretch {
	opts := WatchOptions{
		Predicate: e.predicate(), ResourceVersion: strconv.FormatUint(s.to, 10),
		AllowBookmarks: e.random.IntN(5) > 0 || e.storm.final.Load() > 0,
	}
	if e.random.IntN(2) == 0 {
		opts.SendInitialEvents = ptr(false)
	}
	w, err := e.storm.cacher.Watch(e.storm.ctx, opts)
	if err != nil {
		e.expectStatus("watch", err, 429)
		return s
	}
	defer w.Stop()
	s.log = append(s.log, fmt.Sprintf("resume %d", s.to))
	return e.follow(w, s)
}

// follow adds what a watch delivers to a stretch. It returns nil if the client
// has to begin anew.
func (e *seer) follow(w *Watcher, s *stretch) *stretch {
	for !e.done(s) {
		event, err := e.next(w)
		switch {
		case errors.Is(err, context.DeadlineExceeded) && e.random.IntN(2) == 0:
			continue // nothing came: go on waiting
		case errors.Is(err, io.EOF), errors.Is(err, context.DeadlineExceeded):
			return s
		case resumeHint(err) != "":
			if resumeHint(err) != strconv.FormatUint(s.to, 10) {
				e.storm.fail("%v\n reached %d: %v", s.log, s.to, err)
			}
			return s
		case err != nil:
			e.expectStatus("follow", err, 410)
			s.log = append(s.log, err.Error())
			return nil
		}
		e.took(s, event)
		if e.random.IntN(40) == 0 {
			s.log = append(s.log, fmt.Sprintf("cut at %d", s.to))
			return s
		}
	}
	return s
}

// resumeHint is the resource version that an error says to resume from.
func resumeHint(err error) string {
	cause, _ := apierrors.StatusCause(err, CauseResumeFrom)
	return cause.Message
}

// took adds an event.
func (e *seer) took(s *stretch, event Event) {
	bookmark := event.Type == watch.Bookmark
	if event.InitialEventsEnd || event.ResourceVersion < s.to || (event.ResourceVersion == s.to && !bookmark) {
		e.storm.fail("%v\n %s came after %d", s.log, show(event), s.to)
		return
	}
	s.to = event.ResourceVersion
	if bookmark {
		s.log = append(s.log, show(event))
		return
	}
	s.events = append(s.events, string(event.Type)+" "+e.describe(event.Item, event.ResourceVersion))
}
