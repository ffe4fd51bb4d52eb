package factory_test

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/listwatch/listwatch/informer"
	"github.com/listwatch/listwatch/informer/factory"
	"github.com/listwatch/listwatch/internal/bubble"
	"github.com/listwatch/listwatch/reflector"
)

// image is what a cache of pods is to keep.
type image struct {
	metav1.TypeMeta
	metav1.ObjectMeta
	Image string
}

func (i *image) DeepCopyObject() runtime.Object {
	out := *i
	out.ObjectMeta = *i.ObjectMeta.DeepCopy()
	return &out
}

// imageOf is a mapping.
func imageOf(pod *corev1.Pod) (*image, error) {
	return &image{ObjectMeta: metav1.ObjectMeta{
		Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID, ResourceVersion: pod.ResourceVersion,
	}, Image: pod.Spec.Containers[0].Image}, nil
}

// mark is a transform of what the mapping returns.
func mark(obj *image) (*image, error) {
	obj.Image += " (in use)"
	return obj, nil
}

// observe is an Observer.
func observe(reflector.Status) {}

var _ = Describe("A factory's informer", func() {
	bubble.It("caches what a mapping makes", func() {
		r := newRig(factory.Options{})
		for _, name := range []string{"a", "b", "c"} {
			r.namespace(name)
			r.pod(name, "web", nil)
		}
		all := must(factory.For[*image](r.Factory, factory.WithMapping(imageOf), factory.WithTransform(mark)))
		some := must(factory.For[*image](r.Factory, factory.WithMapping(imageOf), factory.WithNamespaces("a", "c")))
		Expect(must(factory.For[*image](r.Factory, factory.WithMapping(imageOf), factory.WithTransform(mark)))).To(BeIdenticalTo(all))
		Expect(all.Name()).To(Equal("pods.v1 mapped to factory_test.image"))
		Expect(some.Name()).To(Equal("pods.v1 in a,c mapped to factory_test.image"))
		r.start()
		Expect(some.Snapshot().Keys()).To(Equal([]string{"a/web", "c/web"}))
		obj, _ := some.Snapshot().Get("c/web")
		Expect(obj.Image).To(Equal("registry/web:1"))
		obj, _ = all.Snapshot().Get("b/web")
		Expect(obj.Image).To(Equal("registry/web:1 (in use)"))
	})

	bubble.It("is not shown by views if a mapping made it", func() {
		r := newRig(factory.Options{})
		r.pod("default", "web", map[string]string{"app": "web"})
		must(factory.For[*image](r.Factory, factory.WithMapping(imageOf)))
		metas := must(factory.Metadata(r.Factory, podsResource))
		r.start()
		meta, _ := metas.Snapshot().Get("default/web")
		Expect(meta.Labels).To(HaveKey("app"))
		Expect(r.asked.lists()).To(Equal([]string{"/api/v1/pods 2"}))
	})

	bubble.It("has one mapping, of its own types", func() {
		r := newRig(factory.Options{})
		must(factory.For[*image](r.Factory, factory.WithMapping(imageOf)))
		_, err := factory.For[*image](r.Factory, factory.WithMapping(func(*corev1.Pod) (*image, error) { return nil, nil }))
		Expect(err).To(MatchError(factory.ErrConflict))
		Expect(err).To(MatchError(ContainSubstring("mapping: github.com/listwatch/listwatch/informer/factory_test.imageOf, not ")))
		_, err = factory.For[*image](r.Factory, factory.WithResource(podsResource))
		Expect(err).To(MatchError(ContainSubstring("factory_test.imageOf, not none")))
		_, err = factory.For[*corev1.Pod](r.Factory, factory.WithMapping(imageOf))
		Expect(err).To(MatchError(factory.ErrInvalidOptions))
		_, err = factory.For[*image](r.Factory, factory.WithMapping[*corev1.Pod, *image](nil))
		Expect(err).To(MatchError(factory.ErrInvalidOptions))
		_, err = factory.For[*image](r.Factory)
		Expect(err).To(MatchError(factory.ErrUnknownKind))
	})

	bubble.It("is read as its options say, in whatever order they come", func() {
		r := newRig(factory.Options{Defaults: []factory.Option{factory.WithJSON()}})
		web := labels.SelectorFromSet(labels.Set{"app": "web"})
		pods := must(factory.For[*corev1.Pod](r.Factory, factory.WithREST(reflector.WithoutManagedFields(), reflector.WithSharing(0)), factory.WithLabels(web)))
		Expect(must(factory.For[*corev1.Pod](r.Factory,
			factory.WithSharing(32<<20), factory.WithREST(reflector.WithLabelSelector(web)), factory.WithoutManagedFields()))).To(BeIdenticalTo(pods))
		_, err := factory.For[*corev1.Pod](r.Factory, factory.WithLabels(web), factory.WithREST(reflector.WithClientDecoding()), factory.WithSharing(7))
		Expect(err).To(MatchError(factory.ErrConflict))
		Expect(err).To(MatchError(HaveSuffix("ClientDecoding: false, not true; WithoutManagedFields: true, not false; Sharing: 33554432, not 7")))
		r.start()
		Expect(r.asked.newest("/api/v1/pods").Header.Get("Accept")).To(Equal("application/json"))
		Expect(r.asked.newest("/api/v1/pods").URL.Query().Get("labelSelector")).To(Equal("app=web"))
	})

	bubble.It("reads a shard of its own", func() {
		r := newRig(factory.Options{})
		const half = "shardRange(object.metadata.uid, '0x0000000000000000', '0x8000000000000000')"
		pods := must(factory.For[*corev1.Pod](r.Factory))
		part := must(factory.For[*corev1.Pod](r.Factory, factory.WithREST(reflector.WithShard(half))))
		Expect(part).NotTo(BeIdenticalTo(pods))
		Expect(part.Name()).To(Equal("pods.v1 of " + half))
	})

	bubble.It("has an informer as its own options say", func() {
		found := make(chan *informer.Mutation, 1)
		detecting := factory.WithInformer(factory.InformerOptions{DetectMutations: true, OnMutation: func(m *informer.Mutation) { found <- m }})
		r := newRig(factory.Options{Defaults: []factory.Option{detecting}})
		r.pod("default", "web", nil)
		pods := must(factory.For[*corev1.Pod](r.Factory))
		Expect(must(factory.For[*corev1.Pod](r.Factory, detecting))).To(BeIdenticalTo(pods))
		_, err := factory.For[*corev1.Pod](r.Factory, factory.WithInformer(factory.InformerOptions{MaxPending: 9}))
		Expect(err).To(MatchError(factory.ErrConflict))
		Expect(err).To(MatchError(ContainSubstring("MaxPending: 0, not 9; DetectMutations: true, not false; OnMutation: ")))
		updates := factory.WithInformer(factory.InformerOptions{NewUIDUpdates: true})
		_, err = factory.For[*corev1.Node](r.Factory, factory.WithNamespaces("a", "b"), updates)
		Expect(err).To(MatchError(informer.ErrInvalidOptions))
		must(factory.For[*corev1.Node](r.Factory, updates))
		must(pods.AddHandler(informer.HandlerFuncs[*corev1.Pod]{
			AddFunc: func(pod *corev1.Pod, _ bool) { pod.Labels = map[string]string{"by": "mistake"} },
		}))
		r.start()
		Expect((<-found).Key).To(Equal("default/web"))
	})

	bubble.It("has a reflector as its own options say", func() {
		r := newRig(factory.Options{Reflector: reflector.Options{DisableWatchList: true, Observer: observe}})
		own := factory.WithReflector(reflector.Options{PageSize: 3, DisableWatchList: true, Backoff: reflector.Backoff{Base: time.Second}})
		nodes := must(factory.For[*corev1.Node](r.Factory, own))
		must(factory.For[*corev1.Pod](r.Factory))
		must(factory.For[*corev1.Pod](r.Factory, factory.WithReflector(reflector.Options{DisableWatchList: true, Observer: observe}))) // the same
		Expect(must(factory.For[*corev1.Node](r.Factory, own))).To(BeIdenticalTo(nodes))
		_, err := factory.For[*corev1.Node](r.Factory)
		Expect(err).To(MatchError(factory.ErrConflict))
		Expect(err).To(MatchError(ContainSubstring("PageSize: 3, not 0; Backoff: {1s 0s 0 0 0s}, not {0s 0s 0 0 0s}; Observer: none, not ")))
		_, err = factory.For[*corev1.Pod](r.Factory, factory.WithReflector(reflector.Options{DisableWatchList: true, Observer: func(reflector.Status) {}}))
		Expect(err).To(MatchError(factory.ErrConflict))
		r.start()
		Expect(r.asked.newest("/api/v1/nodes").URL.Query().Get("limit")).To(Equal("3"))
		Expect(r.asked.newest("/api/v1/pods").URL.Query().Get("limit")).To(Equal("500"))
	})
})
