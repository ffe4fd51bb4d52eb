package apiserver

import (
	"context"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
)

// inProcess carries a real client's requests to the server without a network.
type inProcess struct{ handler http.Handler }

func (p inProcess) RoundTrip(req *http.Request) (*http.Response, error) {
	recorder := httptest.NewRecorder()
	p.handler.ServeHTTP(recorder, req)
	return recorder.Result(), nil
}

func clientFor(t *testing.T, r *rig) *kubernetes.Clientset {
	t.Helper()
	client, err := kubernetes.NewForConfig(&rest.Config{Host: "http://in.process", Transport: inProcess{r}, QPS: -1})
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// listables calls visit with the client of every resource that the clientset
// can list, for namespace "default" where there are namespaces.
func listables(client *kubernetes.Clientset, visit func(name string, resource reflect.Value)) {
	groups := reflect.ValueOf(client)
	clientset := reflect.TypeFor[kubernetes.Interface]()
	for i := range clientset.NumMethod() {
		group := clientset.Method(i)
		if group.Name == "Discovery" {
			continue
		}
		getters := groups.MethodByName(group.Name).Call(nil)[0]
		for j := range group.Type.Out(0).NumMethod() {
			getter := group.Type.Out(0).Method(j)
			if getter.Name == "RESTClient" {
				continue
			}
			var args []reflect.Value
			if getter.Type.NumIn() == 1 {
				args = append(args, reflect.ValueOf("default"))
			}
			resource := getters.MethodByName(getter.Name).Call(args)[0]
			if resource.MethodByName("List").IsValid() {
				visit(group.Name+"."+getter.Name, resource)
			}
		}
	}
}

// call calls a method of a generated client with a context, args, and options
// of whatever type it takes, and returns its error.
func call(method reflect.Value, args ...any) error {
	in := []reflect.Value{reflect.ValueOf(context.Background())}
	for _, a := range args {
		in = append(in, reflect.ValueOf(a))
	}
	for len(in) < method.Type().NumIn() {
		in = append(in, reflect.Zero(method.Type().In(len(in))))
	}
	out := method.Call(in)
	err, _ := out[len(out)-1].Interface().(error)
	return err
}

func TestEveryResourceOfTheClientsetIsServedUnderTheClientsOwnPath(t *testing.T) {
	r := newRig(t, Options{})
	served := 0
	listables(clientFor(t, r), func(name string, resource reflect.Value) {
		served++
		if err := call(resource.MethodByName("List")); err != nil {
			t.Errorf("%s: list: %v", name, err)
		}
		notFound := func(verb string, err error) {
			status, _ := err.(interface{ Status() metav1.Status })
			if status == nil || status.Status().Code != http.StatusNotFound || status.Status().Details.Name != "missing" {
				t.Errorf("%s: %s of a missing object: %v", name, verb, err)
			}
		}
		notFound("get", call(resource.MethodByName("Get"), "missing"))
		if err := call(resource.MethodByName("Delete"), "missing"); name != "CoreV1.ComponentStatuses" {
			notFound("delete", err)
		} else if !apierrors.IsMethodNotSupported(err) {
			t.Errorf("%s: delete: %v", name, err)
		}
		if update := resource.MethodByName("UpdateStatus"); update.IsValid() {
			object := reflect.New(update.Type().In(1).Elem())
			object.MethodByName("SetName").Call([]reflect.Value{reflect.ValueOf("missing")})
			notFound("update of status", call(update, object.Interface()))
		}
		if scale := resource.MethodByName("GetScale"); scale.IsValid() {
			notFound("scale", call(scale, "missing"))
		}
	})
	if served < 100 {
		t.Errorf("only %d resources were found in the clientset", served)
	}
}

func TestDiscoverySaysWhatTheClientsetCan(t *testing.T) {
	r := newRig(t, Options{})
	_, lists, err := clientFor(t, r).Discovery().ServerGroupsAndResources()
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]metav1.APIResource{}
	for _, list := range lists {
		for _, resource := range list.APIResources {
			found[list.GroupVersion+" "+resource.Name] = resource
		}
	}
	for key, want := range map[string]struct {
		namespaced bool
		kind       string
	}{
		"v1 pods":                           {true, "Pod"},
		"v1 pods/status":                    {true, "Pod"},
		"v1 nodes":                          {false, "Node"},
		"v1 namespaces/finalize":            {false, "Namespace"},
		"v1 endpoints":                      {true, "Endpoints"},
		"apps/v1 deployments/scale":         {true, "Scale"},
		"apps/v1beta1 deployments":          {true, "Deployment"},
		"networking.k8s.io/v1 ingresses":    {true, "Ingress"},
		"events.k8s.io/v1 events":           {true, "Event"},
		"storage.k8s.io/v1 csidrivers":      {false, "CSIDriver"},
		"coordination.k8s.io/v1 leases":     {true, "Lease"},
		"policy/v1 poddisruptionbudgets":    {true, "PodDisruptionBudget"},
		"resource.k8s.io/v1 resourceslices": {false, "ResourceSlice"},
	} {
		got, ok := found[key]
		if !ok || got.Namespaced != want.namespaced || got.Kind != want.kind {
			t.Errorf("%s: got %+v, want namespaced %v and kind %s", key, got, want.namespaced, want.kind)
		}
	}
	if verbs := found["v1 pods"].Verbs; !slices.Equal(verbs, metav1.Verbs{
		"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"}) {
		t.Errorf("verbs of pods: %v", verbs)
	}
	if verbs := found["v1 namespaces"].Verbs; slices.Contains(verbs, "deletecollection") {
		t.Errorf("verbs of namespaces: %v", verbs)
	}
}

func TestAMapperPrefersTheStableVersionAndTheNewerGroup(t *testing.T) {
	r := newRig(t, Options{})
	groups, err := restmapper.GetAPIGroupResources(clientFor(t, r).Discovery())
	if err != nil {
		t.Fatal(err)
	}
	mapper := restmapper.NewDiscoveryRESTMapper(groups)
	for resource, want := range map[string]schema.GroupVersionKind{
		"deployments":     {Group: "apps", Version: "v1", Kind: "Deployment"},
		"ingresses":       {Group: "networking.k8s.io", Version: "v1", Kind: "Ingress"},
		"networkpolicies": {Group: "networking.k8s.io", Version: "v1", Kind: "NetworkPolicy"},
		"events":          {Version: "v1", Kind: "Event"},
		"cronjobs":        {Group: "batch", Version: "v1", Kind: "CronJob"},
	} {
		got, err := mapper.KindFor(schema.GroupVersionResource{Resource: resource})
		if err != nil || got != want {
			t.Errorf("%s: got %v, %v, want %v", resource, got, err, want)
		}
	}
}

func TestOnlyStableVersionsAreServedOnRequest(t *testing.T) {
	r := newRig(t, Options{StableOnly: true})
	groups, err := clientFor(t, r).Discovery().ServerGroups()
	if err != nil {
		t.Fatal(err)
	}
	for _, group := range groups.Groups {
		for _, v := range group.Versions {
			if strings.Contains(v.Version, "alpha") || strings.Contains(v.Version, "beta") {
				t.Errorf("%s is served", v.GroupVersion)
			}
		}
	}
	if got := r.do("GET", "/apis/apps/v1beta1/deployments", ""); got.code != http.StatusNotFound || got.at("kind") != "Status" {
		t.Errorf("a version that was removed: %d %s", got.code, got.body)
	}
}

func TestVersionsAreOrderedByStability(t *testing.T) {
	all, err := builtin()
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range all.groups {
		for i := 1; i < len(g.versions); i++ {
			if version.CompareKubeAwareVersionStrings(g.versions[i-1].gv.Version, g.versions[i].gv.Version) < 0 {
				t.Errorf("%s is before %s", g.versions[i-1].gv, g.versions[i].gv)
			}
		}
	}
}

func TestServerVersionIsWhatWasConfigured(t *testing.T) {
	r := newRig(t, Options{Version: version.Info{Major: "1", Minor: "2", GitVersion: "v1.2.3"}})
	got, err := discovery.NewDiscoveryClientForConfigOrDie(
		&rest.Config{Host: "http://in.process", Transport: inProcess{r}}).ServerVersion()
	if err != nil || got.GitVersion != "v1.2.3" {
		t.Errorf("got %v, %v", got, err)
	}
}

func TestANewServerIsCheap(t *testing.T) {
	best := time.Hour
	for range 5 { // the machine may be busy with something else
		start := time.Now()
		newRig(t, Options{})
		best = min(best, time.Since(start))
	}
	if best > 20*time.Millisecond {
		t.Errorf("New took %v", best)
	}
}

func BenchmarkNew(b *testing.B) {
	for b.Loop() {
		newRig(b, Options{})
	}
}
