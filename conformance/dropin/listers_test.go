package dropin

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/cache"

	"github.com/listwatch/listwatch/fakeserver"
	"github.com/listwatch/listwatch/informer/clientgo"
	"github.com/listwatch/listwatch/internal/bubble"
)

// populate creates two objects of every resource that the server has, in two
// namespaces where there are any, with as little in them as it takes. It returns the
// resources of which there are some.
func populate(server *fakeserver.Server) []schema.GroupVersionResource {
	GinkgoHelper()
	client := must(dynamic.NewForConfig(server.Config()))
	_, lists, err := must(discovery.NewDiscoveryClientForConfig(server.Config())).ServerGroupsAndResources()
	Expect(err).NotTo(HaveOccurred())
	var filled []schema.GroupVersionResource
	for _, list := range lists {
		gv := must(schema.ParseGroupVersion(list.GroupVersion))
		for _, r := range list.APIResources {
			if strings.Contains(r.Name, "/") || !slices.Contains(r.Verbs, "watch") || !slices.Contains(r.Verbs, "create") {
				continue
			}
			made := 0
			for k, namespace := range []string{"one", "two"} {
				u := &unstructured.Unstructured{}
				u.SetGroupVersionKind(gv.WithKind(r.Kind))
				u.SetName(fmt.Sprint("object-", k, "-", gv.Version))
				u.SetLabels(map[string]string{"in": namespace})
				if !r.Namespaced {
					namespace = ""
				}
				if _, err := client.Resource(gv.WithResource(r.Name)).Namespace(namespace).Create(bubble.Context(), u, metav1.CreateOptions{}); err == nil {
					made++
				}
			}
			if made > 0 {
				filled = append(filled, gv.WithResource(r.Name))
			}
		}
	}
	return filled
}

// resources calls f with every accessor of a generated factory, such as that of
// Core().V1().Pods(), by a name such as Core.V1.Pods.
func resources(factory any, f func(name string, accessor reflect.Value)) {
	groups := reflect.ValueOf(factory)
	for i := range groups.NumMethod() {
		group := groups.Type().Method(i)
		if group.Type.NumIn() != 1 || group.Type.NumOut() != 1 || group.Type.Out(0).Kind() != reflect.Interface || group.Type.Out(0).Name() != "Interface" {
			continue
		}
		versions := groups.Method(i).Call(nil)[0].Elem()
		for j := range versions.NumMethod() {
			version := versions.Method(j).Call(nil)[0].Elem()
			for k := range version.NumMethod() {
				name := group.Name + "." + versions.Type().Method(j).Name + "." + version.Type().Method(k).Name
				f(name, version.Method(k).Call(nil)[0].Elem())
			}
		}
	}
}

// listersOf has the listers of a generated factory by the names of resources, when it
// has made sure whose informers they read from.
func listersOf(factory any, ours bool) map[string]reflect.Value {
	GinkgoHelper()
	found := map[string]reflect.Value{}
	resources(factory, func(name string, accessor reflect.Value) {
		inf := accessor.MethodByName("Informer").Call(nil)[0].Interface().(cache.SharedIndexInformer)
		_, isOurs := clientgo.Of(inf)
		Expect(isOurs).To(Equal(ours), name)
		found[name] = accessor.MethodByName("Lister").Call(nil)[0].Elem()
	})
	return found
}

// answers asks a lister all that it can be asked, and describes what it says.
func answers(lister reflect.Value) []string {
	var all []string
	ask := func(what string, of reflect.Value, method string, in ...any) {
		args := make([]reflect.Value, 0, len(in))
		for _, arg := range in {
			args = append(args, reflect.ValueOf(arg))
		}
		out := of.MethodByName(method).Call(args)
		text := fmt.Sprintf("error %v", out[1].Interface())
		if out[1].IsNil() {
			text = describe(out[0])
		}
		all = append(all, what+": "+text)
	}
	ask("everything", lister, "List", labels.Everything())
	ask("selected", lister, "List", labels.SelectorFromSet(labels.Set{"in": "one"}))
	spaced := reflect.Value{}
	for m := range lister.NumMethod() {
		if t := lister.Type().Method(m).Type; t.NumIn() == 2 && t.In(1).Kind() == reflect.String && t.NumOut() == 1 {
			spaced = lister.Method(m)
		}
	}
	if !spaced.IsValid() {
		ask("get", lister, "Get", "object-0-v1")
		ask("none", lister, "Get", "none")
		return all
	}
	for _, namespace := range []string{"one", "nowhere"} {
		in := spaced.Call([]reflect.Value{reflect.ValueOf(namespace)})[0].Elem()
		ask(namespace, in, "List", labels.Everything())
		ask(namespace+" get", in, "Get", "object-0-v1")
	}
	return all
}

// describe has an object, or objects in the order of their names, with all that is in
// them.
func describe(v reflect.Value) string {
	show := func(v reflect.Value) string {
		content := must(runtime.DefaultUnstructuredConverter.ToUnstructured(v.Interface()))
		return fmt.Sprint(content)
	}
	if v.Kind() != reflect.Slice {
		return show(v)
	}
	var texts []string
	for k := range v.Len() {
		texts = append(texts, show(v.Index(k)))
	}
	slices.Sort(texts)
	return fmt.Sprint(len(texts), " ", strings.Join(texts, "\n"))
}

var _ = Describe("The listers of client-go's generated factory", func() {
	bubble.It("answer the same from client-go's informers and from ours, for every kind", func() {
		server, client := newServer()
		filled := populate(server)
		Expect(len(filled)).To(BeNumerically(">", 40), "%v", filled)

		upstream, ours := informers.NewSharedInformerFactory(client, 0), informers.NewSharedInformerFactory(client, 0)
		Expect(clientgo.RegisterAll(ours, clientgo.Scope{})).To(Succeed())
		theirListers, ourListers := listersOf(upstream, false), listersOf(ours, true)
		stop := make(chan struct{})
		for _, factory := range []informers.SharedInformerFactory{upstream, ours} {
			factory.Start(stop)
		}
		synctest.Wait()
		full := 0
		for _, name := range slices.Sorted(maps.Keys(theirListers)) {
			want, got := answers(theirListers[name]), answers(ourListers[name])
			Expect(cmp.Diff(want, got)).To(BeEmpty(), name)
			if !strings.HasPrefix(want[0], "everything: 0") {
				full++
			}
		}
		GinkgoWriter.Println(len(theirListers), "listers, of which", full, "have objects")
		Expect(len(theirListers)).To(BeNumerically(">", 70))
		Expect(full).To(BeNumerically(">=", len(filled)-2)) // as many as are in the factory
		for gvr := range knownResources(filled) {
			want, got := must(upstream.ForResource(gvr)), must(ours.ForResource(gvr))
			Expect(len(must(got.Lister().List(labels.Everything())))).To(Equal(len(must(want.Lister().List(labels.Everything())))), gvr.String())
		}
		close(stop)
		upstream.Shutdown()
		ours.Shutdown()
	})
})

// knownResources are those of which the generated clients have a version.
func knownResources(all []schema.GroupVersionResource) map[schema.GroupVersionResource]bool {
	known := map[schema.GroupVersionResource]bool{}
	for _, gvr := range all {
		if scheme.Scheme.IsVersionRegistered(gvr.GroupVersion()) {
			known[gvr] = true
		}
	}
	return known
}
