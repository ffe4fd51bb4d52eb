package clientgo_test

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
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

	bubble.It("keeps what it was asked for before, and Register says so", func() {
		factory := informers.NewSharedInformerFactory(newRig(ours).client, 0)
		core := factory.Core().V1()
		before := core.Pods().Informer().GetStore()
		err := clientgo.Register(factory, clientgo.Scope{}, &corev1.ConfigMap{}, &corev1.Pod{}, &corev1.Node{})
		Expect(err).To(MatchError(clientgo.ErrLate))
		Expect(err).To(MatchError(And(ContainSubstring("*v1.Pod"), ContainSubstring("call Register before"),
			Not(ContainSubstring("ConfigMap")), Not(ContainSubstring("Node")))))
		Expect(core.Pods().Informer().GetStore() == before).To(BeTrue())
		for _, other := range []cache.SharedIndexInformer{core.ConfigMaps().Informer(), core.Nodes().Informer()} {
			_, ok := clientgo.Of(other)
			Expect(ok).To(BeTrue(), "registered though another type was late")
		}
		Expect(clientgo.RegisterAll(factory, clientgo.Scope{})).To(MatchError(clientgo.ErrLate))
	})

	bubble.It("takes the same type twice", func() {
		factory := informers.NewSharedInformerFactory(newRig(ours).client, 0)
		Expect(clientgo.Register(factory, clientgo.Scope{}, &corev1.Pod{}, &corev1.Pod{})).To(Succeed())
		pods := factory.Core().V1().Pods()
		first := pods.Informer().GetStore()
		Expect(clientgo.Register(factory, clientgo.Scope{}, &corev1.Pod{})).To(Succeed())
		Expect(pods.Informer().GetStore() == first).To(BeTrue())
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
		Expect(clientgo.Register(factory, clientgo.Scope{TweakListOptions: tweak})).To(MatchError(ContainSubstring("no type is named")))
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
