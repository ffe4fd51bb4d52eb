package clientgo_test

import (
	"testing/synctest"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/tools/cache"

	"github.com/listwatch/listwatch/informer/clientgo"
	"github.com/listwatch/listwatch/internal/bubble"
)

var _ = Describe("A generated factory", func() {
	bubble.It("hands out our informers for registered types, and client-go's for others", func() {
		r := newRig(ours)
		r.create("a", map[string]string{"app": "x"})
		factory := informers.NewSharedInformerFactoryWithOptions(r.client, 0, informers.WithTransform(func(obj any) (any, error) {
			obj.(metav1.Object).SetLabels(map[string]string{"by": "transform"})
			return obj, nil
		}))
		Expect(clientgo.Register(factory, clientgo.Scope{}, &corev1.Pod{})).To(Succeed())
		pods := factory.Core().V1().Pods()
		_, ok := clientgo.Of(pods.Informer())
		Expect(ok).To(BeTrue())
		generic := must(factory.ForResource(corev1.SchemeGroupVersion.WithResource("pods")))
		Expect(generic.Informer().GetStore()).To(BeIdenticalTo(pods.Informer().GetStore()))
		_, ok = clientgo.Of(factory.Core().V1().Nodes().Informer())
		Expect(ok).To(BeFalse())

		stop := make(chan struct{})
		factory.Start(stop)
		Expect(factory.WaitForCacheSync(stop)).To(HaveLen(2))
		pod := must(pods.Lister().Pods("default").Get("a"))
		Expect(pod.Labels).To(Equal(map[string]string{"by": "transform"}))
		Expect(must(generic.Lister().ByNamespace("default").Get("a"))).To(BeIdenticalTo(pod))
		close(stop)
		factory.Shutdown()
	})

	bubble.It("is shut down while it syncs", func() {
		r := newRig(ours)
		factory := informers.NewSharedInformerFactory(r.client, 0)
		Expect(clientgo.RegisterAll(factory, clientgo.Scope{})).To(Succeed())
		stop := make(chan struct{})
		factory.Start(stop)
		close(stop)
		factory.Shutdown()
	})

	bubble.It("is restricted as it was, or refused", func() {
		r := newRig(ours)
		r.create("a", map[string]string{"app": "x"})
		r.create("b", nil)
		tweak := func(o *metav1.ListOptions) { o.LabelSelector = "app=x" }
		factory := informers.NewSharedInformerFactoryWithOptions(r.client, 0, informers.WithNamespace("default"), informers.WithTweakListOptions(tweak))
		Expect(clientgo.Register(factory, clientgo.Scope{}, &corev1.Pod{})).To(MatchError(clientgo.ErrScope))
		Expect(clientgo.Register(factory, clientgo.Scope{Namespace: "other", TweakListOptions: tweak}, &corev1.Pod{})).To(MatchError(clientgo.ErrScope))
		Expect(clientgo.Register(factory, clientgo.Scope{TweakListOptions: tweak}, &metav1.Status{})).To(MatchError(clientgo.ErrNoInformer))
		Expect(clientgo.Register(factory, clientgo.Scope{TweakListOptions: tweak}, &corev1.Pod{})).To(Succeed())
		inf := factory.Core().V1().Pods().Informer()
		run(inf)
		Expect(inf.GetStore().ListKeys()).To(Equal([]string{"default/a"}))
	})

	bubble.It("has the resync period that it was told", func() {
		r := newRig(ours)
		r.create("a", nil)
		factory := informers.NewSharedInformerFactoryWithOptions(r.client, time.Hour,
			informers.WithCustomResyncConfig(map[metav1.Object]time.Duration{&corev1.Pod{}: time.Minute}))
		Expect(clientgo.Register(factory, clientgo.Scope{}, &corev1.Pod{})).To(Succeed())
		inf, h := factory.Core().V1().Pods().Informer(), &recorder{}
		must(inf.AddEventHandler(h))
		run(inf)
		time.Sleep(time.Minute + time.Second)
		Expect(h.take()).To(Equal([]string{"initial a", "update a to a"}))
	})
})

var _ = Describe("A factory by resource", func() {
	podsResource := corev1.SchemeGroupVersion.WithResource("pods")
	type factory interface {
		Start(stopCh <-chan struct{})
		ForResource(gvr schema.GroupVersionResource) informers.GenericInformer
		WaitForCacheSync(stopCh <-chan struct{}) map[schema.GroupVersionResource]bool
		Shutdown()
	}
	same := func(newFactory func(*rig) factory, example runtime.Object) {
		r := newRig(ours)
		r.create("a", map[string]string{"app": "x"})
		f := newFactory(r)
		pods, h := f.ForResource(podsResource), &recorder{}
		Expect(f.ForResource(podsResource)).To(BeIdenticalTo(pods))
		_, ok := clientgo.Of(pods.Informer())
		Expect(ok).To(BeTrue())
		must(pods.Informer().AddEventHandler(h))
		stop := make(chan struct{})
		f.Start(stop)
		f.Start(stop)
		Expect(f.WaitForCacheSync(stop)).To(Equal(map[schema.GroupVersionResource]bool{podsResource: true}))
		Expect(must(pods.Lister().List(labels.Everything()))).To(HaveLen(1))
		Expect(must(pods.Lister().ByNamespace("default").List(labels.SelectorFromSet(labels.Set{"app": "x"})))).To(HaveLen(1))
		Expect(must(pods.Lister().ByNamespace("default").Get("a"))).To(BeAssignableToTypeOf(example))
		r.label("a", "y")
		Expect(h.take()).To(Equal([]string{"initial a=x", "update a=x to a=y"}))
		close(stop)
		f.Shutdown()
		f.ForResource(corev1.SchemeGroupVersion.WithResource("secrets"))
		f.Start(make(chan struct{})) // nothing
		synctest.Wait()
	}

	bubble.It("gives unstructured objects", func() {
		same(func(r *rig) factory {
			return clientgo.NewDynamicSharedInformerFactory(must(dynamic.NewForConfig(r.server.Config())), 0)
		}, &unstructured.Unstructured{})
	})

	bubble.It("gives metadata", func() {
		same(func(r *rig) factory {
			return clientgo.NewMetadataSharedInformerFactory(must(metadata.NewForConfig(r.server.Config())), 0)
		}, &metav1.PartialObjectMetadata{})
	})

	bubble.It("is restricted as told", func() {
		r := newRig(ours)
		r.create("a", map[string]string{"app": "x"})
		r.create("b", nil)
		f := clientgo.NewFilteredDynamicSharedInformerFactory(must(dynamic.NewForConfig(r.server.Config())), 0, "default",
			func(o *metav1.ListOptions) { o.LabelSelector = "app=x" })
		var inf cache.SharedIndexInformer = f.ForResource(podsResource).Informer()
		run(inf)
		Expect(inf.GetStore().ListKeys()).To(Equal([]string{"default/a"}))
	})
})
