package endtoend_test

import (
	"context"
	"fmt"
	"net/http"
	"testing/synctest"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/listwatch/listwatch/informer"
	"github.com/listwatch/listwatch/informer/factory"
	"github.com/listwatch/listwatch/informer/informertest"
	"github.com/listwatch/listwatch/internal/bubble"
	"github.com/listwatch/listwatch/reflector"
)

var (
	widgetResource     = schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "widgets"}
	definitionResource = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
)

// widgetRig is a server without a definition of widgets, and a factory whose
// informer of widgets waits for it.
//
// bubble: it lives in the spec's.
type widgetRig struct {
	*rig
	writer  dynamic.Interface
	factory *factory.Factory
	widgets *informer.Informer[*unstructured.Unstructured]
	told    *informertest.Recorder[*unstructured.Unstructured]
}

func newWidgetRig(options reflector.Options) *widgetRig {
	GinkgoHelper()
	w := &widgetRig{rig: newRig(), told: &informertest.Recorder[*unstructured.Unstructured]{}}
	w.writer = dynamic.NewForConfigOrDie(w.server.Config())
	config := w.server.Config()
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		w.wire.next = next
		return w.wire
	})
	var err error
	w.factory, err = factory.New(config, factory.Options{Reflector: options, Defaults: []factory.Option{factory.WithWaiting()}})
	Expect(err).NotTo(HaveOccurred())
	w.widgets, err = factory.For[*unstructured.Unstructured](w.factory, factory.WithResource(widgetResource))
	Expect(err).NotTo(HaveOccurred())
	_, err = w.told.Attach(w.widgets)
	Expect(err).NotTo(HaveOccurred())
	w.factory.Start(w.ctx)
	bubble.Cleanup(w.factory.Shutdown)
	return w
}

// define installs the definition of widgets.
func (w *widgetRig) define() {
	GinkgoHelper()
	_, err := w.writer.Resource(definitionResource).Create(w.ctx, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": map[string]any{"name": "widgets.example.com"},
		"spec": map[string]any{
			"group": "example.com", "scope": "Namespaced", "names": map[string]any{"plural": "widgets", "kind": "Widget"},
			"versions": []any{widgetVersion("v1", true, true)},
		},
	}}, metav1.CreateOptions{})
	Expect(err).NotTo(HaveOccurred())
}

func widgetVersion(name string, served, storage bool) any {
	return map[string]any{"name": name, "served": served, "storage": storage,
		"schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object"}}}
}

// serve changes the versions of the definition.
func (w *widgetRig) serve(versions ...any) {
	GinkgoHelper()
	definition, err := w.writer.Resource(definitionResource).Get(w.ctx, "widgets.example.com", metav1.GetOptions{})
	Expect(err).NotTo(HaveOccurred())
	Expect(unstructured.SetNestedSlice(definition.Object, versions, "spec", "versions")).To(Succeed())
	_, err = w.writer.Resource(definitionResource).Update(w.ctx, definition, metav1.UpdateOptions{})
	Expect(err).NotTo(HaveOccurred())
}

func (w *widgetRig) undefine() {
	GinkgoHelper()
	Expect(w.writer.Resource(definitionResource).Delete(w.ctx, "widgets.example.com", metav1.DeleteOptions{})).To(Succeed())
}

func (w *widgetRig) createWidget(name string) {
	GinkgoHelper()
	_, err := w.writer.Resource(widgetResource).Namespace("default").Create(w.ctx, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.com/v1", "kind": "Widget", "metadata": map[string]any{"name": name},
	}}, metav1.CreateOptions{})
	Expect(err).NotTo(HaveOccurred())
}

// expectAbsent waits a while, then expects the informer to know that there are no
// widgets, and to say so.
func (w *widgetRig) expectAbsent() {
	GinkgoHelper()
	time.Sleep(30 * time.Second)
	synctest.Wait()
	status := w.widgets.Status()
	Expect(status.Phase).To(Equal(reflector.Absent))
	Expect(status.Synced).To(BeFalse())
	Expect(w.widgets.Snapshot().Len()).To(Equal(0))
	soon, cancel := context.WithTimeout(w.ctx, time.Minute)
	defer cancel()
	Expect(w.widgets.WaitForSync(soon)).To(MatchError(And(ContainSubstring("absent since"),
		ContainSubstring(`resource "widgets" in API group "example.com" version "v1" is absent from the server`))))
}

// expectSynced expects the informer to be in step soon after the definition came.
func (w *widgetRig) expectSynced(objects int) {
	GinkgoHelper()
	soon, cancel := context.WithTimeout(w.ctx, 5*time.Second)
	defer cancel()
	Expect(w.widgets.WaitForSync(soon)).To(Succeed())
	synctest.Wait()
	Expect(w.widgets.Snapshot().Len()).To(Equal(objects))
}

var _ = Describe("An informer of a custom resource", func() {
	for _, listing := range listings {
		bubble.It("waits for its definition, as often as that comes and goes, "+listing.name, func() {
			w := newWidgetRig(listing.options)
			w.expectAbsent()
			time.Sleep(24 * time.Hour)
			w.wire.taken()
			w.define()
			w.createWidget("a")
			w.expectSynced(1)
			w.told.ExpectExactly(bubble.TB(), informertest.Added("default/a"))
			// Off the whole seconds after which watches end: one that is being opened
			// anew may come too late to be told of the deletions.
			time.Sleep(time.Hour + time.Second/2)

			w.undefine() // which deletes the objects first, and tells the watch
			w.expectAbsent()
			w.told.ExpectExactly(bubble.TB(), informertest.Deleted("default/a").Exact(true))

			w.define()
			w.createWidget("a")
			w.createWidget("b")
			w.expectSynced(2)
			w.told.ExpectExactly(bubble.TB(), informertest.Added("default/a"), informertest.Added("default/b"))
			Expect(w.widgets.Status().Reflector.Relists).To(Equal(map[reflector.RelistReason]int64{
				reflector.RelistInitial: 1, reflector.RelistAbsent: 1, reflector.RelistAppeared: 1,
			}))
		})

		bubble.It("lets go of the objects if the definition went during an outage, "+listing.name, func() {
			w := newWidgetRig(listing.options)
			w.define()
			w.createWidget("a")
			w.createWidget("b")
			w.expectSynced(2)
			w.told.ExpectExactly(bubble.TB(), informertest.Added("default/a"), informertest.Added("default/b"))

			repair := w.cut()
			w.undefine()
			time.Sleep(time.Minute)
			Expect(w.widgets.Snapshot().Len()).To(Equal(2), "what is not known to be gone stays")
			repair()
			time.Sleep(time.Minute)
			w.expectAbsent()
			w.told.ExpectExactly(bubble.TB(), informertest.Deleted("default/a").Exact(false), informertest.Deleted("default/b").Exact(false))

			w.define()
			w.createWidget("b")
			w.expectSynced(1)
			w.told.ExpectExactly(bubble.TB(), informertest.Added("default/b"))
		})

		for _, others := range []int{0, 1} {
			bubble.It(fmt.Sprintf("lets go of the objects if its version is not served any more, while %d others wait, %s", others, listing.name), func() {
				w := newWidgetRig(listing.options)
				for range others { // so that the definitions are known
					_, err := factory.For[*unstructured.Unstructured](w.factory, factory.WithResource(schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "gadgets"}))
					Expect(err).NotTo(HaveOccurred())
				}
				w.define()
				w.createWidget("a")
				w.expectSynced(1)
				w.serve(widgetVersion("v1", true, false), widgetVersion("v2", true, true))
				w.createWidget("b")
				time.Sleep(time.Minute) // a change of the definition ends the watches
				w.expectSynced(2)
				w.serve(widgetVersion("v1", false, false), widgetVersion("v2", true, true))
				w.expectAbsent()
				w.serve(widgetVersion("v1", true, false), widgetVersion("v2", true, true))
				time.Sleep(time.Minute)
				w.expectSynced(2)
			})
		}

		bubble.It("notices that the definition was given again during an outage, "+listing.name, func() {
			w := newWidgetRig(listing.options)
			w.define()
			w.createWidget("a")
			w.expectSynced(1)
			repair := w.cut()
			w.undefine()
			w.define()
			w.createWidget("b")
			repair()
			time.Sleep(time.Minute)
			w.expectSynced(1)
			w.told.ExpectExactly(bubble.TB(), informertest.Added("default/a"), informertest.Deleted("default/a"), informertest.Added("default/b"))
			w.createWidget("c")
			w.expectSynced(2)
		})
	}
})
