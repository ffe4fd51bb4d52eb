package clientgo_test

import (
	"context"
	"errors"
	"reflect"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr/funcr"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"github.com/listwatch/listwatch/informer/clientgo"
	"github.com/listwatch/listwatch/internal/bubble"
)

var _ = Describe("What client-go has for shared informers", func() {
	both(func(newInformer maker) {
		bubble.It("waits for them, and for their handlers", func() {
			r := newRig(newInformer)
			inf := r.pods(none)
			release := make(chan struct{})
			reg := must(inf.AddEventHandler(&recorder{onAdd: func(any) { <-release }}))
			r.create("a", nil)
			stop, ended := make(chan struct{}), make(chan struct{})
			go func() { defer close(ended); inf.Run(stop) }()
			ctx := bubble.Context()
			Expect(cache.WaitForCacheSync(stop, inf.HasSynced, inf.GetController().HasSynced)).To(BeTrue())
			Expect(cache.WaitForNamedCacheSync("controller", stop, inf.HasSynced)).To(BeTrue())
			Expect(cache.WaitForNamedCacheSyncWithContext(ctx, inf.HasSynced)).To(BeTrue())
			Expect(cache.WaitFor(ctx, "cache", inf.HasSyncedChecker(), inf.GetController().HasSyncedChecker())).To(BeTrue())
			Expect(inf.HasSyncedChecker().Name()).To(HavePrefix("SharedIndexInformer "))

			short, cancel := context.WithTimeout(ctx, time.Minute)
			defer cancel()
			Expect(cache.WaitFor(short, "handler", inf.HasSyncedChecker(), reg.HasSyncedChecker())).To(BeFalse())
			Expect(cache.WaitForNamedCacheSyncWithContext(short, reg.HasSynced)).To(BeFalse())
			time.AfterFunc(time.Minute, func() { close(release) })
			Expect(cache.WaitFor(ctx, "handler", reg.HasSyncedChecker())).To(BeTrue())
			close(stop)
			<-ended
			Expect(cache.IsDone(inf.HasSyncedChecker())).To(BeTrue())
			Expect(cache.IsDone(reg.HasSyncedChecker())).To(BeTrue())
		})

		bubble.It("waits in vain for what cannot list, until it is told to stop", func() {
			r := newRig(newInformer)
			r.refuse.Store(ptr(func(string) error { return errors.New("no way") }))
			inf := r.pods(none)
			reg := must(inf.AddEventHandler(&recorder{}))
			run(inf)
			ctx, cancel := context.WithTimeout(bubble.Context(), time.Minute)
			defer cancel()
			Expect(cache.WaitForNamedCacheSync("controller", ctx.Done(), inf.HasSynced)).To(BeFalse())
			Expect(cache.WaitFor(ctx, "", inf.HasSyncedChecker(), reg.HasSyncedChecker())).To(BeFalse())
			Expect(inf.LastSyncResourceVersion()).To(BeEmpty())
		})

		bubble.It("filters what a handler is told", func() {
			r := newRig(newInformer)
			inf, h, detailed := r.pods(none), &recorder{}, []string{}
			must(inf.AddEventHandler(cache.FilteringResourceEventHandler{
				FilterFunc: func(obj any) bool { return describe(obj) != "a" && describe(obj) != "b" }, Handler: h,
			}))
			must(inf.AddEventHandler(cache.ResourceEventHandlerDetailedFuncs{AddFunc: func(obj any, initial bool) {
				if initial {
					detailed = append(detailed, describe(obj))
				}
			}}))
			r.create("a", map[string]string{"app": "x"})
			run(inf)
			r.create("b", nil)
			Expect(h.take()).To(Equal([]string{"initial a=x"}))
			Expect(detailed).To(Equal([]string{"a=x"}))
			r.label("b", "y")
			r.label("a", "")
			Expect(h.take()).To(Equal([]string{"add b=y", "delete a=x"}))
		})

		bubble.It("lists what is cached, and overlays it", func() {
			r := newRig(newInformer)
			inf := r.pods(cache.SharedIndexInformerOptions{Indexers: cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc}})
			pod := r.create("a", map[string]string{"app": "x"})
			run(inf)
			Expect(inf.GetIndexer()).To(BeIdenticalTo(inf.GetStore()))
			lister := cache.NewGenericLister(inf.GetIndexer(), schema.GroupResource{Resource: "pods"})
			Expect(must(lister.List(labels.Everything()))).To(HaveLen(1))
			Expect(must(lister.ByNamespace("default").List(labels.SelectorFromSet(labels.Set{"app": "y"})))).To(BeEmpty())
			Expect(must(lister.Get("default/a"))).To(BeIdenticalTo(must(lister.ByNamespace("default").Get("a"))))
			_, err := lister.ByNamespace("other").Get("a")
			Expect(apierrors.IsNotFound(err)).To(BeTrue())

			overlay := cache.NewIntegerResourceVersionMutationCache(klog.Background(), inf.GetStore(), inf.GetIndexer(), time.Minute, false)
			written := pod.DeepCopy()
			written.ResourceVersion, written.Labels = "999999", map[string]string{"app": "mine"}
			overlay.Mutation(written)
			obj, found, err := overlay.GetByKey("default/a")
			Expect(err).NotTo(HaveOccurred())
			Expect(found).To(BeTrue())
			Expect(describe(obj)).To(Equal("a=mine"))
			Expect(must(overlay.ByIndex(cache.NamespaceIndex, "default"))).To(HaveLen(1))
		})

		bubble.It("takes a logger for each handler", func() {
			var lines []string
			logger := funcr.New(func(_, args string) { lines = append(lines, args) }, funcr.Options{})
			inf := newRig(newInformer).pods(none)
			must(inf.AddEventHandlerWithOptions(&recorder{}, cache.HandlerOptions{Logger: &logger, ResyncPeriod: ptr(time.Second)}))
			Expect(lines).To(HaveLen(1), "there is no resync")
		})

		bubble.It("goes on after a handler that panics, if the process is to live", func() {
			defer func(crash bool) { utilruntime.ReallyCrash = crash }(utilruntime.ReallyCrash)
			utilruntime.ReallyCrash = false
			r := newRig(newInformer)
			inf, h, other := r.pods(none), &recorder{onAdd: func(obj any) {
				if describe(obj) == "bad" {
					panic("a bad pod")
				}
			}}, &recorder{}
			must(inf.AddEventHandler(h))
			must(inf.AddEventHandler(other))
			stop := run(inf)
			r.create("bad", nil)
			r.create("good", nil)
			time.Sleep(time.Minute)
			Expect(h.take()).To(Equal([]string{"add good"}))
			Expect(other.take()).To(Equal([]string{"add bad", "add good"}))
			stop()
		})

		bubble.It("has a controller that does nothing", func() {
			r := newRig(newInformer)
			r.create("a", nil)
			inf := r.pods(none)
			inf.GetController().Run(nil)
			inf.GetController().RunWithContext(bubble.Context())
			synctest.Wait()
			Expect(inf.HasSynced()).To(BeFalse())
			Expect(inf.GetController().LastSyncResourceVersion()).To(BeEmpty())
		})
	})

	for name, registered := range map[string]bool{"client-go's": false, "our": true} {
		bubble.It("says which informers of a factory have not synced, of "+name+" informers", func() {
			r := newRig(ours)
			unsupported := func(o *metav1.ListOptions) { o.FieldSelector = "spec.unknown=x" }
			factory := informers.NewSharedInformerFactory(r.client, 0)
			if registered {
				Expect(clientgo.Register(factory, clientgo.Scope{}, &corev1.Pod{})).To(Succeed())
			}
			pods := factory.Core().V1().Pods().Informer()
			ctx, stop := context.WithCancelCause(bubble.Context())
			factory.StartWithContext(ctx)
			synced := factory.WaitForCacheSyncWithContext(ctx)
			Expect(synced.AsError()).NotTo(HaveOccurred())
			Expect(synced.Synced).To(Equal(map[reflect.Type]bool{reflect.TypeFor[*corev1.Pod](): true}))
			Expect(factory.WaitForCacheSync(ctx.Done())).To(Equal(synced.Synced))

			cannot := informers.NewSharedInformerFactoryWithOptions(r.client, 0, informers.WithTweakListOptions(unsupported))
			if registered {
				Expect(clientgo.Register(cannot, clientgo.Scope{TweakListOptions: unsupported}, &corev1.Pod{})).To(Succeed())
			}
			cannot.Core().V1().Pods().Informer()
			cannot.StartWithContext(ctx)
			time.AfterFunc(time.Minute, func() { stop(errors.New("enough")) })
			synced = cannot.WaitForCacheSyncWithContext(ctx)
			Expect(synced.AsError()).To(MatchError(And(ContainSubstring("*v1.Pod"), ContainSubstring("enough"))))
			cannot.Shutdown()
			factory.Shutdown()
			Expect(pods.IsStopped()).To(BeTrue())
		})
	}
})
