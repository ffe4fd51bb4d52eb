package factory_test

import (
	"slices"
	"testing/synctest"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/listwatch/listwatch/indexer"
	"github.com/listwatch/listwatch/informer"
	"github.com/listwatch/listwatch/informer/factory"
	"github.com/listwatch/listwatch/internal/bubble"
)

var (
	podsResource = schema.GroupVersionResource{Version: "v1", Resource: "pods"}
	widgets      = schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "widgets"}
)

var _ = Describe("A view", func() {
	bubble.It("shows the typed informer's cache, without a second list or watch", func() {
		r := newRig(factory.Options{})
		r.pod("default", "web", map[string]string{"app": "web"})
		r.pod("default", "db", map[string]string{"app": "db"})
		pods := must(factory.For[*corev1.Pod](r.Factory))
		metas := must(factory.Metadata(r.Factory, podsResource))
		anything := must(factory.Unstructured(r.Factory, podsResource))
		r.start()
		Expect(r.asked.lists()).To(Equal([]string{"/api/v1/pods 1"}))

		typed, _ := pods.Snapshot().Get("default/web")
		meta, found := metas.Snapshot().Get("default/web")
		Expect(found).To(BeTrue())
		Expect(meta.ObjectMeta).To(Equal(typed.ObjectMeta))
		meta.Labels["shared"] = "yes" // never do this: it shows that the map is the same one
		Expect(typed.Labels).To(HaveKey("shared"))
		delete(meta.Labels, "shared")
		object, _ := anything.Snapshot().Get("default/web")
		Expect(object.GroupVersionKind()).To(Equal(corev1.SchemeGroupVersion.WithKind("Pod")))
		again, _ := anything.Snapshot().Get("default/web")
		Expect(again).To(BeIdenticalTo(object)) // somebody uses it
		_, found = metas.Snapshot().Get("default/nowhere")
		Expect(found).To(BeFalse())
		Expect(metas.Snapshot().Len()).To(Equal(2))
		Expect(metas.Snapshot().ResourceVersion()).To(Equal(pods.Snapshot().ResourceVersion()))
	})

	bubble.It("shows what an informer of its own would", func() {
		r := newRig(factory.Options{})
		r.pod("default", "web", map[string]string{"app": "web"})
		ownMetas := must(factory.Metadata(r.Factory, podsResource))
		must(factory.For[*corev1.Pod](r.Factory, factory.WithNamespaces("default")))
		viewed := must(factory.Metadata(r.Factory, podsResource, factory.WithNamespaces("default")))
		anything := must(factory.Unstructured(r.Factory, podsResource, factory.WithNamespaces("default")))
		own := must(factory.Unstructured(r.Factory, podsResource, factory.WithNamespaces("default"), factory.WithOwnCopy()))
		r.start()
		Expect(r.Status()).To(HaveLen(3))
		asMeta := func(v *factory.View[*metav1.PartialObjectMetadata]) *metav1.PartialObjectMetadata {
			obj, _ := v.Snapshot().Get("default/web")
			return obj
		}
		Expect(asMeta(viewed)).To(Equal(asMeta(ownMetas)))
		converted, _ := anything.Snapshot().Get("default/web")
		received, _ := own.Snapshot().Get("default/web")
		Expect(converted).NotTo(BeIdenticalTo(received))
		Expect(converted.Object).To(Equal(received.Object))
	})

	bubble.It("has listers, indexes and handlers of its type", func() {
		r := newRig(factory.Options{})
		r.pod("default", "web", map[string]string{"app": "web"})
		r.pod("default", "db", map[string]string{"app": "db"})
		pods := must(factory.For[*corev1.Pod](r.Factory, factory.WithIndex("app", byApp)))
		label := factory.WithIndex("app", func(obj *metav1.PartialObjectMetadata) []string { return []string{obj.Labels["app"] + "!"} })
		metas := must(factory.Metadata(r.Factory, podsResource, label))
		must(factory.Metadata(r.Factory, podsResource, label))
		var told []string
		must(metas.AddHandler(informer.HandlerFuncs[*metav1.PartialObjectMetadata]{
			AddFunc:    func(obj *metav1.PartialObjectMetadata, _ bool) { told = append(told, "add "+obj.Name) },
			UpdateFunc: func(old, obj *metav1.PartialObjectMetadata) { told = append(told, "update "+old.Name+" "+obj.Name) },
			DeleteFunc: func(d informer.Deleted[*metav1.PartialObjectMetadata]) { told = append(told, "delete "+d.Last.Name) },
		}, informer.WithFilter(func(obj *metav1.PartialObjectMetadata) bool { return obj.Labels["app"] == "web" })))
		Expect(pods.Status().Handlers[0].Site).To(ContainSubstring("view_test.go"))
		r.start()

		found := must(metas.Lister().Namespace("default").List(labels.SelectorFromSet(labels.Set{"app": "db"})))
		Expect(found).To(HaveLen(1))
		Expect(must(metas.Lister().List(labels.Everything()))).To(HaveLen(2))
		_, err := metas.Lister().Namespace("default").Get("nowhere")
		Expect(err).To(MatchError(`pods "nowhere" not found`))
		var keys []string
		for key := range must(metas.Snapshot().ByIndex("app", "web!")) {
			keys = append(keys, key)
		}
		Expect(keys).To(Equal([]string{"default/web"}))
		_, err = metas.Snapshot().ByIndex("node", "")
		Expect(err).To(MatchError(indexer.ErrUnknownIndex))
		Expect(slices.Collect(keysOf(must(pods.Snapshot().ByIndex("app", "web"))))).To(Equal(keys))

		Expect(r.client.CoreV1().Pods("default").Delete(bubble.Context(), "web", metav1.DeleteOptions{GracePeriodSeconds: new(int64)})).To(Succeed())
		synctest.Wait()
		Expect(slices.Compact(told)).To(Equal([]string{"add web", "update web web", "delete web"}))
	})

	bubble.It("is not made of what its user did not ask for", func() {
		r := newRig(factory.Options{})
		r.pod("default", "web", nil)
		must(factory.For[*corev1.Pod](r.Factory, factory.WithTransform(strip)))
		anything := must(factory.Unstructured(r.Factory, podsResource))
		r.start()
		object, _ := anything.Snapshot().Get("default/web")
		containers, _, _ := unstructured.NestedSlice(object.Object, "spec", "containers")
		Expect(containers).To(HaveLen(1))
		Expect(r.asked.lists()).To(Equal([]string{"/api/v1/pods 2"}))
	})

	bubble.It("belongs to the moments of its informer", func() {
		r := newRig(factory.Options{})
		must(factory.For[*corev1.Pod](r.Factory))
		metas := must(factory.Metadata(r.Factory, podsResource))
		r.start()
		before := r.Snapshot()
		Expect(metas.WaitFor(bubble.Context(), r.pod("default", "web", nil))).To(Succeed())
		snapshot, ok := metas.SnapshotIn(before)
		Expect(ok).To(BeTrue())
		Expect(snapshot.Len()).To(Equal(0))
		snapshot, _ = metas.SnapshotIn(informer.Together(metas.Informer()))
		Expect(snapshot.Len()).To(Equal(1))
		_, ok = metas.SnapshotIn(informer.Together())
		Expect(ok).To(BeFalse())
	})
})

func keysOf[V any](from func(func(string, V) bool)) func(func(string) bool) {
	return func(yield func(string) bool) {
		for key := range from {
			if !yield(key) {
				return
			}
		}
	}
}
