package clientgo_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/cache"

	"github.com/listwatch/listwatch/informer"
	"github.com/listwatch/listwatch/informer/clientgo"
	"github.com/listwatch/listwatch/internal/bubble"
	"github.com/listwatch/listwatch/reflector"
)

// statusOf is that of the Informer behind inf.
func statusOf(inf cache.SharedInformer) informer.Status {
	GinkgoHelper()
	inner, ok := clientgo.Of(inf)
	Expect(ok).To(BeTrue())
	return inner.Status()
}

var _ = Describe("What an informer reads", func() {
	pods := reflector.Collection{Version: "v1", Resource: "pods"}
	deployments := reflector.Collection{Group: "apps", Version: "v1", Resource: "deployments"}

	bubble.It("is known by a generated factory, with any client", func() {
		r := newRig(ours)
		for name, factory := range map[string]informers.SharedInformerFactory{
			"real": informers.NewSharedInformerFactoryWithOptions(r.client, 0, informers.WithNamespace("web")),
			"fake": informers.NewSharedInformerFactoryWithOptions(fake.NewClientset(), 0, informers.WithNamespace("web")),
		} {
			Expect(clientgo.Register(factory, clientgo.Scope{}, &appsv1.Deployment{}, &corev1.Node{})).To(Succeed(), name)
			of := deployments
			of.Namespace = "web"
			status := statusOf(factory.Apps().V1().Deployments().Informer())
			Expect(status.Collection).To(Equal(of), name)
			Expect(status.Name).To(Equal("deployments.v1.apps in namespace web"), name)
			Expect(statusOf(factory.Core().V1().Nodes().Informer()).Collection).To(
				Equal(reflector.Collection{Version: "v1", Resource: "nodes"}), "no namespace: %s", name)
		}
	})

	bubble.It("is known by factories of the dynamic and the metadata client", func() {
		r := newRig(ours)
		of := pods
		of.Namespace = "web"
		for _, factory := range []genericFactory{
			clientgo.NewFilteredDynamicSharedInformerFactory(dynamicClient(r), 0, "web", nil),
			clientgo.NewFilteredMetadataSharedInformerFactory(metadataClient(r), 0, "web", nil),
		} {
			Expect(statusOf(factory.ForResource(podsResource).Informer()).Collection).To(Equal(of))
		}
	})

	bubble.It("is told by the example as far as that knows", func() {
		lw := newRig(ours).listWatch()
		custom := metav1.TypeMeta{APIVersion: "example.com/v1", Kind: "Gateway"}
		widget := &unstructured.Unstructured{}
		widget.SetGroupVersionKind(custom.GroupVersionKind())
		for _, test := range []struct {
			example runtime.Object
			name    string
			want    reflector.Collection
		}{
			{&corev1.Pod{}, "pods.v1", pods},
			{&appsv1.Deployment{}, "deployments.v1.apps", deployments},
			//lint:ignore SA1019 its plural is an odd one
			{&corev1.Endpoints{}, "endpoints.v1", reflector.Collection{Version: "v1", Resource: "endpoints"}},
			{&metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}}, "pods.v1", pods},
			{&metav1.PartialObjectMetadata{TypeMeta: custom}, "*v1.PartialObjectMetadata", reflector.Collection{Group: "example.com", Version: "v1"}},
			{widget, "*unstructured.Unstructured", reflector.Collection{Group: "example.com", Version: "v1"}},
			{&unstructured.Unstructured{}, "*unstructured.Unstructured", reflector.Collection{}},
			{(*corev1.Pod)(nil), "*v1.Pod", reflector.Collection{}},
			{nil, "<nil>", reflector.Collection{}},
		} {
			status := statusOf(clientgo.NewSharedIndexInformer(lw, test.example, 0, cache.Indexers{}))
			Expect(status.Collection).To(Equal(test.want), "%T", test.example)
			Expect(status.Name).To(Equal(test.name))
		}
		named := clientgo.NewSharedIndexInformerWithOptions(lw, &corev1.Pod{}, cache.SharedIndexInformerOptions{ObjectDescription: "mine"})
		Expect(statusOf(named).Name).To(Equal("mine"))
	})
})
