package factory_test

import (
	"context"
	"errors"
	"runtime"
	"testing/synctest"
	"weak"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/listwatch/listwatch/indexer"
	"github.com/listwatch/listwatch/informer"
	"github.com/listwatch/listwatch/informer/factory"
	"github.com/listwatch/listwatch/internal/bubble"
)

// must is for calls that cannot fail in a spec.
func must[T any](value T, err error) T {
	GinkgoHelper()
	Expect(err).NotTo(HaveOccurred())
	return value
}

// strip is a transform.
func strip(pod *corev1.Pod) (*corev1.Pod, error) {
	pod.Spec = corev1.PodSpec{}
	return pod, nil
}

func byApp(pod *corev1.Pod) []string { return []string{pod.Labels["app"]} }

var _ = Describe("A factory", func() {
	bubble.It("returns the same informer to whoever asks for the same", func() {
		r := newRig(factory.Options{})
		web := factory.WithLabels(labels.SelectorFromSet(labels.Set{"app": "web"}))
		first := must(factory.For[*corev1.Pod](r.Factory, factory.WithNamespaces("b", "a")))
		Expect(must(factory.For[*corev1.Pod](r.Factory, factory.WithNamespaces("a", "b", "a")))).To(BeIdenticalTo(first))
		Expect(must(factory.For[*corev1.Pod](r.Factory, factory.WithNamespaces("a")))).NotTo(BeIdenticalTo(first))
		Expect(must(factory.For[*corev1.Pod](r.Factory))).NotTo(BeIdenticalTo(first))
		Expect(must(factory.For[*corev1.Pod](r.Factory, web))).
			To(BeIdenticalTo(must(factory.For[*corev1.Pod](r.Factory, web, factory.WithNamespaces()))))
		Expect(must(factory.For[*appsv1.Deployment](r.Factory)).Name()).To(Equal("deployments.v1.apps"))
		var names []string
		for _, s := range r.Status() {
			names = append(names, s.Name)
		}
		Expect(names).To(Equal([]string{"pods.v1 in a,b", "pods.v1 in a", "pods.v1", "pods.v1 with labels app=web", "deployments.v1.apps"}))
		Expect(r.asked.lists()).To(BeEmpty()) // nothing runs yet
	})

	bubble.It("keeps several kinds in sync, with one list each", func() {
		r := newRig(factory.Options{})
		r.pod("default", "web", nil)
		pods := must(factory.For[*corev1.Pod](r.Factory))
		spaces := must(factory.List[*corev1.Namespace](r.Factory))
		r.start()
		_, found := pods.Snapshot().Get("default/web")
		Expect(found).To(BeTrue())
		Expect(must(spaces.Get("default")).Name).To(Equal("default"))
		_, err := spaces.Get("nowhere")
		Expect(err).To(MatchError(`namespaces "nowhere" not found`))
		Expect(r.asked.lists()).To(Equal([]string{"/api/v1/namespaces 1", "/api/v1/pods 1"}))
	})

	bubble.It("joins namespaces", func() {
		r := newRig(factory.Options{})
		for _, name := range []string{"a", "b", "c"} {
			r.namespace(name)
			r.pod(name, "web", nil)
		}
		pods := must(factory.For[*corev1.Pod](r.Factory, factory.WithNamespaces("a", "c")))
		r.start()
		Expect(pods.Snapshot().Keys()).To(Equal([]string{"a/web", "c/web"}))
		Expect(r.asked.lists()).To(Equal([]string{"/api/v1/namespaces/a/pods 1", "/api/v1/namespaces/c/pods 1"}))
	})

	bubble.It("starts informers that are made while it runs", func() {
		r := newRig(factory.Options{})
		r.start()
		r.pod("default", "web", nil)
		pods := must(factory.For[*corev1.Pod](r.Factory))
		Expect(pods.WaitForSync(bubble.Context())).To(Succeed())
		Expect(pods.Snapshot().Keys()).To(Equal([]string{"default/web"}))
	})

	bubble.It("names both places when options differ", func() {
		r := newRig(factory.Options{})
		must(factory.For[*corev1.Pod](r.Factory, factory.WithTransform(strip), factory.WithIndex("app", byApp)))
		must(factory.For[*corev1.Pod](r.Factory, factory.WithTransform(strip), factory.WithIndex("app", byApp))) // the same
		_, err := factory.For[*corev1.Pod](r.Factory)
		Expect(err).To(MatchError(factory.ErrConflict))
		Expect(err).To(MatchError(MatchRegexp(`^factory: pods.v1, made at \S+factory_test.go:\d+, asked for at \S+factory_test.go:\d+: ` +
			`informer exists with other options: transform: \S+factory_test.strip, not none$`)))
		for range 2 {
			n := 0
			_, err = factory.For[*corev1.Pod](r.Factory, factory.WithoutManagedFields(),
				factory.WithTransform(func(pod *corev1.Pod) (*corev1.Pod, error) { n++; return pod, nil }))
			Expect(err).To(MatchError(ContainSubstring("WithoutManagedFields: false, not true")))
		}
		_, err = factory.For[*corev1.Pod](r.Factory, factory.WithTransform(strip),
			factory.WithIndex("app", func(*corev1.Pod) []string { return nil }))
		Expect(err).To(MatchError(factory.ErrConflict))
	})

	bubble.It("tells functions of one place with other variables apart", func() {
		r := newRig(factory.Options{})
		var label []factory.Option
		for _, value := range []string{"a", "b"} {
			label = append(label, factory.WithTransform(func(pod *corev1.Pod) (*corev1.Pod, error) {
				pod.Labels = map[string]string{"as": value}
				return pod, nil
			}))
		}
		must(factory.For[*corev1.Pod](r.Factory, label[0]))
		must(factory.For[*corev1.Pod](r.Factory, label[0]))
		_, err := factory.For[*corev1.Pod](r.Factory, label[1])
		Expect(err).To(MatchError(factory.ErrConflict))
		Expect(err).To(MatchError(HaveSuffix("made anew")))
	})

	bubble.It("refuses what makes no sense", func() {
		r := newRig(factory.Options{})
		_, err := factory.For[*corev1.Node](r.Factory, factory.WithTransform(strip))
		Expect(err).To(MatchError(factory.ErrInvalidOptions))
		_, err = factory.For[*corev1.Node](r.Factory, factory.WithIndex("app", byApp))
		Expect(err).To(MatchError(factory.ErrInvalidOptions))
		_, err = factory.For[*metav1.PartialObjectMetadata](r.Factory)
		Expect(err).To(MatchError(factory.ErrUnknownKind))
		_, err = factory.For[*corev1.Node](r.Factory, factory.WithIndex[*corev1.Node]("app", nil))
		Expect(err).To(MatchError(factory.ErrInvalidOptions))
		_, err = factory.For[*corev1.Node](r.Factory, factory.WithIndex("", func(*corev1.Node) []string { return nil }))
		Expect(err).To(MatchError(factory.ErrInvalidOptions))
		_, err = factory.For[*corev1.Node](nil)
		Expect(err).To(MatchError(factory.ErrInvalidOptions))
		_, err = factory.New(nil, factory.Options{})
		Expect(err).To(MatchError(factory.ErrInvalidOptions))
		Expect(r.Informers()).To(BeEmpty()) // what was refused made none
	})

	bubble.It("does not take an index for its own that somebody else has added", func() {
		r := newRig(factory.Options{})
		pods := must(factory.For[*corev1.Pod](r.Factory))
		Expect(pods.AddIndex("app", func(*corev1.Pod) []string { return nil })).To(Succeed())
		for range 2 {
			_, err := factory.For[*corev1.Pod](r.Factory, factory.WithIndex("app", byApp))
			Expect(err).To(MatchError(indexer.ErrIndexExists))
		}
	})

	bubble.It("ignores nil options and selectors", func() {
		r := newRig(factory.Options{Defaults: []factory.Option{nil}})
		pods := must(factory.For[*corev1.Pod](r.Factory))
		Expect(must(factory.For[*corev1.Pod](r.Factory, nil, factory.WithREST(nil), factory.WithLabels(nil), factory.WithFields(nil)))).
			To(BeIdenticalTo(pods))
	})

	bubble.It("reads nothing by a selector that nothing satisfies", func() {
		r := newRig(factory.Options{})
		r.pod("default", "nothing", map[string]string{"nothing": ""})
		pods := must(factory.For[*corev1.Pod](r.Factory))
		byLabels := must(factory.For[*corev1.Pod](r.Factory, factory.WithLabels(labels.Nothing())))
		byFields := must(factory.For[*corev1.Pod](r.Factory, factory.WithFields(fields.Nothing())))
		r.start()
		r.pod("default", "other", nil)
		synctest.Wait()
		Expect(pods.Snapshot().Len()).To(Equal(2))
		Expect(byLabels.Snapshot().Len()).To(BeZero())
		Expect(byFields.Snapshot().Len()).To(BeZero())
	})

	bubble.It("runs again, and handlers are told what has changed in between", func() {
		r := newRig(factory.Options{})
		r.pod("default", "before", nil)
		var told []string
		must(must(factory.For[*corev1.Pod](r.Factory)).AddHandler(informer.HandlerFuncs[*corev1.Pod]{
			AddFunc: func(pod *corev1.Pod, _ bool) { told = append(told, pod.Name) },
		}))
		run, stop := context.WithCancel(bubble.Context())
		ended := make(chan error)
		go func() { ended <- r.Run(run) }()
		synctest.Wait()
		stop()
		Expect(<-ended).NotTo(HaveOccurred())
		runtime.GC() // which does not take what has handlers
		r.pod("default", "between", nil)
		synctest.Wait()
		Expect(told).To(Equal([]string{"before"}))
		r.start()
		synctest.Wait()
		Expect(told).To(Equal([]string{"before", "between"}))
	})

	bubble.It("leaves running what another Run or lease wants", func() {
		r := newRig(factory.Options{})
		pods := must(factory.For[*corev1.Pod](r.Factory))
		nodes := must(factory.For[*corev1.Node](r.Factory))
		run, stop := context.WithCancel(bubble.Context())
		ended := make(chan error)
		go func() { ended <- r.Run(run) }()
		r.start()
		stop()
		Expect(<-ended).NotTo(HaveOccurred())
		synctest.Wait()
		Expect(pods.Status().Running).To(BeTrue())
		lease := must(nodes.Acquire(bubble.Context()))
		r.Shutdown()
		Expect(pods.Status().Running).To(BeFalse())
		Expect(nodes.Status().Running).To(BeTrue())
		Expect(lease.Close()).To(Succeed())
	})

	bubble.It("keeps no informer that nobody wants any more", func() {
		r := newRig(factory.Options{})
		collected := func() weak.Pointer[informer.Informer[*corev1.Node]] {
			return weak.Make(must(factory.For[*corev1.Node](r.Factory)))
		}()
		pods := must(factory.For[*corev1.Pod](r.Factory))
		r.start()
		runtime.GC()
		Expect(collected.Value()).NotTo(BeNil()) // it runs
		r.Shutdown()
		for k := 0; collected.Value() != nil && k < 10; k++ {
			runtime.GC()
		}
		Expect(collected.Value()).To(BeNil())
		Expect(r.Informers()).To(Equal([]informer.Inspectable{pods}))
		Expect(must(factory.For[*corev1.Pod](r.Factory))).To(BeIdenticalTo(pods))
	})

	bubble.It("stops and forgets an informer on demand", func() {
		r := newRig(factory.Options{})
		pods := must(factory.For[*corev1.Pod](r.Factory))
		r.start()
		r.Forget(pods)
		r.Forget(pods)
		Expect(pods.Status().Running).To(BeFalse())
		Expect(must(factory.For[*corev1.Pod](r.Factory))).NotTo(BeIdenticalTo(pods))
	})

	bubble.It("says what keeps which informer", func() {
		r := newRig(factory.Options{})
		must(factory.For[*corev1.Pod](r.Factory))
		must(factory.Unstructured(r.Factory, widgets))
		r.Start(bubble.Context())
		err := r.WaitForSync(informer.FailFast(bubble.Context()))
		Expect(err).To(MatchError(ContainSubstring(`informer "widgets.v1.example.com as unstructured" has not synced`)))
		Expect(err).To(MatchError(ContainSubstring("CustomResourceDefinition is not installed")))
		var cause *informer.SyncError
		Expect(errors.As(err, &cause)).To(BeTrue())
		Expect(cause.Denials()).To(HaveLen(1))
	})

	bubble.It("takes a snapshot of all kinds at one moment", func() {
		r := newRig(factory.Options{})
		pods := must(factory.For[*corev1.Pod](r.Factory))
		nodes := must(factory.For[*corev1.Node](r.Factory))
		r.start()
		before := r.Snapshot()
		Expect(pods.WaitFor(bubble.Context(), r.pod("default", "web", nil))).To(Succeed())
		after := r.Snapshot()
		Expect(pods.SnapshotIn(before).Len()).To(Equal(0))
		Expect(pods.SnapshotIn(after).Len()).To(Equal(1))
		Expect(nodes.SnapshotIn(after)).To(BeIdenticalTo(nodes.Snapshot()))
	})
})
