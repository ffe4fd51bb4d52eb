package cacher

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/watch"
)

// mirror keeps a copy of a collection by watching it, as a client would.
type mirror struct {
	t         *testing.T
	cacher    *Cacher
	predicate Predicate
	objects   map[string]uint64
	rv        uint64
	resumed   int
}

// run follows until the mirror has reached the version that until yields.
func (m *mirror) run(ctx context.Context, until uint64) {
	opts := WatchOptions{Predicate: m.predicate, SendInitialEvents: ptr(true), AllowBookmarks: true}
	for m.rv < until {
		w, err := m.cacher.Watch(ctx, opts)
		if err != nil {
			m.t.Error(err)
			return
		}
		if opts.SendInitialEvents != nil {
			m.objects = map[string]uint64{}
		}
		err = m.follow(ctx, w, until)
		w.Stop()
		m.resumed++
		opts = WatchOptions{Predicate: m.predicate, ResourceVersion: strconv.FormatUint(m.rv, 10), AllowBookmarks: true}
		if err != io.EOF || m.rv == 0 {
			opts.SendInitialEvents, opts.ResourceVersion = ptr(true), ""
		}
		if err != nil && err != io.EOF && status(err).ErrStatus.Code != 410 {
			m.t.Error(err)
			return
		}
	}
}

// follow takes events until one that is as new as until.
func (m *mirror) follow(ctx context.Context, w *Watcher, until uint64) error {
	for {
		event, err := w.Next(ctx)
		if err != nil {
			return err
		}
		if event.InitialEventsEnd {
			m.rv = event.ResourceVersion
		} else if err := m.apply(event, w.initial != nil); err != nil {
			m.t.Errorf("%v: %v", show(event), err)
			return err
		}
		if m.rv >= until {
			return nil
		}
	}
}

// apply changes the mirror, and says what an event contradicts.
func (m *mirror) apply(event Event, initial bool) error {
	if !initial {
		if event.ResourceVersion <= m.rv {
			return fmt.Errorf("after version %d", m.rv)
		}
		m.rv = event.ResourceVersion
	}
	if event.Type == watch.Bookmark {
		return nil
	}
	_, known := m.objects[event.Item.Key]
	if known == (event.Type == watch.Added) {
		return errors.New("contradicts what came before")
	}
	if m.objects[event.Item.Key] = event.ResourceVersion; event.Type == watch.Deleted {
		delete(m.objects, event.Item.Key)
	}
	return nil
}

func TestMirrorsOfAChangingCollectionEndUpEqualToIt(t *testing.T) {
	tiny := func(o *Options) {
		o.MinCapacity, o.MaxCapacity = 16, 64
		o.BlockTimeout = time.Minute // of real time: however slow the machine, no watch shall find the cache too far behind
	}
	r := newRig(t, tiny)
	const writes = 3000
	var all sync.WaitGroup
	var mirrors []*mirror
	for i := range 12 {
		predicate := Predicate{}
		if i%2 == 1 {
			predicate = labelled("1")
		}
		predicate.Scope = []Scope{{}, {Namespace: "n"}, {Namespace: "n", Name: "a"}}[i%3]
		m := &mirror{t: t, cacher: r.cacher, predicate: predicate}
		mirrors = append(mirrors, m)
		all.Go(func() { m.run(r.ctx, writes+2) })
	}
	random := rand.New(rand.NewPCG(1, 1))
	exists := map[string]bool{}
	for range writes {
		key := []string{"m/", "n/"}[random.IntN(2)] + string('a'+byte(random.IntN(8)))
		if exists[key] && random.IntN(3) == 0 {
			r.remove(key)
			exists[key] = false
		} else {
			r.put(key, fmt.Sprint(random.IntN(2)))
			exists[key] = true
		}
	}
	r.put("n/a", "1") // visible to every mirror
	all.Wait()
	for i, m := range mirrors {
		want := map[string]uint64{}
		for _, item := range r.list(ListOptions{Predicate: m.predicate, ResourceVersion: fmt.Sprint(m.rv), Match: exact}).Items {
			want[item.Key] = item.ResourceVersion
		}
		if !maps.Equal(m.objects, want) {
			t.Errorf("mirror %d at %d (%d watches)\n got %v\nwant %v", i, m.rv, m.resumed, m.objects, want)
		}
	}
}
