package bench

import (
	"context"
	"strconv"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/listwatch/listwatch/fakeserver/cacher"
	"github.com/listwatch/listwatch/fakeserver/storage"
)

// ours is fakeserver/cacher.
type ours struct {
	tb     testing.TB
	ctx    context.Context
	cacher *cacher.Cacher
	body   map[format]func(runtime.Object) ([]byte, error)
	sink   sink
}

var newOurs = newSide{"ours", makeOurs}

func makeOurs(tb testing.TB, memory *storage.Memory, decode decode) side {
	options := cacher.Options{
		Store: memory, Prefix: podsPrefix, Decode: decode, Fields: selectable,
		GroupResource: schema.GroupResource{Resource: "pods"}, TriggerField: nodeNameName,
		Trigger: func(obj runtime.Object) string { return obj.(*corev1.Pod).Spec.NodeName },
	}
	made, err := cacher.New(options)
	if err != nil {
		tb.Fatal(err)
	}
	return &ours{tb: tb, ctx: context.Background(), cacher: made, body: map[format]func(runtime.Object) ([]byte, error){
		formatJSON: formatJSON.body, formatProtobuf: formatProtobuf.body,
	}}
}

func (o *ours) name() string { return "ours" }

func (o *ours) predicate(s scope) cacher.Predicate {
	p := cacher.Predicate{Scope: cacher.Scope{Namespace: s.namespace}, Labels: s.labels}
	if s.node != "" {
		p.Fields = fields.OneTermEqualSelector(nodeNameName, s.node)
	}
	return p
}

func (o *ours) open(opts cacher.WatchOptions, f format) stream {
	opts.AllowBookmarks = true
	w, err := o.cacher.Watch(o.ctx, opts)
	if err != nil {
		o.tb.Fatal(err)
	}
	return &oursStream{side: o, watcher: w, format: f}
}

func (o *ours) watch(s scope, rv int64, f format) stream {
	return o.open(cacher.WatchOptions{Predicate: o.predicate(s), ResourceVersion: text(rv)}, f)
}

func (o *ours) watchList(f format) stream {
	return o.open(cacher.WatchOptions{
		ResourceVersion: "0", SendInitialEvents: ptr(true), Match: metav1.ResourceVersionMatchNotOlderThan,
	}, f)
}

func (o *ours) list(s scope, f format) int {
	result, err := o.cacher.List(o.ctx, cacher.ListOptions{Predicate: o.predicate(s), ResourceVersion: "0"})
	if err != nil {
		o.tb.Fatal(err)
	}
	if f != bare {
		o.send(result.Items, f)
	}
	return len(result.Items)
}

// send writes the parts of a list, as fakeserver/apiserver puts them together,
// but for its heads, which are small.
func (o *ours) send(items []*cacher.Item, f format) {
	encode := o.body[f]
	for _, item := range items {
		body, err := item.Encoded(string(f), encode)
		if err != nil {
			o.tb.Fatal(err)
		}
		_, _ = o.sink.Write(body)
	}
}

func (o *ours) pages(rv, limit int64) int {
	opts := cacher.ListOptions{ResourceVersion: text(rv), Match: metav1.ResourceVersionMatchExact, Limit: limit}
	n := 0
	for {
		result, err := o.cacher.List(o.ctx, opts)
		if err != nil {
			o.tb.Fatal(err)
		}
		n += len(result.Items)
		if result.Continue == "" {
			return n
		}
		opts = cacher.ListOptions{Limit: limit, Continue: result.Continue}
	}
}

func (o *ours) get(namespace, name string) {
	if _, err := o.cacher.Get(o.ctx, namespace, name, "0"); err != nil {
		o.tb.Fatal(err)
	}
}

func (o *ours) await(rv int64) {
	opts := cacher.ListOptions{ResourceVersion: text(rv), Match: metav1.ResourceVersionMatchNotOlderThan, Limit: 1}
	if _, err := o.cacher.List(o.ctx, opts); err != nil {
		o.tb.Fatal(err)
	}
}

func (o *ours) close() { o.cacher.Close() }

// frames are the encoders of whole events of one format.
type frames struct {
	ids    map[watch.EventType]string
	encode map[watch.EventType]func(runtime.Object) ([]byte, error)
}

func framesOf(f format) frames {
	made := frames{map[watch.EventType]string{}, map[watch.EventType]func(runtime.Object) ([]byte, error){}}
	for _, t := range []watch.EventType{watch.Added, watch.Modified, watch.Deleted} {
		made.ids[t] = string(f) + " " + string(t)
		made.encode[t] = func(obj runtime.Object) ([]byte, error) { return f.frame(t, obj) }
	}
	return made
}

type oursStream struct {
	side    *ours
	watcher *cacher.Watcher
	format  format
}

func (s *oursStream) each(see func() bool) {
	var frames frames
	var to *sink
	if s.format != bare {
		frames, to = framesOf(s.format), &sink{}
	}
	for {
		event, err := s.watcher.Next(s.side.ctx)
		if err != nil {
			return
		}
		if event.Item == nil && !event.InitialEventsEnd {
			continue
		}
		if s.format != bare && event.Item != nil {
			frame, err := event.Item.Encoded(frames.ids[event.Type], frames.encode[event.Type])
			if err != nil {
				s.side.tb.Error(err)
				return
			}
			_, _ = to.Write(frame)
		}
		if !see() {
			return
		}
	}
}

func (s *oursStream) event() delivered {
	event, err := s.watcher.Next(s.side.ctx)
	if err != nil {
		s.side.tb.Fatal(err)
	}
	if event.Item == nil {
		return delivered{Type: event.Type}
	}
	pod := event.Item.Object.(*corev1.Pod)
	if pod.ResourceVersion != strconv.FormatUint(event.ResourceVersion, 10) {
		s.side.tb.Errorf("event of %d holds an object of %s", event.ResourceVersion, pod.ResourceVersion)
	}
	return delivered{event.Type, pod.Namespace + "/" + pod.Name, pod.ResourceVersion}
}

func (s *oursStream) stop() { s.watcher.Stop() }

// listFresh is list of objects that were never sent before.
func (o *ours) listFresh(f format) int {
	result, err := o.cacher.List(o.ctx, cacher.ListOptions{ResourceVersion: "0"})
	if err != nil {
		o.tb.Fatal(err)
	}
	for _, item := range result.Items {
		body, err := o.body[f](item.Object)
		if err != nil {
			o.tb.Fatal(err)
		}
		_, _ = o.sink.Write(body)
	}
	return len(result.Items)
}
