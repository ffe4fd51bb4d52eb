package reflector

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
)

// holder is a recorder that tells what it holds; the UID of each object is
// "uid-" and its name.
type holder struct {
	recorder
	asked []string
}

func (h *holder) Known(key string) (uid types.UID, resourceVersion string, ok bool) {
	h.locked(func() {
		h.asked = append(h.asked, strings.Clone(key))
		if h.pending == nil {
			h.broken = append(h.broken, "known "+key)
		}
		resourceVersion, ok = h.objects[key]
	})
	return types.UID("uid-" + key), resourceVersion, ok
}

func (h *holder) ReplaceKnown(key string) {
	h.locked(func() {
		h.call(true, "known %s", key)
		h.pending[key] = h.objects[key]
	})
}

func withUID(name, resourceVersion string) *object {
	o := obj(name, resourceVersion)
	o.UID = types.UID("uid-" + name)
	return o
}

// follows runs a reflector over source and sink while change happens.
func follows(t *testing.T, source Source[*object], sink Sink[*object], change func(r *Reflector[*object])) {
	t.Helper()
	r, err := New(source, sink, Options{Backoff: noJitter})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(quiet())
	done := make(chan struct{})
	go func() { defer close(done); _ = r.Run(ctx) }()
	synctest.Wait()
	change(r)
	synctest.Wait()
	cancel()
	<-done
}

// twoLives is a collection before and after a while.
func twoLives() (before, after []*object) {
	before = []*object{withUID("a", "5"), withUID("b", "6"), withUID("c", "7"), withUID("d", "8")}
	reborn := withUID("c", "7")
	reborn.UID = "another"
	return before, []*object{withUID("a", "5"), withUID("b", "16"), reborn, withUID("e", "9"), obj("nameless", "")}
}

func TestAnObjectThatTheSinkHoldsIsNotHandedOverAgain(t *testing.T) {
	before, after := twoLives()
	lists := func(n int, _ metav1.ListOptions) (Page[*object], error) {
		return Page[*object]{ResourceVersion: "20", Items: slices.Clone([][]*object{before, after}[n])}, nil
	}
	watchLists := func(n int, _ metav1.ListOptions) (Stream[*object], error) {
		stream := silent()
		for _, o := range [][]*object{before, after}[n] {
			stream.frames = append(stream.frames, added(o))
		}
		stream.frames = append(stream.frames, bookmark("20", true))
		return stream, nil
	}
	for name, source := range map[string]Source[*object]{
		"list":               refusingSource{&scripted{onList: lists}},
		"watch-list":         &scripted{onWatchList: watchLists},
		"list in parts":      refusingStreaming{&inParts{scripted: &scripted{onList: lists}}},
		"watch-list, peeked": &inParts{scripted: &scripted{onWatchList: watchLists}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				sink, kept := &holder{}, int64(0)
				follows(t, source, sink, func(r *Reflector[*object]) {
					want(t, "asked in the first sync", len(sink.asked), 0)
					r.Relist()
					synctest.Wait()
					kept = r.Status().Kept
				})
				want(t, "sink", sink.trace(), "begin initial, item a@5, item b@6, item c@7, item d@8, end 20, "+
					"begin forced, known a, item b@16, item c@7, item e@9, item nameless@, end 20")
				want(t, "collection", sink.contents(), "a@5 b@16 c@7 e@9 nameless@")
				want(t, "broken", len(sink.broken), 0)
				want(t, "kept", kept, 1)
				if refusing, ok := source.(refusingStreaming); ok {
					source = refusing.StreamingSource
				}
				if source, ok := source.(*inParts); ok {
					want(t, "requests of which what is known is left out", source.peeked, 1)
				}
			})
		})
	}
}

// kubernetes#107457: after the restore of a backup, versions are given again.
func TestNothingIsKnownOnceTheServerFindsTheLastVersionTooLarge(t *testing.T) {
	item := []*object{withUID("a", "5")}
	lists := func(n int, _ metav1.ListOptions) (Page[*object], error) {
		if n == 1 {
			return Page[*object]{}, tooLarge()
		}
		return Page[*object]{ResourceVersion: []string{"20", "", "10", "10"}[n], Items: slices.Clone(item)}, nil
	}
	synctest.Test(t, func(t *testing.T) {
		sink := &holder{}
		follows(t, refusingSource{&scripted{onList: lists}}, sink, func(r *Reflector[*object]) {
			r.Relist()
			synctest.Wait()
			r.Relist()
		})
		want(t, "sink", sink.trace(), "begin initial, item a@5, end 20, begin forced, item a@5, end 10, begin forced, known a, end 10")
	})
}

// refusingSource lacks watch-list.
type refusingSource struct{ Source[*object] }

func (refusingSource) IsWatchListSemanticsUnSupported() bool { return true }

type refusingStreaming struct{ StreamingSource[*object] }

func (refusingStreaming) IsWatchListSemanticsUnSupported() bool { return true }

// inParts is a StreamingSource that gives each item of a page in a part of its
// own, and peeks.
type inParts struct {
	*scripted
	mu     sync.Mutex
	opened int
	closed int
	peeked int // requests that were to be
}

func (s *inParts) ListStream(ctx context.Context, options metav1.ListOptions, known Known) (ListStream[*object], error) {
	page, err := s.List(ctx, options)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.opened++
	s.count(known)
	return &partStream{source: s, page: page, known: known}, nil
}

// count is called with mu held.
func (s *inParts) count(known Known) {
	if known != nil {
		s.peeked++
	}
}

func (s *inParts) WatchKnown(ctx context.Context, options metav1.ListOptions, known Known) (Stream[*object], error) {
	s.mu.Lock()
	s.count(known)
	s.mu.Unlock()
	stream, err := s.Watch(ctx, options)
	return peekingStream{stream, known}, err
}

type peekingStream struct {
	Stream[*object]
	known Known
}

func (s peekingStream) Next(ctx context.Context) (Event[*object], error) {
	event, err := s.Stream.Next(ctx)
	if event.Type == watch.Added {
		if event.Known = peeked(event.Object, s.known); event.Known != "" {
			event.Object = nil
		}
	}
	return event, err
}

type partStream struct {
	source *inParts
	page   Page[*object]
	known  Known
	next   int
	closed bool
}

func (s *partStream) Next(ctx context.Context) (Part[*object], error) {
	if s.closed {
		return Part[*object]{}, errors.New("read after close")
	}
	if len(s.page.Skipped) > 0 {
		item := Item[*object]{Skipped: s.page.Skipped[0]}
		s.page.Skipped = s.page.Skipped[1:]
		return Part[*object]{Items: []Item[*object]{item}}, nil
	}
	if s.next < len(s.page.Items) {
		item := Item[*object]{Object: s.page.Items[s.next]}
		s.next++
		if item.Known = peeked(item.Object, s.known); item.Known != "" {
			item.Object = nil
		}
		return Part[*object]{Items: []Item[*object]{item}}, nil
	}
	part := Part[*object]{EndOfPage: true, ResourceVersion: s.page.ResourceVersion, Continue: s.page.Continue}
	if part.Continue == "" {
		return part, nil
	}
	var err error
	s.page, err = s.source.List(ctx, metav1.ListOptions{Continue: part.Continue})
	s.next = 0
	if err != nil {
		s.page = Page[*object]{}
		return Part[*object]{}, err
	}
	return part, nil
}

func (s *partStream) Close() {
	if !s.closed {
		s.closed = true
		s.source.mu.Lock()
		s.source.closed++
		s.source.mu.Unlock()
	}
}

// peeked is the key of an object that is known.
func peeked(o *object, known Known) string {
	if known == nil || o.ResourceVersion == "" {
		return ""
	}
	if uid, resourceVersion, ok := known(o.Name); ok && uid == o.UID && resourceVersion == o.ResourceVersion {
		return o.Name
	}
	return ""
}

func TestAListInPartsIsReadThroughItsPages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := &inParts{scripted: &scripted{began: time.Now(), onList: func(_ int, options metav1.ListOptions) (Page[*object], error) {
			switch options.Continue {
			case "":
				return Page[*object]{ResourceVersion: "10", Continue: "t1", Items: []*object{obj("a", "1"), obj("b", "2")}}, nil
			case "t1":
				return Page[*object]{ResourceVersion: "10", Continue: "t2"}, nil
			}
			return Page[*object]{ResourceVersion: "10", Items: []*object{obj("c", "3")}}, nil
		}}}
		sink := &recorder{}
		follows(t, refusingStreaming{source}, sink, func(r *Reflector[*object]) {
			want(t, "lists", r.Status().Lists, 1)
			want(t, "pages", r.Status().Pages, 3)
		})
		want(t, "requests", source.trace(0), `list "0", list "" after t1, list "" after t2, watch "10"`)
		want(t, "sink", sink.trace(), "begin initial, item a@1, item b@2, item c@3, end 10")
		want(t, "closed", source.closed, source.opened)
	})
}

func TestAListInPartsThatBreaksIsAbortedAndClosed(t *testing.T) {
	for name, page := range map[string]struct {
		page Page[*object]
		err  error
	}{
		"error":           {err: io.ErrUnexpectedEOF},
		"repeated token":  {page: Page[*object]{Continue: "t1"}},
		"nothing but odd": {page: Page[*object]{ResourceVersion: "10"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				source := &inParts{scripted: &scripted{began: time.Now(), onList: func(n int, options metav1.ListOptions) (Page[*object], error) {
					switch {
					case n == 0:
						return Page[*object]{ResourceVersion: "10", Continue: "t1", Items: []*object{obj("a", "1")}}, nil
					case options.Continue != "":
						return page.page, page.err
					}
					return Page[*object]{ResourceVersion: "11", Items: []*object{obj("a", "1")}}, nil
				}}}
				sink := &recorder{}
				follows(t, refusingStreaming{source}, sink, func(*Reflector[*object]) { <-time.After(time.Minute) })
				expected := "begin initial, item a@1, abort, begin initial, item a@1, end 11"
				if name == "nothing but odd" { // there was something
					expected = "begin initial, item a@1, end 10"
				}
				want(t, "sink", sink.trace(), expected)
				want(t, "closed", source.closed, source.opened)
			})
		})
	}
}

// forms runs a test with a source that gives whole pages, and one that gives parts.
func forms(t *testing.T, test func(t *testing.T, in func(*scripted) Source[*object])) {
	for name, in := range map[string]func(*scripted) Source[*object]{
		"in pages": func(s *scripted) Source[*object] { return s },
		"in parts": func(s *scripted) Source[*object] { return &inParts{scripted: s} },
	} {
		t.Run(name, func(t *testing.T) { synctest.Test(t, func(t *testing.T) { test(t, in) }) })
	}
}

func TestObjectsOfAnotherTypeAreLeftOutAndReported(t *testing.T) {
	odd := func() error { return &DecodeError{Subject: "test", Err: fmt.Errorf("%w: a Node", ErrWrongType)} }
	forms(t, func(t *testing.T, in func(*scripted) Source[*object]) {
		source := &scripted{
			onList: func(int, metav1.ListOptions) (Page[*object], error) {
				return Page[*object]{ResourceVersion: "10", Items: []*object{obj("a", "5")}, Skipped: []error{odd(), odd()}}, nil
			},
			onWatch: func(int, metav1.ListOptions) (Stream[*object], error) {
				return plays(added(obj("b", "11")), frame{err: odd()}, changed(obj("b", "12"))), nil
			},
		}
		r := startForm(t, source, in(source), listFirst)
		r.after(0)
		want(t, "sink", r.sink.trace(), "begin initial, item a@5, end 10, add b@11, update b@12")
		status := r.Status()
		want(t, "left out", status.Skipped, 3)
		want(t, "reported", errors.Is(status.LastSkipped, ErrWrongType), true)
		want(t, "last error", status.LastError, nil)
		want(t, "requests", len(source.asked()), 2)
	})
}

func TestACollectionOfNothingButAnotherTypeIsAnError(t *testing.T) {
	odd := &DecodeError{Subject: "test", Err: fmt.Errorf("%w: a Node", ErrWrongType)}
	forms(t, func(t *testing.T, in func(*scripted) Source[*object]) {
		source := &scripted{
			onList: func(int, metav1.ListOptions) (Page[*object], error) {
				return Page[*object]{ResourceVersion: "10", Skipped: []error{odd}}, nil
			},
			onWatchList: func(int, metav1.ListOptions) (Stream[*object], error) {
				return plays(frame{err: odd}, bookmark("10", true)), nil
			},
		}
		r := startForm(t, source, in(source), Options{Backoff: noJitter})
		r.after(time.Minute)
		want(t, "synced", r.Status().Synced, false)
		want(t, "reported", errors.Is(r.Status().LastError, ErrWrongType), true)
		want(t, "collection", r.sink.contents(), "")
	})
}

// A relist must never hold two full copies.
func TestTheNewCopyOfAKnownObjectIsLetGoAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var first, last weak.Pointer[object]
		source := &scripted{onList: func(n int, options metav1.ListOptions) (Page[*object], error) {
			items := []*object{withUID("a", "5"), withUID("b", "6"), withUID("c", "7")}
			first, last = weak.Make(items[0]), weak.Make(items[2])
			return Page[*object]{ResourceVersion: "10", Items: items}, nil
		}}
		sink := &collecting{}
		follows(t, refusingSource{source}, sink, func(r *Reflector[*object]) {
			sink.onKnown = func(key string) {
				runtime.GC()
				if key == "b" && first.Value() != nil {
					t.Error("the copy of a is alive while b is handed over")
				}
				if key == "a" && last.Value() == nil {
					t.Error("the copy of c is gone before it was handed over")
				}
			}
			r.Relist()
			synctest.Wait()
			runtime.GC()
			want(t, "copies are gone", last.Value() == nil, true)
		})
		want(t, "collection", sink.contents(), "a@5 b@6 c@7")
	})
}

// collecting is a holder that holds no object, and tells when it gets a key.
type collecting struct {
	holder
	onKnown func(key string)
}

func (c *collecting) ReplaceKnown(key string) {
	c.holder.ReplaceKnown(key)
	c.onKnown(key)
}
