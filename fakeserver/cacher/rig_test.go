package cacher

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/listwatch/listwatch/fakeserver/storage"
)

// rig is a Cacher of pods over a store in memory.
type rig struct {
	t      testing.TB
	ctx    context.Context
	store  storage.Store
	memory *storage.Memory
	cacher *Cacher
}

// decodeMeta reads values as JSON of PartialObjectMetadata.
func decodeMeta(kv storage.KeyValue) (runtime.Object, error) {
	obj := &metav1.PartialObjectMetadata{}
	if err := json.Unmarshal(kv.Value, obj); err != nil {
		return nil, err
	}
	obj.ResourceVersion = strconv.FormatInt(kv.ModRevision, 10)
	return obj, nil
}

// newRig starts one; adjust may change the options.
func newRig(t testing.TB, adjust func(*Options)) *rig {
	t.Helper()
	r := &rig{t: t, ctx: context.Background(), memory: storage.NewMemory()}
	options := Options{
		Store: r.memory, Prefix: "/pods/", Decode: decodeMeta,
		GroupResource: schema.GroupResource{Resource: "pods"},
	}
	if adjust != nil {
		adjust(&options)
	}
	r.store = options.Store
	var err error
	if r.cacher, err = New(options); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		r.cacher.Close()
		r.memory.Close()
	})
	return r
}

// inBubble runs a test with a rig in virtual time.
func inBubble(t *testing.T, adjust func(*Options), test func(r *rig)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, adjust)
		synctest.Wait()
		test(r)
	})
}

// value is a stored pod; label is the value of label "x".
func value(key, label string) []byte {
	namespace, name := splitKey(key)
	obj := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	if label != "" {
		obj.Labels = map[string]string{"x": label}
	}
	text, err := json.Marshal(obj)
	if err != nil {
		panic(err)
	}
	return text
}

// put creates or updates a pod and returns its resource version.
func (r *rig) put(key, label string) uint64 {
	r.t.Helper()
	full := "/pods/" + key
	kv, err := r.memory.Get(r.ctx, full, 0)
	if err == nil {
		kv, err = r.memory.Update(r.ctx, full, value(key, label), kv.ModRevision)
	} else {
		kv, err = r.memory.Create(r.ctx, full, value(key, label))
	}
	if err != nil {
		r.t.Fatal(err)
	}
	return uint64(kv.ModRevision)
}

// remove deletes a pod and returns the deletion's resource version.
func (r *rig) remove(key string) uint64 {
	r.t.Helper()
	kv, err := r.memory.Get(r.ctx, "/pods/"+key, 0)
	if err == nil {
		kv, err = r.memory.Delete(r.ctx, "/pods/"+key, kv.ModRevision)
	}
	if err != nil {
		r.t.Fatal(err)
	}
	return uint64(kv.ModRevision)
}

// elsewhere writes something of another resource.
func (r *rig) elsewhere() uint64 {
	r.t.Helper()
	revision, err := r.memory.CurrentRevision(r.ctx)
	if err != nil {
		r.t.Fatal(err)
	}
	if _, err := r.memory.Create(r.ctx, fmt.Sprintf("/nodes/n%d", revision), nil); err != nil {
		r.t.Fatal(err)
	}
	return uint64(revision + 1)
}

// compact compacts the store at its newest revision and tells the cacher.
func (r *rig) compact() uint64 {
	r.t.Helper()
	revision, err := r.memory.CurrentRevision(r.ctx)
	if err == nil {
		err = r.memory.Compact(r.ctx, revision)
	}
	if err != nil {
		r.t.Fatal(err)
	}
	r.cacher.Compacted(revision)
	return uint64(revision)
}

// watch opens a watcher.
func (r *rig) watch(opts WatchOptions) *Watcher {
	r.t.Helper()
	w, err := r.cacher.Watch(r.ctx, opts)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(w.Stop)
	return w
}

// list lists, and fails the test if it cannot.
func (r *rig) list(opts ListOptions) ListResult {
	r.t.Helper()
	result, err := r.cacher.List(r.ctx, opts)
	if err != nil {
		r.t.Fatalf("list %+v: %v", opts, err)
	}
	return result
}

// show writes an event the way tests state it.
func show(event Event) string {
	var b strings.Builder
	b.WriteString(string(event.Type))
	if event.Item != nil {
		fmt.Fprintf(&b, " %s", event.Item.Key)
	}
	fmt.Fprintf(&b, "@%d", event.ResourceVersion)
	if event.InitialEventsEnd {
		b.WriteString(" end")
	}
	return b.String()
}

// take returns the next n events as text, in less than a (virtual) second each;
// an error is the last of them.
func (r *rig) take(w *Watcher, n int) []string {
	r.t.Helper()
	var got []string
	for range n {
		ctx, cancel := context.WithTimeout(r.ctx, time.Second)
		event, err := w.Next(ctx)
		cancel()
		if err != nil {
			return append(got, err.Error())
		}
		got = append(got, show(event))
	}
	return got
}

// expect compares what take returns.
func (r *rig) expect(w *Watcher, want ...string) {
	r.t.Helper()
	got := r.take(w, len(want))
	if fmt.Sprint(got) != fmt.Sprint(want) {
		r.t.Errorf("events\n got %q\nwant %q", got, want)
	}
}

// expectNothing fails if an event is there; it lets the feed run first.
func (r *rig) expectNothing(w *Watcher) {
	r.t.Helper()
	synctest.Wait()
	if w.Pending() {
		r.t.Errorf("expected nothing, got %q", r.take(w, 1))
	}
}

// keys are those of the items.
func keys(items []*Item) string {
	var all []string
	for _, item := range items {
		all = append(all, item.Key)
	}
	return strings.Join(all, " ")
}

// labelled selects pods by the value of label "x".
func labelled(label string) Predicate {
	return Predicate{Labels: labels.SelectorFromSet(labels.Set{"x": label})}
}

func ptr[T any](value T) *T { return &value }

// deadlineContext is the rig's context with a deadline.
func deadlineContext(r *rig, deadline time.Time) context.Context {
	ctx, cancel := context.WithDeadline(r.ctx, deadline)
	r.t.Cleanup(cancel)
	return ctx
}
