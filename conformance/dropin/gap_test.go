package dropin

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"syscall"

	"github.com/google/go-cmp/cmp"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/listwatch/listwatch/internal/bubble"
)

// shape is one of the ways to watch and read ConfigMaps: each has an informer of its
// own in a manager.
type shape struct {
	name   string
	object func() client.Object
	list   func() client.ObjectList
}

var configKind = corev1.SchemeGroupVersion.WithKind("ConfigMap")

var shapes = []shape{
	{"typed", func() client.Object { return &corev1.ConfigMap{} }, func() client.ObjectList { return &corev1.ConfigMapList{} }},
	{"unstructured", func() client.Object {
		u := &unstructured.Unstructured{}
		u.SetGroupVersionKind(configKind)
		return u
	}, func() client.ObjectList {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(configKind.GroupVersion().WithKind("ConfigMapList"))
		return list
	}},
	{"metadata", func() client.Object {
		m := &metav1.PartialObjectMetadata{}
		m.SetGroupVersionKind(configKind)
		return m
	}, func() client.ObjectList {
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(configKind.GroupVersion().WithKind("ConfigMapList"))
		return list
	}},
}

// configOf is a ConfigMap with a value that every shape of it has.
func configOf(name, value string) *corev1.ConfigMap {
	m := named("a", name, value)
	return &corev1.ConfigMap{ObjectMeta: m, Data: map[string]string{"value": value}}
}

func valueOf(obj client.Object) string { return obj.GetLabels()["watched"] }

// telling asks for a reconcile at every event, and notes it.
func (o *operator) telling(name string) handler.EventHandler {
	tell := func(q workqueue.TypedRateLimitingInterface[reconcile.Request], obj client.Object, format string, args ...any) {
		o.note("%s is told: "+format+" of %s", append(append([]any{name}, args...), obj.GetName())...)
		q.Add(reconcile.Request{NamespacedName: client.ObjectKeyFromObject(obj)})
	}
	return handler.Funcs{
		CreateFunc: func(_ context.Context, e event.CreateEvent, q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			tell(q, e.Object, "create %s, initial %t", valueOf(e.Object), e.IsInInitialList)
		},
		UpdateFunc: func(_ context.Context, e event.UpdateEvent, q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			before, now := e.ObjectOld, e.ObjectNew
			tell(q, now, "update %s to %s, unchanged %t, other UID %t", valueOf(before), valueOf(now),
				before.GetResourceVersion() == now.GetResourceVersion(), before.GetUID() != now.GetUID())
		},
		DeleteFunc: func(_ context.Context, e event.DeleteEvent, q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			tell(q, e.Object, "delete %s, unknown %t", valueOf(e.Object), e.DeleteStateUnknown)
		},
	}
}

// seeing tells the value of an object in the cache.
func (o *operator) seeing(s shape) func(context.Context, client.ObjectKey) string {
	return func(ctx context.Context, key client.ObjectKey) string {
		obj := s.object()
		err := o.GetCache().Get(ctx, key, obj)
		return fmt.Sprint(valueOf(obj), client.IgnoreNotFound(err), err == nil)
	}
}

// contents are the objects of a list, by name.
func contents(list client.ObjectList) map[string]string {
	GinkgoHelper()
	found := map[string]string{}
	Expect(meta.EachListItem(list, func(item runtime.Object) error {
		item.GetObjectKind().SetGroupVersionKind(configKind) // of which lists do not always tell
		found[item.(client.Object).GetName()] = string(must(json.Marshal(item)))
		return nil
	})).To(Succeed())
	return found
}

// cached wants the same in each cache as the server has, also by index.
func (o *operator) cached() {
	GinkgoHelper()
	ctx := bubble.Context()
	for _, s := range shapes {
		cached, live := s.list(), s.list()
		Expect(o.GetCache().List(ctx, cached)).To(Succeed())
		Expect(o.live.List(ctx, live)).To(Succeed())
		Expect(cmp.Diff(contents(live), contents(cached))).To(BeEmpty(), s.name)
		for _, value := range []string{"1", "2", "none"} {
			cached, live := s.list(), s.list()
			Expect(o.GetCache().List(ctx, cached, client.MatchingFields{"value": value})).To(Succeed())
			Expect(o.live.List(ctx, live, client.MatchingLabels{"watched": value})).To(Succeed())
			Expect(cmp.Diff(contents(live), contents(cached))).To(BeEmpty(), "%s by value %s", s.name, value)
		}
	}
}

// newShaped makes a manager with two controllers for each shape: one reconciles at
// every event, the other where the version changed.
func newShaped(m maker, options ctrl.Options) *operator {
	GinkgoHelper()
	srv, _ := newServer()
	o := manage(srv, m, options)
	for _, s := range shapes {
		Expect(o.GetFieldIndexer().IndexField(bubble.Context(), s.object(), "value", func(obj client.Object) []string {
			return []string{valueOf(obj)}
		})).To(Succeed())
		o.control(s.name, builder.ControllerManagedBy(o).Watches(s.object(), o.telling(s.name)), o.seeing(s))
		o.control(s.name+" of changes", builder.ControllerManagedBy(o).For(s.object(), builder.WithPredicates(predicate.ResourceVersionChangedPredicate{})), o.seeing(s))
	}
	return o
}

// change sets the value of an object.
func (o *operator) change(name, value string) {
	GinkgoHelper()
	config := &corev1.ConfigMap{}
	Expect(o.live.Get(bubble.Context(), client.ObjectKey{Namespace: "a", Name: name}, config)).To(Succeed())
	config.Labels["watched"], config.Data["value"] = value, value
	Expect(o.live.Update(bubble.Context(), config)).To(Succeed())
}

func (o *operator) create(value string, names ...string) {
	GinkgoHelper()
	for _, name := range names {
		Expect(o.live.Create(bubble.Context(), configOf(name, value))).To(Succeed())
	}
}

func (o *operator) remove(names ...string) {
	GinkgoHelper()
	for _, name := range names {
		Expect(o.live.Delete(bubble.Context(), configOf(name, ""))).To(Succeed())
	}
}

// unseen has things happen while the manager is cut off, which forgets no history but
// the server's. what is what its requests end with meanwhile.
func (o *operator) unseen(why error, do func()) func() error {
	return func() error {
		o.net.why = why
		unseen(o.server, do, o.net, o.beside...)
		return nil
	}
}

// start runs the manager until the end of the spec.
func (o *operator) start() error { run(o); return nil }

// gaps plays a manager with informers of m through two gaps.
func gaps(m maker) []string {
	GinkgoHelper()
	o := newShaped(m, ctrl.Options{})
	do := func(f func()) func() error { return func() error { f(); return nil } }
	o.create("1", "same", "changed", "deleted", "again", "twin")
	o.then("start", o.start)
	o.cached()
	o.then("much happens unseen", o.unseen(nil, func() {
		o.change("changed", "2")
		o.remove("deleted", "again", "twin")
		o.create("2", "again", "new")
		o.create("1", "twin")
		o.create("1", "flash")
		o.remove("flash")
	}))
	o.cached()
	o.then("something seen", do(func() { o.change("again", "3"); o.remove("new"); o.create("2", "deleted") }))
	o.cached()
	o.then("connections are refused meanwhile", o.unseen(syscall.ECONNREFUSED, func() {
		o.change("again", "1")
		o.change("again", "2")
		o.remove("twin", "deleted", "changed")
		o.create("1", "deleted")
	}))
	o.cached()
	o.then("nothing happens unseen", o.unseen(nil, func() { o.create("1", "flash"); o.remove("flash") }))
	o.cached()
	o.then("all is deleted unseen", o.unseen(nil, func() { o.remove("same", "again", "deleted") }))
	o.cached()
	o.then("one comes back", do(func() { o.create("1", "same") }))
	o.cached()
	return o.trace
}

// only are the lines of a trace that another has not, or not as often, at the same
// step.
func only(trace, other []string) []string {
	has := map[string]int{}
	lines := []string{}
	step := ""
	count := func(trace []string, do func(line, key string)) {
		for _, line := range trace {
			if strings.HasPrefix(line, "# ") {
				step = line
			}
			do(line, step+line)
		}
	}
	count(other, func(_, key string) { has[key]++ })
	count(trace, func(line, key string) {
		if has[key]--; has[key] < 0 {
			lines = append(lines, line)
		}
	})
	return slices.Compact(lines) // client-go lists as often as chance wants
}

var _ = Describe("A manager that is cut off while the server's history is forgotten", func() {
	bubble.It("reconciles the same afterwards, with our informers only what has changed", func() {
		theirs, ours := gaps(makers[0]), gaps(makers[1])
		GinkgoWriter.Println(strings.Join(ours, "\n"))
		Expect(only(ours, theirs)).To(BeEmpty())
		var unchanged []string
		for _, values := range []map[string]string{{"same": "1"}, {"same": "1"}, {"same": "1", "again": "2", "deleted": "1"}} { // by gap
			var lines []string
			for name, value := range values {
				for _, s := range shapes {
					lines = append(lines, fmt.Sprintf("%s a/%s: %s<nil> true", s.name, name, value),
						fmt.Sprintf("%s is told: update %s to %s, unchanged true, other UID false of %s", s.name, value, value, name))
				}
			}
			slices.Sort(lines)
			unchanged = append(unchanged, lines...)
		}
		Expect(cmp.Diff(unchanged, only(theirs, ours))).To(BeEmpty())
	})
})
