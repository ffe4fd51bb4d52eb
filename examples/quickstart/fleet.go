package main

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/cache"

	"github.com/listwatch/listwatch/examples/quickstart/internal/manifest"
	"github.com/listwatch/listwatch/informer"
	"github.com/listwatch/listwatch/internal/worker"
	"github.com/listwatch/listwatch/reflector"
)

// commonKinds are watched on a real cluster if no manifests say otherwise. No
// Secrets: nobody should be shown those without asking.
var commonKinds = []schema.GroupKind{
	{Kind: "Namespace"}, {Kind: "Node"}, {Kind: "Pod"}, {Kind: "Service"}, {Kind: "ConfigMap"},
	{Kind: "ServiceAccount"}, {Kind: "PersistentVolumeClaim"},
	{Group: "apps", Kind: "Deployment"}, {Group: "apps", Kind: "StatefulSet"}, {Group: "apps", Kind: "DaemonSet"},
	{Group: "batch", Kind: "Job"}, {Group: "batch", Kind: "CronJob"},
	{Group: "networking.k8s.io", Kind: "Ingress"},
	{Group: "coordination.k8s.io", Kind: "Lease"},
}

// member is the informer of one kind.
type member struct {
	mapping  *meta.RESTMapping
	informer *informer.Informer[*unstructured.Unstructured]
	opened   atomic.Pointer[time.Time] // when the server last answered a watch; nil: never
}

func (m *member) kind() string { return m.mapping.GroupVersionKind.Kind }

// fleet is all informers. Use startFleet, then stop.
type fleet struct {
	members []*member
	workers *worker.Group
	failed  chan error    // of an informer that gave up
	moved   chan struct{} // holds one if some informer's state has changed
}

// watchedKinds are the kinds of the objects, each once, or the common ones.
func watchedKinds(settings settings, kinds *manifest.Kinds, objects []manifest.Object) ([]*meta.RESTMapping, error) {
	var mappings []*meta.RESTMapping
	if settings.kubeconfig != "" && len(settings.paths) == 0 {
		for _, kind := range commonKinds {
			mapping, err := kinds.Preferred(kind)
			if err != nil {
				return nil, err
			}
			mappings = append(mappings, mapping)
		}
		return mappings, nil
	}
	known := map[schema.GroupResource]bool{}
	for _, object := range objects {
		resource := object.Mapping.Resource.GroupResource()
		if !known[resource] {
			known[resource] = true
			mappings = append(mappings, object.Mapping)
		}
	}
	return mappings, nil
}

// mayRead asks for one object of each kind: an informer would keep trying where
// it is not allowed to, for permissions can be granted.
func mayRead(ctx context.Context, client dynamic.Interface, mappings []*meta.RESTMapping) error {
	for _, mapping := range mappings {
		if _, err := client.Resource(mapping.Resource).List(ctx, metav1.ListOptions{Limit: 1}); err != nil {
			return fmt.Errorf("list %s: %w; -f takes manifests with the kinds to watch instead", mapping.GroupVersionKind.Kind, err)
		}
	}
	return nil
}

// startFleet makes an informer for each kind and runs it. ctx ends them all.
func startFleet(ctx context.Context, site *site, mappings []*meta.RESTMapping, out *printer) (*fleet, error) {
	f := &fleet{failed: make(chan error, len(mappings)), moved: make(chan struct{}, 1)}
	for _, mapping := range mappings {
		m, err := f.newMember(site, mapping, out)
		if err != nil {
			return nil, err
		}
		f.members = append(f.members, m)
	}
	f.workers = worker.New(ctx)
	for _, m := range f.members {
		f.workers.Go("quickstart: informer of "+m.kind(), func(ctx context.Context) {
			if err := m.informer.Run(ctx); err != nil {
				f.failed <- err
			}
		})
	}
	return f, nil
}

// newMember makes an informer that prints what it is told.
func (f *fleet) newMember(site *site, mapping *meta.RESTMapping, out *printer) (*member, error) {
	m := &member{mapping: mapping}
	client := site.watch.Resource(mapping.Resource)
	source := reflector.FromListerWatcher[*unstructured.Unstructured](&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			return client.List(ctx, options)
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			stream, err := client.Watch(ctx, options)
			if err == nil {
				now := time.Now()
				m.opened.Store(&now)
				f.tellMoved()
			}
			return stream, err
		},
	})
	options := informer.Options[*unstructured.Unstructured]{Name: mapping.Resource.GroupResource().String()}
	if !site.real() {
		// Cut connections are part of the show: come back sooner than would be
		// polite to a real cluster.
		options.Reflector.Backoff.Base = 50 * time.Millisecond
	}
	options.Reflector.Observer = func(reflector.Status) { f.tellMoved() }
	var err error
	if m.informer, err = informer.New(source, options); err != nil {
		return nil, err
	}
	_, err = m.informer.AddHandler(teller{kind: m.kind(), out: out})
	return m, err
}

func (f *fleet) tellMoved() {
	select {
	case f.moved <- struct{}{}:
	default: // somebody is to look already
	}
}

// bind returns a context that also ends when an informer gives up.
func (f *fleet) bind(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	f.workers.Go("quickstart: look after the informers", func(ending context.Context) {
		select {
		case err := <-f.failed:
			cancel(err)
		case <-ctx.Done():
		case <-ending.Done():
		}
	})
	return ctx, func() { cancel(nil) }
}

// stop ends all informers and waits until they are gone.
func (f *fleet) stop() { f.workers.StopAndWait() }

// sync waits until every informer has the whole of its kind.
func (f *fleet) sync(ctx context.Context, out *printer) error {
	out.say("syncing %s, one for each kind", count(len(f.members), "informer"))
	for i, m := range f.members {
		if err := m.informer.WaitForSync(ctx); err != nil {
			return err
		}
		status := m.informer.Status()
		out.say("synced %2d/%d  %s: %s at resourceVersion %s",
			i+1, len(f.members), m.kind(), count(status.Objects, "object"), status.ResourceVersion)
	}
	return nil
}

// await waits until reached, looking again whenever an informer's state changes.
// One goroutine at a time may wait.
func (f *fleet) await(ctx context.Context, reached func() bool) error {
	for !reached() {
		select {
		case <-f.moved:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// of is the member for a kind of the manifests.
func (f *fleet) of(object manifest.Object) *member {
	for _, m := range f.members {
		if m.mapping.Resource.GroupResource() == object.Mapping.Resource.GroupResource() {
			return m
		}
	}
	return nil // there is one for every object
}

// expired counts, for each informer, the relists that a 410 has forced.
func (f *fleet) expired() []int64 {
	var counts []int64
	for _, m := range f.members {
		counts = append(counts, m.informer.Status().Reflector.Relists[reflector.RelistExpired])
	}
	return counts
}

func count(number int, noun string) string {
	if number == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", number, noun)
}
