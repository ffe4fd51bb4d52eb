package bench

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/endpoints/request"
	upstream "k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/storage/cacher"
	"k8s.io/client-go/tools/cache"

	"github.com/listwatch/listwatch/fakeserver/storage"
)

// peer is kube-apiserver's watch cache, set up as it is there for pods.
type peer struct {
	tb        testing.TB
	ctx       context.Context
	cancel    context.CancelFunc
	cacher    *cacher.Cacher
	delegator *cacher.CacheDelegator
	codecs    map[format]runtime.Encoder
	sink      sink
}

var newPeer = newSide{"peer", makePeer}

func makePeer(tb testing.TB, memory *storage.Memory, decode decode) side {
	store := &peerStorage{memory: memory, decode: decode}
	made, err := cacher.NewCacherFromConfig(cacher.Config{
		Storage: store, Versioner: store.Versioner(), GroupResource: schema.GroupResource{Resource: "pods"},
		EventsHistoryWindow: cacher.DefaultEventFreshDuration, ResourcePrefix: podsPrefix,
		KeyFunc:      func(obj runtime.Object) (string, error) { return keyOf(obj.(*corev1.Pod)), nil },
		GetAttrsFunc: attributes,
		IndexerFuncs: upstream.IndexerFuncs{nodeNameName: func(obj runtime.Object) string { return obj.(*corev1.Pod).Spec.NodeName }},
		Indexers: &cache.Indexers{
			upstream.FieldIndex(nodeNameName): func(obj any) ([]string, error) {
				return []string{obj.(*corev1.Pod).Spec.NodeName}, nil
			},
			upstream.FieldIndex("metadata.namespace"): func(obj any) ([]string, error) {
				return []string{obj.(*corev1.Pod).Namespace}, nil
			},
		},
		NewFunc:     func() runtime.Object { return &corev1.Pod{} },
		NewListFunc: func() runtime.Object { return &corev1.PodList{} },
		Codec:       peerCodecs.LegacyCodec(corev1.SchemeGroupVersion),
	})
	if err != nil {
		tb.Fatal(err)
	}
	p := &peer{tb: tb, cacher: made, delegator: cacher.NewCacheDelegator(made, store), codecs: map[format]runtime.Encoder{
		formatJSON: formatJSON.codec(), formatProtobuf: formatProtobuf.codec(),
	}}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	ready, cancel := context.WithTimeout(p.ctx, time.Minute)
	defer cancel()
	if err := made.Wait(ready); err != nil {
		tb.Fatal(err)
	}
	return p
}

func attributes(obj runtime.Object) (labels.Set, fields.Set, error) {
	pod := obj.(*corev1.Pod)
	set := selectable(obj)
	set["metadata.name"] = pod.Name
	set["metadata.namespace"] = pod.Namespace
	return pod.Labels, set, nil
}

func (p *peer) name() string { return "peer" }

// request returns the context, the key and the options of a request, as the
// registry of kube-apiserver makes them for pods.
func (p *peer) request(s scope) (context.Context, string, upstream.ListOptions) {
	ctx, key := p.ctx, podsPrefix
	opts := upstream.ListOptions{Recursive: true, Predicate: upstream.SelectionPredicate{
		Label: labels.Everything(), Field: fields.Everything(), GetAttrs: attributes,
		IndexFields: []string{nodeNameName, "metadata.namespace"},
	}}
	if s.namespace != "" {
		key += s.namespace
		ctx = request.WithRequestInfo(request.WithNamespace(ctx, s.namespace), &request.RequestInfo{Namespace: s.namespace})
	}
	if s.labels != nil {
		opts.Predicate.Label = s.labels
	}
	if s.node != "" {
		opts.Predicate.Field = fields.OneTermEqualSelector(nodeNameName, s.node)
	}
	return ctx, key, opts
}

func (p *peer) open(ctx context.Context, key string, opts upstream.ListOptions, f format) stream {
	opts.Predicate.AllowWatchBookmarks = true
	w, err := p.delegator.Watch(ctx, key, opts)
	if err != nil {
		p.tb.Fatal(err)
	}
	return &peerStream{side: p, watch: w, format: f}
}

func (p *peer) watch(s scope, rv int64, f format) stream {
	ctx, key, opts := p.request(s)
	opts.ResourceVersion = text(rv)
	return p.open(ctx, key, opts, f)
}

func (p *peer) watchList(f format) stream {
	ctx, key, opts := p.request(scope{})
	opts.ResourceVersion = "0"
	opts.ResourceVersionMatch = metav1.ResourceVersionMatchNotOlderThan
	opts.SendInitialEvents = ptr(true)
	return p.open(ctx, key, opts, f)
}

func (p *peer) getList(s scope, change func(*upstream.ListOptions)) *corev1.PodList {
	ctx, key, opts := p.request(s)
	change(&opts)
	result := &corev1.PodList{}
	if err := p.delegator.GetList(ctx, key, opts, result); err != nil {
		p.tb.Fatal(err)
	}
	return result
}

func (p *peer) list(s scope, f format) int {
	result := p.getList(s, func(o *upstream.ListOptions) { o.ResourceVersion = "0" })
	if f != bare {
		if err := p.codecs[f].Encode(result, &p.sink); err != nil {
			p.tb.Fatal(err)
		}
	}
	return len(result.Items)
}

func (p *peer) pages(rv, limit int64) int {
	n, next := 0, ""
	for {
		result := p.getList(scope{}, func(o *upstream.ListOptions) {
			o.Predicate.Limit, o.Predicate.Continue = limit, next
			if next == "" {
				o.ResourceVersion, o.ResourceVersionMatch = text(rv), metav1.ResourceVersionMatchExact
			}
		})
		n += len(result.Items)
		if next = result.Continue; next == "" {
			return n
		}
	}
}

func (p *peer) get(namespace, name string) {
	var pod corev1.Pod
	key := podsPrefix + namespace + "/" + name
	if err := p.delegator.Get(p.ctx, key, upstream.GetOptions{ResourceVersion: "0"}, &pod); err != nil {
		p.tb.Fatal(err)
	}
}

func (p *peer) await(rv int64) {
	p.getList(scope{namespace: "none"}, func(o *upstream.ListOptions) {
		o.ResourceVersion, o.ResourceVersionMatch = text(rv), metav1.ResourceVersionMatchNotOlderThan
	})
}

func (p *peer) close() {
	p.cancel()
	p.delegator.Stop()
	p.cacher.Stop()
}

type peerStream struct {
	side   *peer
	watch  watch.Interface
	format format
}

func (s *peerStream) each(see func() bool) {
	var encoder *peerEncoder
	if s.format != bare {
		encoder = newPeerEncoder(s.format, &sink{})
	}
	for event := range s.watch.ResultChan() {
		if event.Type == watch.Bookmark && !endsInitialEvents(event.Object) {
			continue
		}
		if encoder != nil {
			if err := encoder.send(event); err != nil {
				s.side.tb.Error(err)
				return
			}
		}
		if !see() {
			return
		}
	}
}

func endsInitialEvents(obj runtime.Object) bool {
	return obj.(metav1.Object).GetAnnotations()[metav1.InitialEventsAnnotationKey] == "true"
}

func (s *peerStream) event() delivered {
	event, ok := <-s.watch.ResultChan()
	if !ok {
		s.side.tb.Fatal("the watch ended")
	}
	if event.Type == watch.Bookmark {
		return delivered{Type: event.Type}
	}
	pod := event.Object.(metav1.Object)
	return delivered{event.Type, pod.GetNamespace() + "/" + pod.GetName(), pod.GetResourceVersion()}
}

func (s *peerStream) stop() { s.watch.Stop() }
