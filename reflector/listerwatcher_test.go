package reflector

import (
	"context"
	"errors"
	"io"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
)

func pod(name, resourceVersion string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, ResourceVersion: resourceVersion}}
}

// canned is a client without contexts that gives the same to everybody.
type canned struct {
	list    runtime.Object
	watcher watch.Interface
}

func (c canned) List(metav1.ListOptions) (runtime.Object, error)   { return c.list, nil }
func (c canned) Watch(metav1.ListOptions) (watch.Interface, error) { return c.watcher, nil }

func answers(list runtime.Object, watcher watch.Interface) cache.ListerWatcher {
	return canned{list, watcher}
}

func TestAPageHoldsWhatTheListSays(t *testing.T) {
	remaining := int64(7)
	list := &corev1.PodList{
		ListMeta: metav1.ListMeta{ResourceVersion: "10", Continue: "t", RemainingItemCount: &remaining},
		Items:    []corev1.Pod{*pod("a", "1"), *pod("b", "2")},
	}
	page, err := FromListerWatcher[*corev1.Pod](answers(list, nil)).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	want(t, "version", page.ResourceVersion, "10")
	want(t, "token", page.Continue, "t")
	want(t, "remaining", *page.Remaining, 7)
	want(t, "items", len(page.Items), 2)
	want(t, "first", page.Items[0].Name, "a")
	if page.Items[0] == &list.Items[0] {
		t.Error("an item keeps its page in memory")
	}
}

func TestAListOfWhatIsNotExpectedIsAnError(t *testing.T) {
	var nilList *corev1.PodList
	for name, list := range map[string]runtime.Object{
		"nothing":          nil,
		"nil list":         nilList,
		"table":            &metav1.Table{},
		"no list":          &corev1.Pod{},
		"nil item":         &metav1.List{Items: []runtime.RawExtension{{}}},
		"nil typed item":   &metav1.List{Items: []runtime.RawExtension{{Object: (*corev1.Pod)(nil)}}},
		"no list metadata": &metav1.Status{},
	} {
		_, err := FromListerWatcher[*corev1.Pod](answers(list, nil)).List(t.Context(), metav1.ListOptions{})
		if decode, ok := errors.AsType[*DecodeError](err); !ok {
			t.Errorf("%s: %v is no DecodeError", name, err)
		} else if decode.Subject == "" || decode.Error() == "" {
			t.Errorf("%s: %+v says nothing", name, decode)
		}
	}
}

func TestAListItemOfAnotherTypeIsLeftOut(t *testing.T) {
	for name, list := range map[string]runtime.Object{
		"nodes":        &corev1.NodeList{Items: []corev1.Node{{}}},
		"unstructured": &unstructured.UnstructuredList{Items: []unstructured.Unstructured{{Object: map[string]any{}}}},
		"mixed":        &metav1.List{Items: []runtime.RawExtension{{Object: pod("a", "1")}, {Object: &corev1.Node{}}, {Object: pod("b", "2")}}},
	} {
		page, err := FromListerWatcher[*corev1.Pod](answers(list, nil)).List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		want(t, name+" left out", len(page.Skipped), 1)
		want(t, name+" items", len(page.Items), meta.LenList(list)-1)
		if !errors.Is(page.Skipped[0], ErrWrongType) {
			t.Errorf("%s: %v", name, page.Skipped[0])
		}
	}
}

// kubernetes#132926
func TestATableDecodedWithoutItsTypeIsNeitherAListNorAnObject(t *testing.T) {
	for _, version := range []string{"v1", "v1beta1"} {
		table := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "meta.k8s.io/" + version, "kind": "Table", "metadata": map[string]any{"resourceVersion": "10"}, "rows": []any{},
		}}
		list, err := table.ToList() // as the dynamic client does
		if err != nil {
			t.Fatal(err)
		}
		_, err = FromListerWatcher[*unstructured.Unstructured](answers(list, nil)).List(t.Context(), metav1.ListOptions{})
		if _, ok := errors.AsType[*DecodeError](err); !ok {
			t.Errorf("list of %s: %v is no DecodeError", version, err)
		}
		watcher := watch.NewFakeWithChanSize(1, false)
		watcher.Add(table)
		stream, err := FromListerWatcher[*unstructured.Unstructured](answers(nil, watcher)).Watch(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		_, err = stream.Next(t.Context())
		stream.Close()
		if _, ok := errors.AsType[*DecodeError](err); !ok {
			t.Errorf("event of %s: %v is no DecodeError", version, err)
		}
	}
}

func TestAWatchEventHoldsWhatTheObjectSays(t *testing.T) {
	watcher := watch.NewFakeWithChanSize(8, false)
	stream, err := FromListerWatcher[*corev1.Pod](answers(nil, watcher)).Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	watcher.Add(pod("a", "1"))
	watcher.Modify(pod("a", "2"))
	watcher.Delete(pod("a", "3"))
	watcher.Action(watch.Bookmark, pod("", "4"))
	end := pod("", "5")
	end.Annotations = map[string]string{metav1.InitialEventsAnnotationKey: "true"}
	watcher.Action(watch.Bookmark, end)
	for _, expected := range []Event[*corev1.Pod]{
		{Type: watch.Added, ResourceVersion: "1"}, {Type: watch.Modified, ResourceVersion: "2"}, {Type: watch.Deleted, ResourceVersion: "3"},
		{Type: watch.Bookmark, ResourceVersion: "4"}, {Type: watch.Bookmark, ResourceVersion: "5", InitialEventsEnd: true},
	} {
		event, err := stream.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if hasObject := event.Object != nil; hasObject != (event.Type != watch.Bookmark) {
			t.Errorf("%s has an object: %v", event.Type, hasObject)
		}
		event.Object = nil
		want(t, "event", event, expected)
	}
	stream.Close()
	stream.Close()
	want(t, "stopped", watcher.IsStopped(), true)
	if _, err := stream.Next(t.Context()); err != io.EOF {
		t.Errorf("after Close: %v", err)
	}
}

func TestAnEventThatIsNotExpectedIsAnError(t *testing.T) {
	for name, event := range map[string]watch.Event{
		"another type":     {Type: watch.Added, Object: &corev1.Node{}},
		"nothing":          {Type: watch.Modified},
		"nil object":       {Type: watch.Deleted, Object: (*corev1.Pod)(nil)},
		"table":            {Type: watch.Added, Object: &metav1.Table{}},
		"empty bookmark":   {Type: watch.Bookmark},
		"odd bookmark":     {Type: watch.Bookmark, Object: &metav1.APIVersions{}},
		"unknown type":     {Type: "SHRUG", Object: pod("a", "1")},
		"unreadable frame": {Type: watch.Error, Object: apierrors.NewClientErrorReporter(500, "GET", "ClientWatchDecoding").AsObject(io.ErrNoProgress)},
	} {
		_, err := toEvent[*corev1.Pod](event)
		if _, ok := errors.AsType[*DecodeError](err); !ok {
			t.Errorf("%s: %v is no DecodeError", name, err)
		}
		want(t, name+": only the event is lost", errors.Is(err, ErrWrongType), name == "another type" || name == "table")
	}
}

func TestAnErrorEventIsItsStatus(t *testing.T) {
	gone := apierrors.NewResourceExpired("too old")
	_, err := toEvent[*corev1.Pod](watch.Event{Type: watch.Error, Object: &gone.ErrStatus})
	if !apierrors.IsResourceExpired(err) {
		t.Errorf("got %v", err)
	}
	for _, object := range []runtime.Object{nil, pod("a", "1")} {
		if _, err := toEvent[*corev1.Pod](watch.Event{Type: watch.Error, Object: object}); err == nil {
			t.Errorf("%v is no error", object)
		}
	}
}

func TestAWatchThatIsNoneIsAnError(t *testing.T) {
	source := FromListerWatcher[*corev1.Pod](answers(nil, nil))
	if _, err := source.Watch(t.Context(), metav1.ListOptions{}); !errors.Is(err, ErrMalformed) {
		t.Errorf("no watch: %v", err)
	}
	source = FromListerWatcher[*corev1.Pod](answers(nil, watch.NewEmptyWatch()))
	if _, err := source.Watch(t.Context(), metav1.ListOptions{}); !errors.Is(err, ErrConnectionLost) {
		t.Errorf("connection lost while opening: %v", err)
	}
}

func TestNextGivesUpWithItsContext(t *testing.T) {
	watcher := watch.NewFake()
	stream, _ := FromListerWatcher[*corev1.Pod](answers(nil, watcher)).Watch(t.Context(), metav1.ListOptions{})
	defer stream.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := stream.Next(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestCloseEndsAWatchThatIsBusySending(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // the bubble fails if the filter's goroutine stays
		inner := watch.NewFakeWithChanSize(2, false)
		inner.Add(pod("a", "1"))
		inner.Add(pod("b", "2"))
		filter := watch.Filter(inner, func(in watch.Event) (watch.Event, bool) { return in, true })
		stream, err := newWatchStream[*corev1.Pod](filter, nil)
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait() // the filter offers a, and nobody reads
		began := time.Now()
		stream.Close()
		want(t, "time of the close", time.Since(began), 0)
	})
}

func TestCloseDoesNotHangOnAWatchThatNeverCloses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stream, err := newWatchStream[*corev1.Pod](watch.NewProxyWatcher(make(chan watch.Event)), nil)
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		stream.Close()
		want(t, "time of the close", time.Since(began), stopTimeout)
	})
}

func TestAClientWithoutWatchListIsListed(t *testing.T) {
	lw := answers(&corev1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: "10"}}, nil)
	for name, source := range map[string]Source[*corev1.Pod]{
		"ListerWatcher":            FromListerWatcher[*corev1.Pod](refusing{lw}),
		"ListerWatcherWithContext": FromListerWatcherWithContext[*corev1.Pod](refusingWithContext{cache.ToListerWatcherWithContext(lw)}),
	} {
		if !refusesWatchList(source) {
			t.Errorf("%s: the client's word is lost", name)
		}
	}
	if refusesWatchList(FromListerWatcher[*corev1.Pod](lw)) {
		t.Error("a client that says nothing is taken to refuse")
	}
}

// refusing is a client that says it lacks watch-list.
type refusing struct{ cache.ListerWatcher }

func (refusing) IsWatchListSemanticsUnSupported() bool { return true }

// refusingWithContext is refusing with contexts.
type refusingWithContext struct{ cache.ListerWatcherWithContext }

func (refusingWithContext) IsWatchListSemanticsUnSupported() bool { return true }

func TestAClientsErrorIsPassedOn(t *testing.T) {
	gone := apierrors.NewResourceExpired("too old")
	lw := &cache.ListWatch{
		ListWithContextFunc:  func(context.Context, metav1.ListOptions) (runtime.Object, error) { return nil, gone },
		WatchFuncWithContext: func(context.Context, metav1.ListOptions) (watch.Interface, error) { return nil, gone },
	}
	source := FromListerWatcher[*corev1.Pod](lw)
	if _, err := source.List(t.Context(), metav1.ListOptions{}); !errors.Is(err, gone) {
		t.Errorf("list: %v", err)
	}
	if _, err := source.Watch(t.Context(), metav1.ListOptions{}); !errors.Is(err, gone) {
		t.Errorf("watch: %v", err)
	}
}
