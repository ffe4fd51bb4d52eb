package informertest

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/listwatch/listwatch/informer"
	"github.com/listwatch/listwatch/reflector"
)

// source lists what it holds, and then sends events.
type source struct {
	items  []*thing
	events chan reflector.Event[*thing]
}

func (s *source) IsWatchListSemanticsUnSupported() bool { return true }

func (s *source) List(context.Context, metav1.ListOptions) (reflector.Page[*thing], error) {
	return reflector.Page[*thing]{Items: s.items, ResourceVersion: "10"}, nil
}

func (s *source) Watch(context.Context, metav1.ListOptions) (reflector.Stream[*thing], error) {
	return s, nil
}

func (s *source) Next(ctx context.Context) (reflector.Event[*thing], error) {
	select {
	case event := <-s.events:
		return event, nil
	case <-ctx.Done():
		return reflector.Event[*thing]{}, ctx.Err()
	}
}

func (s *source) Close() {}

func (s *source) send(kind watch.EventType, obj *thing) {
	s.events <- reflector.Event[*thing]{Type: kind, Object: obj, ResourceVersion: obj.ResourceVersion}
}

// running is an informer that ends with the test.
func running(t *testing.T, s *source) *informer.Informer[*thing] {
	t.Helper()
	inf, err := informer.New(s, informer.Options[*thing]{Name: "things"})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- inf.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		<-ended
	})
	return inf
}

func TestAnAttachedRecorderKnowsWhenTheHandlerIsInSyncAndWhatWasThere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &source{items: []*thing{object("a", "u", 5), object("b", "v", 6)}, events: make(chan reflector.Event[*thing])}
		inf := running(t, s)
		r := &Recorder[*thing]{Look: true, Hold: func() { time.Sleep(time.Second) }}
		if _, err := r.Attach(inf); err != nil {
			t.Fatal(err)
		}
		r.Expect(t, Added("a").Initial(true), Added("b").Initial(true))
		synctest.Wait() // the second call has looked
		s.send(watch.Modified, object("a", "u", 11))
		s.send(watch.Deleted, object("b", "v", 12))
		r.ExpectExactly(t, Updated("a").At("11"), Deleted("b").Exact(true))
		synctest.Wait() // the last call has returned
		r.Settled("12")
		const want = "initial a u@5, snapshot 10 a u@5 b v@6, initial b v@6, snapshot 10 a u@5 b v@6, sync, " +
			"update a u@5 u@11, snapshot 12 a u@11, delete b v@12, snapshot 12 a u@11, settled 12"
		if got := showTrace(r.Trace()); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	})
}

func TestASyncWithoutAFurtherCallIsInTheTrace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &Recorder[*thing]{}
		if _, err := r.Attach(running(t, &source{})); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if got := showTrace(r.Trace()); got != "sync" {
			t.Errorf("got %s", got)
		}
	})
}

func TestARecorderIsAttachedOnce(t *testing.T) {
	inf, err := informer.New(&source{}, informer.Options[*thing]{})
	if err != nil {
		t.Fatal(err)
	}
	r := &Recorder[*thing]{}
	if _, err := r.Attach(inf); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Attach(inf); !errors.Is(err, ErrAttached) {
		t.Errorf("got %v", err)
	}
}

func TestALoopOverEventsIsRecordedAsAHandlerIs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &source{items: []*thing{object("a", "u", 5)}, events: make(chan reflector.Event[*thing])}
		inf := running(t, s)
		r := &Recorder[*thing]{}
		ctx, stop := context.WithCancel(t.Context())
		left := make(chan struct{})
		go func() {
			defer close(left)
			for event := range inf.Events(ctx) {
				r.Record(event)
			}
		}()
		synctest.Wait() // the loop has begun
		s.send(watch.Modified, object("a", "u", 11))
		s.send(watch.Deleted, object("a", "u", 12))
		synctest.Wait()
		stop()
		<-left
		const want = "initial a u@5, sync, update a u@5 u@11, delete a u@12"
		if got := showTrace(r.Trace()); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	})
}
