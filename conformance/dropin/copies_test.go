package dropin

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	toolscache "k8s.io/client-go/tools/cache"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/listwatch/listwatch/internal/bubble"
)

// uncopied are the ways to have a manager's cache hand out objects without a copy.
var uncopied = []struct {
	how    string
	cache  cache.Options
	get    []client.GetOption
	list   []client.ListOption
	copies bool
}{
	{how: "never", copies: true},
	{how: "by default", cache: cache.Options{DefaultUnsafeDisableDeepCopy: ptr(true)}},
	{how: "by object", cache: cache.Options{ByObject: map[client.Object]cache.ByObject{&corev1.ConfigMap{}: {UnsafeDisableDeepCopy: ptr(true)}}}},
	{how: "by namespace", cache: cache.Options{DefaultNamespaces: map[string]cache.Config{"a": {UnsafeDisableDeepCopy: ptr(true)}}}},
	{how: "by object, against the default", copies: true, cache: cache.Options{
		DefaultUnsafeDisableDeepCopy: ptr(true),
		ByObject:                     map[client.Object]cache.ByObject{&corev1.ConfigMap{}: {UnsafeDisableDeepCopy: ptr(false)}},
	}},
	{how: "by call", get: []client.GetOption{client.UnsafeDisableDeepCopy}, list: []client.ListOption{client.UnsafeDisableDeepCopy}},
}

// part is where the content of an object is, which copies do not share.
func part(obj client.Object) uintptr {
	if u, ok := obj.(*unstructured.Unstructured); ok {
		return reflect.ValueOf(u.Object).Pointer()
	}
	return reflect.ValueOf(obj.GetLabels()).Pointer()
}

// uncopy reads all that a manager with informers of m caches, as the k-th way says, and
// tells what is read, and whether it is what handlers were told of.
func uncopy(m maker, k int) []string {
	GinkgoHelper()
	way := uncopied[k]
	srv, _ := newServer()
	o := manage(srv, m, ctrl.Options{Cache: way.cache})
	run(o)
	ctx := bubble.Context()
	var told sync.Map // the last object of each shape and name
	for _, s := range shapes {
		keep := func(obj any) { told.Store(s.name+obj.(client.Object).GetName(), obj) }
		must(must(o.GetCache().GetInformer(ctx, s.object())).AddEventHandler(toolscache.ResourceEventHandlerFuncs{
			AddFunc: func(obj any) { keep(obj) }, UpdateFunc: func(_, obj any) { keep(obj) },
		}))
		synctest.Wait()
	}
	o.settled = func() string {
		var lines []string
		for _, s := range shapes {
			list := s.list()
			Expect(o.GetCache().List(ctx, list, way.list...)).To(Succeed())
			Expect(meta.EachListItem(list, func(item runtime.Object) error {
				listed, got := item.(client.Object), s.object()
				Expect(o.GetCache().Get(ctx, client.ObjectKeyFromObject(listed), got, way.get...)).To(Succeed())
				last, _ := told.Load(s.name + got.GetName())
				original := last.(client.Object)
				Expect(part(got) == part(original)).To(Equal(!way.copies), "%s %s is the one that was told of", s.name, got.GetName())
				Expect(part(listed) == part(original)).To(Equal(!way.copies), "%s %s is the one that was told of", s.name, listed.GetName())
				lines = append(lines, fmt.Sprintf("%s %s %s, listed %v, got %v", s.name, got.GetName(), valueOf(got),
					listed.GetObjectKind().GroupVersionKind(), got.GetObjectKind().GroupVersionKind()))
				return nil
			})).To(Succeed())
		}
		slices.Sort(lines)
		return strings.Join(lines, "\n")
	}
	o.then("start", func() error { o.create("1", "first", "second", "third"); return nil })
	o.then("a change", func() error { o.change("first", "2"); return nil })
	o.then("a gap", o.unseen(nil, func() { o.change("second", "2"); o.remove("third"); o.create("2", "third") }))
	return o.trace
}

var _ = Describe("A manager that hands out what it caches", func() {
	bubble.It("hands out the same objects, without a copy where it is told so", func() {
		for k, way := range uncopied {
			theirs, ours := uncopy(makers[0], k), uncopy(makers[1], k)
			GinkgoWriter.Println(way.how + "\n" + strings.Join(ours, "\n"))
			Expect(cmp.Diff(theirs, ours)).To(BeEmpty(), way.how)
			time.Sleep(time.Minute)
		}
	})
})
