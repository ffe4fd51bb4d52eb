package dropin

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	examplev1 "k8s.io/apiextensions-apiserver/examples/client-go/pkg/apis/cr/v1"
	exampleclient "k8s.io/apiextensions-apiserver/examples/client-go/pkg/client/clientset/versioned"
	exampleinformers "k8s.io/apiextensions-apiserver/examples/client-go/pkg/client/informers/externalversions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	crdclient "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	crdinformers "k8s.io/apiextensions-apiserver/pkg/client/informers/externalversions"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	aggregatorclient "k8s.io/kube-aggregator/pkg/client/clientset_generated/clientset"
	aggregatorinformers "k8s.io/kube-aggregator/pkg/client/informers/externalversions"

	"github.com/listwatch/listwatch/fakeserver"
	"github.com/listwatch/listwatch/informer/clientgo"
	"github.com/listwatch/listwatch/internal/bubble"
)

var (
	examples    = examplev1.SchemeGroupVersion.WithResource("examples")
	apiServices = apiregistrationv1.SchemeGroupVersion.WithResource("apiservices")
)

// factory is what every generated factory has, beside its groups.
type factory interface {
	StartWithContext(ctx context.Context)
	WaitForCacheSyncWithContext(ctx context.Context) cache.SyncResult
	Shutdown()
}

// definition is that of a custom resource which may have any fields.
func definition(of schema.GroupVersionResource, kind string, scope apiextensionsv1.ResourceScope) *apiextensionsv1.CustomResourceDefinition {
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{
			Name:        of.GroupResource().String(),
			Annotations: map[string]string{apiextensionsv1.KubeAPIApprovedAnnotation: "unapproved, a test"},
		},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: of.Group, Scope: scope,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: of.Resource, Singular: strings.ToLower(kind), Kind: kind, ListKind: kind + "List"},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: of.Version, Served: true, Storage: true,
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
					Type: "object", XPreserveUnknownFields: ptr(true),
				}},
			}},
		},
	}
}

// writer changes definitions and custom resources, and nothing ever stops it.
type writer struct {
	definitions *crdclient.Clientset
	examples    *exampleclient.Clientset
	services    *aggregatorclient.Clientset
}

func newWriter(config *rest.Config) writer {
	GinkgoHelper()
	return writer{
		must(crdclient.NewForConfig(config)), must(exampleclient.NewForConfig(config)), must(aggregatorclient.NewForConfig(config)),
	}
}

func (w writer) define(definitions ...*apiextensionsv1.CustomResourceDefinition) {
	GinkgoHelper()
	for _, d := range definitions {
		must(w.definitions.ApiextensionsV1().CustomResourceDefinitions().Create(bubble.Context(), d, metav1.CreateOptions{}))
	}
}

func (w writer) undefine(name string) {
	GinkgoHelper()
	Expect(w.definitions.ApiextensionsV1().CustomResourceDefinitions().Delete(bubble.Context(), name, metav1.DeleteOptions{})).To(Succeed())
}

// example creates an Example.
func (w writer) example(namespace, name string) {
	GinkgoHelper()
	must(w.examples.CrV1().Examples(namespace).Create(bubble.Context(), &examplev1.Example{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"in": namespace}}, Spec: examplev1.ExampleSpec{Foo: name, Bar: true},
	}, metav1.CreateOptions{}))
}

// service creates an APIService.
func (w writer) service(service *apiregistrationv1.APIService) {
	GinkgoHelper()
	must(w.services.ApiregistrationV1().APIServices().Create(bubble.Context(), service, metav1.CreateOptions{}))
}

// editService changes an APIService.
func (w writer) editService(name string, edit func(*apiregistrationv1.APIService)) {
	GinkgoHelper()
	client := w.services.ApiregistrationV1().APIServices()
	service := must(client.Get(bubble.Context(), name, metav1.GetOptions{}))
	edit(service)
	must(client.Update(bubble.Context(), service, metav1.UpdateOptions{}))
}

func (w writer) dropService(name string) {
	GinkgoHelper()
	Expect(w.services.ApiregistrationV1().APIServices().Delete(bubble.Context(), name, metav1.DeleteOptions{})).To(Succeed())
}

func serviceOf(name, group string, labels map[string]string) *apiregistrationv1.APIService {
	return &apiregistrationv1.APIService{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels},
		Spec:       apiregistrationv1.APIServiceSpec{Group: group, Version: "v1", GroupPriorityMinimum: 100, VersionPriority: 10},
	}
}

// pairs makes, for each generated client, a factory with client-go's informers and one
// with ours.
func pairs(config *rest.Config) map[string][2]factory {
	GinkgoHelper()
	all := newWriter(config)
	definitions := crdinformers.NewSharedInformerFactory(all.definitions, 0)
	Expect(clientgo.RegisterAll(definitions, clientgo.Scope{})).To(Succeed())
	custom := exampleinformers.NewSharedInformerFactory(all.examples, 0)
	Expect(clientgo.RegisterAll(custom, clientgo.Scope{})).To(Succeed())
	services := aggregatorinformers.NewSharedInformerFactory(all.services, 0)
	Expect(clientgo.RegisterAll(services, clientgo.Scope{})).To(Succeed())
	return map[string][2]factory{
		"apiextensions":   {crdinformers.NewSharedInformerFactory(all.definitions, 0), definitions},
		"examples":        {exampleinformers.NewSharedInformerFactory(all.examples, 0), custom},
		"kube-aggregator": {aggregatorinformers.NewSharedInformerFactory(all.services, 0), services},
	}
}

// v1Only leaves out listers of versions that the server does not have.
func v1Only[V any](listers map[string]V) map[string]V {
	maps.DeleteFunc(listers, func(name string, _ V) bool { return !strings.Contains(name, ".V1.") })
	return listers
}

// unseen has f happen while the informers behind the tap off are cut off, and its
// history be forgotten. Those behind others watch on.
//
// bubble: used in them only
func unseen(server *fakeserver.Server, f func(), off *tap, others ...*tap) {
	GinkgoHelper()
	grown(append(others, off)...)
	off.down.Store(true)
	server.DropWatches()
	time.Sleep(time.Minute) // others watch again
	synctest.Wait()
	f()
	must(server.Compact(bubble.Context()))
	off.down.Store(false)
	time.Sleep(2 * time.Minute)
	synctest.Wait()
}

var _ = Describe("The listers of generated factories for custom resources", func() {
	bubble.It("answer the same from client-go's informers and from ours, also after a gap", func() {
		server, _ := newServer()
		by := newWriter(jsonConfig(server))
		by.define(definition(examples, "Example", apiextensionsv1.NamespaceScoped), definition(apiServices, "APIService", apiextensionsv1.ClusterScoped))
		for k, namespace := range []string{"one", "two"} {
			by.example(namespace, fmt.Sprintf("object-%d-v1", k))
			by.service(serviceOf(fmt.Sprintf("object-%d-v1", k), namespace, map[string]string{"in": namespace}))
		}
		cut := &tap{}
		all := pairs(cut.config(server))
		compare := func(when string) {
			GinkgoHelper()
			for name, pair := range all {
				theirs, ours := v1Only(listersOf(pair[0], false)), v1Only(listersOf(pair[1], true))
				Expect(ours).To(HaveLen(1), name)
				for _, resource := range slices.Sorted(maps.Keys(theirs)) {
					want := answers(theirs[resource])
					Expect(want[0]).To(ContainSubstring(": 2 map["), "%s %s", resource, when)
					Expect(cmp.Diff(want, answers(ours[resource]))).To(BeEmpty(), "%s %s", resource, when)
				}
			}
		}
		ctx, stop := context.WithCancel(bubble.Context())
		for _, pair := range all {
			v1Only(listersOf(pair[0], false)) // makes the informers
			for _, f := range pair {
				f.StartWithContext(ctx)
			}
		}
		synced := all["examples"][1].WaitForCacheSyncWithContext(ctx)
		Expect(synced.Err).NotTo(HaveOccurred())
		Expect(synced.Synced).To(HaveLen(1))
		time.Sleep(time.Second)
		synctest.Wait()
		compare("at first")

		unseen(server, func() {
			by.example("one", "new")
			Expect(by.examples.CrV1().Examples("one").Delete(bubble.Context(), "object-0-v1", metav1.DeleteOptions{})).To(Succeed())
			by.dropService("object-1-v1")
			by.service(serviceOf("object-1-v1", "another", nil))
			by.editService("object-0-v1", func(s *apiregistrationv1.APIService) { s.Labels = map[string]string{"in": "two"} })
		}, cut)
		compare("after a gap")
		stop()
		for _, pair := range all {
			pair[0].Shutdown()
			pair[1].Shutdown()
		}
	})
})
