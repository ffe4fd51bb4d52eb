package dropin

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	toolscache "k8s.io/client-go/tools/cache"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/listwatch/listwatch/internal/bubble"
)

// handled has a handler of an informer note what it is told.
func (o *operator) handled(name string, inf cache.Informer) toolscache.ResourceEventHandlerRegistration {
	GinkgoHelper()
	return must(inf.AddEventHandler(toolscache.ResourceEventHandlerDetailedFuncs{
		AddFunc: func(obj any, initial bool) {
			o.note("%s is told: add %s %s, initial %t", name, obj.(client.Object).GetName(), valueOf(obj.(client.Object)), initial)
		},
		UpdateFunc: func(_, obj any) {
			o.note("%s is told: update %s %s", name, obj.(client.Object).GetName(), valueOf(obj.(client.Object)))
		},
		DeleteFunc: func(obj any) {
			_, tombstone := obj.(toolscache.DeletedFinalStateUnknown)
			o.note("%s is told: delete, tombstone %t", name, tombstone)
		},
	}))
}

// reading tells what a read says within a minute.
func (o *operator) reading(obj client.Object) string {
	ctx, cancel := context.WithTimeout(bubble.Context(), time.Minute)
	defer cancel()
	err := o.GetCache().Get(ctx, client.ObjectKey{Namespace: "a", Name: "first"}, obj)
	var missing *cache.ErrResourceNotCached
	var early *cache.ErrCacheNotStarted
	return fmt.Sprintf("%s %v, not cached %t, not started %t, timeout %t", valueOf(obj), err,
		errors.As(err, &missing), errors.As(err, &early), apierrors.IsTimeout(err))
}

// cutOff asks for an informer that cannot sync.
func (o *operator) cutOff(s shape) {
	GinkgoHelper()
	ctx := bubble.Context()
	Expect(o.GetCache().RemoveInformer(ctx, s.object())).To(Succeed())
	Expect(o.GetCache().RemoveInformer(ctx, s.object())).To(Succeed())
	o.note("removed %s", o.reading(s.object()))
	Expect(o.GetCache().RemoveInformer(ctx, s.object())).To(Succeed())
	o.net.down.Store(true)
	inf := must(o.GetCache().GetInformer(ctx, s.object(), cache.BlockUntilSynced(false)))
	reg := o.handled(s.name, inf)
	o.note("synced %t %t, stopped %t", inf.HasSynced(), reg.HasSynced(), inf.IsStopped())
	o.note("cut off %s", o.reading(s.object()))
	brief, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	_, err := o.GetCache().GetInformer(brief, s.object())
	o.note("asked %t", apierrors.IsTimeout(err))
	o.net.down.Store(false)
}

// coming plays a manager whose informers are asked for while it runs, cut off and not,
// and removed.
//
// bubble: used in them only
func coming(m maker, options cache.Options) []string {
	GinkgoHelper()
	srv, _ := newServer()
	o := manage(srv, m, ctrl.Options{Cache: options})
	ctx := bubble.Context()
	o.create("1", "first")
	o.note("early %s", o.reading(&corev1.ConfigMap{}))
	must(o.GetRESTMapper().RESTMapping(configKind.GroupKind(), configKind.Version)) // remembers it
	run(o)
	o.note("at first %s", o.reading(&corev1.ConfigMap{}))
	for _, s := range shapes {
		o.then(s.name+": cut off", func() error { o.cutOff(s); return nil })
		inf := must(o.GetCache().GetInformer(ctx, s.object()))
		o.then(s.name+": back", func() error {
			o.note("synced %t, stopped %t, %s", inf.HasSynced(), inf.IsStopped(), o.reading(s.object()))
			Expect(o.GetCache().IndexField(ctx, s.object(), "value", func(obj client.Object) []string { return []string{valueOf(obj)} })).To(Succeed())
			o.create("2", "second")
			return nil
		})
		late := o.handled(s.name+", late", inf)
		o.then(s.name+": a late handler", func() error {
			Expect(toolscache.WaitForCacheSync(ctx.Done(), late.HasSynced)).To(BeTrue())
			list := s.list()
			Expect(o.GetCache().List(ctx, list, client.MatchingFields{"value": "2"})).To(Succeed())
			o.note("by index %d", len(contents(list)))
			return nil
		})
		o.then(s.name+": without it", func() error {
			Expect(inf.RemoveEventHandler(late)).To(Succeed())
			Expect(inf.RemoveEventHandler(late)).To(Succeed())
			synctest.Wait()
			o.remove("second")
			return nil
		})
		o.then(s.name+": removed", func() error {
			Expect(o.GetCache().RemoveInformer(ctx, s.object())).To(Succeed())
			time.Sleep(time.Minute)
			_, err := inf.AddEventHandler(toolscache.ResourceEventHandlerFuncs{})
			o.note("stopped %t, synced %t, handlers %t, indexes %t", inf.IsStopped(), inf.HasSynced(), err == nil,
				inf.AddIndexers(toolscache.Indexers{"late": toolscache.MetaNamespaceIndexFunc}) == nil)
			o.change("first", "1")
			return nil
		})
	}
	return o.trace
}

var _ = Describe("The informers of a manager", func() {
	for _, c := range []struct {
		how     string
		options cache.Options
	}{
		{"are made by reads", cache.Options{}},
		{"are not made by reads", cache.Options{ReaderFailOnMissingInformer: true}},
		{"are of some namespaces only", cache.Options{DefaultNamespaces: map[string]cache.Config{"a": {}, "b": {}}}},
	} {
		bubble.It("come and go the same with client-go's and with ours, which "+c.how, func() {
			theirs, ours := coming(makers[0], c.options), coming(makers[1], c.options)
			GinkgoWriter.Println(strings.Join(ours, "\n"))
			Expect(cmp.Diff(theirs, ours)).To(BeEmpty())
			Expect(slices.ContainsFunc(ours, func(line string) bool { return strings.Contains(line, "not cached true") })).To(Equal(c.options.ReaderFailOnMissingInformer))
		})
	}
})
