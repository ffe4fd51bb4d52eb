package fakeserver_test

import (
	"testing/synctest"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/tools/cache"

	"github.com/listwatch/listwatch/internal/bubble"
)

var (
	widgets     = schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "widgets"}
	definitions = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
)

const widgetsDefinition = "widgets.example.com"

// defineWidgets creates the definition of widgets.
func (r *stockRig) defineWidgets() *unstructured.Unstructured {
	GinkgoHelper()
	created, err := r.writer.Resource(definitions).Create(r.ctx, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{"name": widgetsDefinition},
		"spec": map[string]any{
			"group": widgets.Group, "scope": "Namespaced",
			"names": map[string]any{"plural": "widgets", "kind": "Widget", "shortNames": []any{"w"}, "categories": []any{"all"}},
			"versions": []any{map[string]any{
				"name": "v1", "served": true, "storage": true, "subresources": map[string]any{"status": map[string]any{}},
				"schema": map[string]any{"openAPIV3Schema": map[string]any{
					"type": "object", "properties": map[string]any{
						"spec": map[string]any{"type": "object", "properties": map[string]any{
							"size": map[string]any{"type": "integer", "default": int64(1), "maximum": int64(9)},
						}},
						"status": map[string]any{"type": "object", "properties": map[string]any{"ready": map[string]any{"type": "boolean"}}},
					},
				}},
			}},
		},
	}}, metav1.CreateOptions{})
	Expect(err).NotTo(HaveOccurred())
	return created
}

func (r *stockRig) undefineWidgets() {
	GinkgoHelper()
	Expect(r.writer.Resource(definitions).Delete(r.ctx, widgetsDefinition, metav1.DeleteOptions{})).To(Succeed())
}

func (r *stockRig) widgets() dynamic.ResourceInterface {
	return r.writer.Resource(widgets).Namespace("default")
}

func widget(name string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.com/v1", "kind": "Widget", "metadata": map[string]any{"name": name}, "spec": map[string]any{},
	}}
}

var _ = Describe("A custom resource, to client-go's clients", func() {
	bubble.It("is discovered and can be used as soon as its definition is created", func() {
		r := newStockRig()
		_, err := r.widgets().Create(r.ctx, widget("early"), metav1.CreateOptions{})
		Expect(apierrors.IsNotFound(err)).To(BeTrue(), "%v", err)

		r.defineWidgets()
		_, resources, err := discovery.NewDiscoveryClientForConfigOrDie(r.server.Config()).ServerGroupsAndResources()
		Expect(err).NotTo(HaveOccurred())
		var found []metav1.APIResource
		for _, list := range resources {
			if list.GroupVersion == widgets.GroupVersion().String() {
				found = append(found, list.APIResources...)
			}
		}
		Expect(found).To(HaveLen(2), "widgets and their status")
		Expect(found[0]).To(And(HaveField("SingularName", "widget"), HaveField("ShortNames", []string{"w"}), HaveField("Namespaced", true)))

		created, err := r.widgets().Create(r.ctx, widget("a"), metav1.CreateOptions{})
		Expect(err).NotTo(HaveOccurred())
		Expect(created.Object["spec"]).To(Equal(map[string]any{"size": int64(1)}))
		patched, err := r.widgets().Patch(r.ctx, "a", types.MergePatchType, []byte(`{"status":{"ready":true}}`), metav1.PatchOptions{}, "status")
		Expect(err).NotTo(HaveOccurred())
		Expect(patched.GetGeneration()).To(Equal(int64(1)))
		patched, err = r.widgets().Patch(r.ctx, "a", types.MergePatchType, []byte(`{"spec":{"size":2},"status":null}`), metav1.PatchOptions{})
		Expect(err).NotTo(HaveOccurred())
		Expect(patched.GetGeneration()).To(Equal(int64(2)))
		Expect(patched.Object["status"]).To(Equal(map[string]any{"ready": true}), "only /status sets it")
		_, err = r.widgets().Patch(r.ctx, "a", types.MergePatchType, []byte(`{"spec":{"size":10}}`), metav1.PatchOptions{})
		Expect(apierrors.IsInvalid(err)).To(BeTrue(), "%v", err)
		_, err = r.widgets().Patch(r.ctx, "a", types.StrategicMergePatchType, []byte(`{}`), metav1.PatchOptions{})
		Expect(apierrors.IsUnsupportedMediaType(err)).To(BeTrue(), "%v", err)

		applied := widget("a")
		applied.Object["spec"] = map[string]any{"size": int64(3)}
		_, err = r.widgets().Apply(r.ctx, "a", applied, metav1.ApplyOptions{FieldManager: "other"})
		Expect(apierrors.IsConflict(err)).To(BeTrue(), "%v", err)
		got, err := r.widgets().Apply(r.ctx, "a", applied, metav1.ApplyOptions{FieldManager: "other", Force: true})
		Expect(err).NotTo(HaveOccurred())
		Expect(got.Object["spec"]).To(Equal(map[string]any{"size": int64(3)}))
	})

	bubble.It("lets a watch see its objects go when the definition is deleted, and end", func() {
		r := newStockRig()
		r.defineWidgets()
		_, err := r.widgets().Create(r.ctx, widget("a"), metav1.CreateOptions{})
		Expect(err).NotTo(HaveOccurred())
		watcher, err := r.widgets().Watch(r.ctx, metav1.ListOptions{})
		Expect(err).NotTo(HaveOccurred())
		defer watcher.Stop()
		Expect(<-watcher.ResultChan()).To(HaveField("Type", watch.Added))

		r.undefineWidgets()
		Expect(<-watcher.ResultChan()).To(HaveField("Type", watch.Deleted))
		_, open := <-watcher.ResultChan()
		Expect(open).To(BeFalse())
		_, err = r.widgets().List(r.ctx, metav1.ListOptions{})
		Expect(apierrors.IsNotFound(err)).To(BeTrue(), "%v", err)
		_, err = r.writer.Resource(definitions).Get(r.ctx, widgetsDefinition, metav1.GetOptions{})
		Expect(apierrors.IsNotFound(err)).To(BeTrue(), "%v", err)

		r.defineWidgets()
		listed, err := r.widgets().List(r.ctx, metav1.ListOptions{})
		Expect(err).NotTo(HaveOccurred())
		Expect(listed.Items).To(BeEmpty())
	})

	bubble.It("stays, with its definition, until the last finalizer is gone", func() {
		r := newStockRig()
		r.defineWidgets()
		held := widget("held")
		held.SetFinalizers([]string{"example.com/hold"})
		_, err := r.widgets().Create(r.ctx, held, metav1.CreateOptions{})
		Expect(err).NotTo(HaveOccurred())
		r.undefineWidgets()
		_, err = r.widgets().Create(r.ctx, widget("late"), metav1.CreateOptions{})
		Expect(apierrors.IsForbidden(err)).To(BeTrue(), "%v", err)
		got, err := r.widgets().Get(r.ctx, "held", metav1.GetOptions{})
		Expect(err).NotTo(HaveOccurred())
		Expect(got.GetDeletionTimestamp()).NotTo(BeNil())

		_, err = r.widgets().Patch(r.ctx, "held", types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
		Expect(err).NotTo(HaveOccurred())
		_, err = r.writer.Resource(definitions).Get(r.ctx, widgetsDefinition, metav1.GetOptions{})
		Expect(apierrors.IsNotFound(err)).To(BeTrue(), "%v", err)
	})

	bubble.It("is followed by dynamic and metadata informers through a change of its schema", func() {
		r := newStockRig()
		r.defineWidgets()
		loose := dynamicinformer.NewDynamicSharedInformerFactory(dynamic.NewForConfigOrDie(r.server.Config()), 0)
		reduced := metadatainformer.NewSharedInformerFactory(metadata.NewForConfigOrDie(r.server.Config()), 0)
		followed := []cache.SharedIndexInformer{loose.ForResource(widgets).Informer(), reduced.ForResource(widgets).Informer()}
		loose.Start(r.ctx.Done())
		reduced.Start(r.ctx.Done())
		bubble.Cleanup(loose.Shutdown)
		bubble.Cleanup(reduced.Shutdown)
		_, err := r.widgets().Create(r.ctx, widget("a"), metav1.CreateOptions{})
		Expect(err).NotTo(HaveOccurred())

		_, err = r.writer.Resource(definitions).Patch(r.ctx, widgetsDefinition, types.JSONPatchType, []byte(`[{"op":"add",
			"path":"/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/color","value":{"type":"string","default":"red"}}]`),
			metav1.PatchOptions{})
		Expect(err).NotTo(HaveOccurred())
		_, err = r.widgets().Create(r.ctx, widget("b"), metav1.CreateOptions{})
		Expect(err).NotTo(HaveOccurred())
		for _, informer := range followed {
			Expect(cache.WaitForCacheSync(r.ctx.Done(), informer.HasSynced)).To(BeTrue())
		}
		// Both come back after the wait of client-go's reflector.
		time.Sleep(time.Minute)
		synctest.Wait()
		for _, informer := range followed {
			Expect(informer.GetStore().ListKeys()).To(ConsistOf("default/a", "default/b"))
		}
		got, _, err := followed[0].GetStore().GetByKey("default/a")
		Expect(err).NotTo(HaveOccurred())
		Expect(got.(*unstructured.Unstructured).Object["spec"]).To(HaveKeyWithValue("color", "red"), "old objects are read with new defaults")
	})
})
