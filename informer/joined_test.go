package informer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/listwatch/listwatch/reflector"
)

// namespace is one namespace of a collection. What is told of it, as servers do
// it, moves its resourceVersion; of the rest nothing is heard until a bookmark.
type namespace struct {
	*collection
	name  string
	fails atomic.Pointer[error] // of every List and Watch
	asked []string              // resourceVersions of watches
}

func (n *namespace) refuse(err error) { n.fails.Store(&err) }

func (n *namespace) refused() error {
	if err := n.fails.Load(); err != nil {
		return *err
	}
	return nil
}

// Collection implements reflector.Describer.
func (n *namespace) Collection() reflector.Collection {
	return reflector.Collection{Resource: "things", Namespace: n.name}
}

func (n *namespace) List(ctx context.Context, options metav1.ListOptions) (reflector.Page[*thing], error) {
	if err := n.refused(); err != nil {
		return reflector.Page[*thing]{}, err
	}
	page, err := n.collection.List(ctx, options)
	page.Items = slices.DeleteFunc(page.Items, func(obj *thing) bool { return obj.Namespace != n.name })
	return page, err
}

func (n *namespace) Watch(ctx context.Context, options metav1.ListOptions) (reflector.Stream[*thing], error) {
	if err := n.refused(); err != nil {
		return nil, err
	}
	n.asked = append(n.asked, options.ResourceVersion)
	from, err := n.collection.Watch(ctx, options)
	if err != nil {
		return nil, err
	}
	return &namespaceStream{Stream: from, name: n.name}, nil
}

type namespaceStream struct {
	reflector.Stream[*thing]
	name string
}

func (s *namespaceStream) Next(ctx context.Context) (reflector.Event[*thing], error) {
	for {
		event, err := s.Stream.Next(ctx)
		if err != nil || event.Type == watch.Bookmark || event.Object.Namespace == s.name {
			return event, err
		}
		if event.Object.Name == "bookmark" { // in any namespace stands for one
			return reflector.Event[*thing]{Type: watch.Bookmark, ResourceVersion: event.ResourceVersion}, nil
		}
	}
}

// joinedRig is an Informer over some namespaces of one collection.
type joinedRig struct {
	rig
	parts map[string]*namespace
}

// joined runs f in a bubble.
func joined(t *testing.T, names []string, options Options[*thing], f func(*testing.T, *joinedRig)) {
	synctest.Test(t, func(t *testing.T) {
		r := &joinedRig{rig: rig{t: t, from: newCollection()}, parts: map[string]*namespace{}}
		inf, err := NewJoined(Namespaces(names, func(name string) reflector.Source[*thing] {
			r.parts[name] = &namespace{collection: r.from, name: name}
			return r.parts[name]
		}), options)
		if err != nil {
			t.Fatal(err)
		}
		r.Informer = inf
		f(t, r)
		if r.stop != nil {
			r.stop()
		}
	})
}

func TestAJoinedInformerCachesTheObjectsOfItsNamespacesOnly(t *testing.T) {
	joined(t, []string{"a", "b"}, Options[*thing]{}, func(t *testing.T, r *joinedRig) {
		r.from.set("a/1")
		r.from.set("b/1")
		r.from.set("c/1")
		h := &recorder{}
		r.add(h)
		r.start()
		got := h.take()
		slices.Sort(got) // of the namespaces either may come first
		if diff := cmp.Diff([]string{"initial a/1:u1@2", "initial b/1:u2@3"}, got); diff != "" {
			t.Errorf("calls (-want +got):\n%s", diff)
		}
		r.from.set("b/1")
		r.from.set("c/1")
		r.expect(h, "update b/1:u2@3 -> b/1:u2@5")
		r.from.remove("a/1")
		r.expect(h, "delete a/1:u1@7 exact")
		if got := r.Snapshot().ResourceVersion(); got != "5" {
			t.Errorf("snapshot at %s, want 5: that is what both are known to be at", got)
		}
		r.from.set("x/bookmark")
		synctest.Wait()
		if got := r.Snapshot().ResourceVersion(); got != "8" {
			t.Errorf("snapshot at %s, want 8 after a bookmark", got)
		}
	})
}

func TestAWaitForAJoinedInformerNamesThePartThatIsBehind(t *testing.T) {
	joined(t, []string{"a", "b"}, Options[*thing]{Name: "both"}, func(t *testing.T, r *joinedRig) {
		r.start()
		r.from.set("a/1") // 2
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		err := r.WaitFor(ctx, "2")
		want := `informer "both": wait for resourceVersion 2, at "1" now, part "b" at "1": context deadline exceeded`
		if err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	})
}

// Case 12 (prometheus-operator#3218).
func TestAnEventOfOneNamespaceDoesNotMoveTheResumePointOfAnother(t *testing.T) {
	joined(t, []string{"a", "b"}, Options[*thing]{}, func(t *testing.T, r *joinedRig) {
		h := &recorder{}
		r.add(h)
		r.start()
		for range 3 {
			r.from.set("a/1")
		}
		synctest.Wait()
		h.take()
		for _, part := range r.parts {
			part.asked = nil
		}
		r.outage(func() { r.from.set("b/1") }) // at 5
		want := map[string]string{"a": "4", "b": "1"}
		for name, part := range r.parts {
			if len(part.asked) == 0 || part.asked[0] != want[name] {
				t.Errorf("%s resumes at %q, want %q", name, part.asked, want[name])
			}
		}
		r.expect(h, "add b/1:u2@5")
	})
}

func TestAJoinedInformerIsInSyncWhenAllPartsHaveListed(t *testing.T) {
	joined(t, []string{"a", "b"}, Options[*thing]{Name: "things"}, func(t *testing.T, r *joinedRig) {
		r.from.set("a/1")
		r.from.set("b/1")
		r.parts["b"].refuse(forbidden)
		h := &recorder{}
		reg := r.add(h)
		r.start()
		r.expect(h, "initial a/1:u1@2")
		if r.Status().Synced || closed(reg.Synced()) || r.Snapshot().ResourceVersion() != "" {
			t.Errorf("in sync at %q without namespace b", r.Snapshot().ResourceVersion())
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		err := r.WaitForSync(ctx)
		if !errors.Is(err, forbidden) {
			t.Errorf("%v does not say what keeps namespace b", err)
		}
		s := r.Status()
		if len(s.Parts) != 2 || s.Parts[0].Name != "a" || s.Parts[1].Reflector.Name != "things/b" || s.Reflector.Name != "things/b" {
			t.Errorf("parts %v, worst is %s", s.Parts, s.Reflector.Name)
		}
		r.from.set("a/2")
		r.expect(h, "initial a/2:u3@4") // still before the sync
		r.parts["b"].refuse(nil)
		if err := r.WaitForSync(t.Context()); err != nil {
			t.Error(err)
		}
		r.expect(h, "initial b/1:u2@3")
		if !closed(reg.Synced()) {
			t.Error("the handler is not in sync")
		}
		r.from.set("b/2")
		r.expect(h, "add b/2:u4@5")
	})
}

func TestWaitForOfAJoinedInformerHoldsForEveryPart(t *testing.T) {
	joined(t, []string{"a", "b"}, Options[*thing]{}, func(t *testing.T, r *joinedRig) {
		r.start()
		r.from.set("a/1")
		version := r.from.set("b/1")
		waited := make(chan error, 1)
		go func() { waited <- r.WaitFor(t.Context(), version) }()
		synctest.Wait()
		select {
		case <-waited:
			t.Error("reached, though a has not been heard of since")
		default:
		}
		r.from.set("x/bookmark")
		if err := <-waited; err != nil {
			t.Error(err)
		}
	})
}

func TestARelistOfOnePartLeavesTheOthersAlone(t *testing.T) {
	joined(t, []string{"a", "b"}, Options[*thing]{}, func(t *testing.T, r *joinedRig) {
		r.from.set("a/1")
		r.from.set("a/2")
		r.from.set("b/1")
		h := &recorder{}
		r.add(h)
		r.start()
		h.take()
		r.outage(func() {
			r.from.remove("a/1")
			r.from.compact()
		})
		r.expect(h, "delete a/1:u1@2")
		if got := r.Snapshot().Len(); got != 2 {
			t.Errorf("%d objects, want 2", got)
		}
	})
}

func TestAJoinedInformerRunsAgain(t *testing.T) {
	joined(t, []string{"a", "b", "c"}, Options[*thing]{}, func(t *testing.T, r *joinedRig) {
		r.from.set("a/1")
		r.from.set("b/1")
		h := &recorder{}
		r.add(h)
		r.start()
		h.take()
		r.stop()
		r.from.remove("a/1")
		r.from.set("c/1")
		r.parts["c"].refuse(forbidden)
		r.start()
		r.expect(h, "delete a/1:u1@2")
		if r.Status().Synced {
			t.Error("in sync before c has listed")
		}
		r.parts["c"].refuse(nil)
		if err := r.WaitForSync(t.Context()); err != nil {
			t.Error(err)
		}
		r.expect(h, "add c/1:u3@5") // the handler has long been in sync
	})
}

func TestNewJoinedRefusesWhatMakesNoSense(t *testing.T) {
	source := newCollection()
	for name, parts := range map[string][]Part[*thing]{
		"no parts":     nil,
		"no name":      {{Source: source}},
		"no source":    {{Name: "a"}},
		"the same one": {{Name: "a", Source: source}, {Name: "a", Source: source}},
	} {
		if _, err := NewJoined(parts, Options[*thing]{}); !errors.Is(err, ErrInvalidOptions) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestTheCollectionOfPartsIsWhatTheyHaveInCommon(t *testing.T) {
	describe := func(namespace, selector string) *part[*thing] {
		return &part[*thing]{collection: reflector.Collection{Resource: "things", Namespace: namespace, LabelSelector: selector}}
	}
	for k, test := range []struct {
		parts []*part[*thing]
		want  reflector.Collection
	}{
		{[]*part[*thing]{describe("a", "x")}, reflector.Collection{Resource: "things", Namespace: "a", LabelSelector: "x"}},
		{[]*part[*thing]{describe("a", "x"), describe("b", "x")}, reflector.Collection{Resource: "things", LabelSelector: "x"}},
		{[]*part[*thing]{describe("a", "x"), describe("a", "y")}, reflector.Collection{Resource: "things", Namespace: "a"}},
	} {
		i := &Informer[*thing]{parts: test.parts}
		if diff := cmp.Diff(test.want, i.collection()); diff != "" {
			t.Errorf("%d (-want +got):\n%s", k, diff)
		}
	}
}

func TestAFailureInOnePartStandsUntilThatPartHasSucceeded(t *testing.T) {
	verdict := map[string]error{"a/1": errors.New("cannot digest"), "b/1": errors.New("nor this")}
	transform := func(obj *thing) (*thing, error) { return obj, verdict[keyOf(obj)] }
	joined(t, []string{"b", "a"}, Options[*thing]{Transform: transform}, func(t *testing.T, r *joinedRig) {
		r.from.set("a/1")
		r.from.set("b/1")
		r.start()
		if s := r.Status().Transform; s.Standing != 2 || len(s.Objects) != 2 || s.Objects[0].Key != "a/1" {
			t.Errorf("%+v, want both, by key", s)
		}
		delete(verdict, "a/1")
		r.from.set("a/1")
		synctest.Wait()
		if s := r.Status().Transform; s.Standing != 1 || fmt.Sprint(s.Objects[0].Key) != "b/1" {
			t.Errorf("%+v, want that of b", s)
		}
	})
}
