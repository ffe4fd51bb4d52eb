package dropin

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	crdclient "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	crdinformers "k8s.io/apiextensions-apiserver/pkg/client/informers/externalversions"
	"k8s.io/apiextensions-apiserver/pkg/controller/apiapproval"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	aggregatorclient "k8s.io/kube-aggregator/pkg/client/clientset_generated/clientset"
	aggregatorinformers "k8s.io/kube-aggregator/pkg/client/informers/externalversions"
	"k8s.io/kube-aggregator/pkg/controllers/autoregister"

	"github.com/listwatch/listwatch/fakeserver"
	"github.com/listwatch/listwatch/informer/clientgo"
	"github.com/listwatch/listwatch/internal/bubble"
)

// story is what happens to a controller, what it writes in each step, and what its
// informer asks for first. When that watches again is random.
//
// bubble: made inside one
type story struct {
	server *fakeserver.Server
	by     writer
	reads  *tap // of its informers
	writes *tap // of its client
	told   []string
}

func newStory() *story {
	GinkgoHelper()
	server, _ := newServer()
	return &story{server: server, by: newWriter(jsonConfig(server)), reads: &tap{}, writes: &tap{}}
}

// then notes what the controller writes in consequence of a step.
func (s *story) then(step string, do func()) {
	GinkgoHelper()
	do()
	time.Sleep(5 * time.Minute)
	synctest.Wait()
	_, writes := s.writes.take()
	slices.Sort(writes) // its queue's order is that of maps, in part
	if reads, _ := s.reads.take(); len(s.told) == 0 && len(reads) > 0 {
		s.told = append(s.told, reads[0])
	}
	s.told = append(append(s.told, "# "+step), writes...)
}

// count is the number of requests of a kind in a story.
func count(told []string, verb string) int {
	n := 0
	for _, line := range told {
		if strings.HasPrefix(line, verb+" ") {
			n++
		}
	}
	return n
}

// registering is kube-aggregator's controller that keeps APIServices as they are wanted.
func registering(ours bool) []string {
	GinkgoHelper()
	s := newStory()
	s.by.define(definition(apiServices, "APIService", apiextensionsv1.ClusterScoped))
	always, once := map[string]string{autoregister.AutoRegisterManagedLabel: "true"}, map[string]string{autoregister.AutoRegisterManagedLabel: "onstart"}
	s.by.service(serviceOf("adopted", "old", always))
	s.by.service(serviceOf("stray", "g", always))
	s.by.service(serviceOf("left", "g", once))
	s.by.service(serviceOf("foreign", "g", nil))

	factory := aggregatorinformers.NewSharedInformerFactory(must(aggregatorclient.NewForConfig(s.reads.config(s.server))), 0)
	if ours {
		Expect(clientgo.Register(factory, clientgo.Scope{}, &apiregistrationv1.APIService{})).To(Succeed())
	}
	client := must(aggregatorclient.NewForConfig(s.writes.config(s.server)))
	controller := autoregister.NewAutoRegisterController(factory.Apiregistration().V1().APIServices(), client.ApiregistrationV1())
	for _, name := range []string{"adopted", "new", "other"} {
		controller.AddAPIServiceToSync(serviceOf(name, "wanted", nil))
	}
	controller.AddAPIServiceToSyncOnStart(serviceOf("once", "wanted", nil))

	ctx, stop := context.WithCancel(bubble.Context())
	ended := make(chan struct{})
	regroup := func(service *apiregistrationv1.APIService) { service.Spec.Group = "stolen" }
	s.then("start", func() {
		factory.StartWithContext(ctx)
		go func() { defer close(ended); controller.Run(1, ctx.Done()) }()
	})
	s.then("one is changed", func() { s.by.editService("new", regroup) })
	s.then("one is deleted", func() { s.by.dropService("new") })
	s.then("one that was wanted once is deleted", func() { s.by.dropService("once") })
	s.then("a foreign one is changed", func() { s.by.editService("foreign", regroup) })
	s.then("watches are cut", func() { grown(s.reads); s.server.DropWatches() })
	s.then("one is changed after that", func() { s.by.editService("other", regroup) })
	s.then("much happens unseen", func() {
		unseen(s.server, func() {
			s.by.editService("new", regroup)
			s.by.dropService("adopted")
			s.by.dropService("other")
			s.by.service(serviceOf("other", "again", always))
			s.by.service(serviceOf("more", "g", always))
			s.by.dropService("foreign")
		}, s.reads)
	})
	s.then("one is wanted no more", func() { controller.RemoveAPIServiceToSync("new") })
	stop()
	<-ended
	factory.Shutdown()
	return s.told
}

// approval is the condition in a definition that the controller of approving sets. The
// server sets others, before or after.
func approval(body []byte) string {
	var d apiextensionsv1.CustomResourceDefinition
	if err := json.Unmarshal(body, &d); err != nil {
		return err.Error()
	}
	condition := apihelpers.FindCRDCondition(&d, apiextensionsv1.KubernetesAPIApprovalPolicyConformant)
	if condition == nil {
		return "none"
	}
	return fmt.Sprint(condition.Status, condition.Reason, condition.Message)
}

// approving is apiextensions-apiserver's controller that writes into the status of a
// definition whether its group may have it.
func approving(ours bool) []string {
	GinkgoHelper()
	s := newStory()
	s.writes.show = approval
	factory := crdinformers.NewSharedInformerFactory(must(crdclient.NewForConfig(s.reads.config(s.server))), 0)
	if ours {
		Expect(clientgo.Register(factory, clientgo.Scope{}, &apiextensionsv1.CustomResourceDefinition{})).To(Succeed())
	}
	client := must(crdclient.NewForConfig(s.writes.config(s.server)))
	controller := apiapproval.NewKubernetesAPIApprovalPolicyConformantConditionController(
		factory.Apiextensions().V1().CustomResourceDefinitions(), client.ApiextensionsV1())
	approve := func(name, annotation string) {
		definitions := s.by.definitions.ApiextensionsV1().CustomResourceDefinitions()
		d := must(definitions.Get(bubble.Context(), name, metav1.GetOptions{}))
		d.Annotations[apiextensionsv1.KubeAPIApprovedAnnotation] = annotation
		must(definitions.Update(bubble.Context(), d, metav1.UpdateOptions{}))
	}
	service := definition(apiServices, "APIService", apiextensionsv1.ClusterScoped)
	example := definition(examples, "Example", apiextensionsv1.NamespaceScoped)
	free := definition(apiServices, "Other", apiextensionsv1.ClusterScoped)
	free.Name, free.Spec.Group = "apiservices.example.com", "example.com"

	ctx, stop := context.WithCancel(bubble.Context())
	ended := make(chan struct{})
	s.by.define(service)
	s.then("start", func() {
		factory.StartWithContext(ctx)
		go func() { defer close(ended); controller.RunWithContext(1, ctx) }()
	})
	s.then("another", func() { s.by.define(example) })
	s.then("one of no protected group", func() { s.by.define(free) })
	s.then("it is approved", func() { approve(service.Name, "https://github.com/kubernetes/kubernetes/pull/1") })
	s.then("watches are cut", func() { grown(s.reads); s.server.DropWatches() })
	s.then("much happens unseen", func() {
		unseen(s.server, func() {
			s.by.undefine(example.Name)
			s.by.undefine(service.Name)
			s.by.define(definition(apiServices, "APIService", apiextensionsv1.ClusterScoped))
		}, s.reads)
	})
	s.then("the other one comes back", func() { s.by.define(definition(examples, "Example", apiextensionsv1.NamespaceScoped)) })
	stop()
	<-ended
	factory.Shutdown()
	return s.told
}

var _ = Describe("A controller on its own generated factory", func() {
	bubble.It("writes the same custom resources with client-go's informers and with ours", func() {
		theirs, ours := registering(false), registering(true)
		GinkgoWriter.Println(strings.Join(ours, "\n"))
		Expect(cmp.Diff(theirs, ours)).To(BeEmpty())
		Expect([]int{count(ours, "POST"), count(ours, "PUT"), count(ours, "DELETE")}).To(Equal([]int{5, 5, 4}))
	})

	bubble.It("writes the same statuses with client-go's informers and with ours", func() {
		theirs, ours := approving(false), approving(true)
		GinkgoWriter.Println(strings.Join(ours, "\n"))
		Expect(cmp.Diff(theirs, ours)).To(BeEmpty())
		Expect(count(ours, "GET")).To(Equal(1))
		Expect(count(ours, "PUT")).To(Equal(5))
	})
})
