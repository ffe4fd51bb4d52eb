package apiserver

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	discoveryv2 "k8s.io/api/apidiscovery/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
)

const aggregatedType = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"

func TestAggregatedDiscoveryIsNegotiated(t *testing.T) {
	r := newRig(t, Options{StableOnly: true})
	const plain = "application/json"
	for _, c := range []struct{ accept, kind, contentType string }{
		{aggregatedType + ",application/json", "APIGroupDiscoveryList", aggregatedType},
		{aggregatedType, "APIGroupDiscoveryList", aggregatedType},
		{"application/json," + aggregatedType, "APIGroupList", plain},
		{"application/json;q=0.5," + aggregatedType + ";q=0.8", "APIGroupDiscoveryList", aggregatedType},
		{strings.ReplaceAll(aggregatedType, "v=v2", "v=v2beta1") + ",application/json", "APIGroupList", plain},
		{strings.ReplaceAll(aggregatedType, "v=v2", "v=v2beta1"), "APIGroupList", plain},
		{"", "APIGroupList", plain},
	} {
		got := r.do("GET", "/apis", "", "Accept", c.accept)
		if got.code != 200 || got.at("kind") != c.kind || got.header.Get("Content-Type") != c.contentType || got.header.Get("Vary") != "Accept" {
			t.Errorf("%s: %d %v %.100s", c.accept, got.code, got.header, got.body)
		}
	}
}

func TestAggregatedDiscoveryNeedNotBeSentTwice(t *testing.T) {
	r := newRig(t, Options{})
	first := r.do("GET", "/apis", "", "Accept", aggregatedType)
	etag := first.header.Get("ETag")
	if len(etag) != 2+128 || first.header.Get("Cache-Control") != "public" {
		t.Errorf("got %v", first.header)
	}
	again := r.do("GET", "/apis", "", "Accept", aggregatedType, "If-None-Match", etag)
	if again.code != http.StatusNotModified || len(again.body) != 0 {
		t.Errorf("got %d, %d bytes", again.code, len(again.body))
	}
	if core := r.do("GET", "/api", "", "Accept", aggregatedType).header.Get("ETag"); core == etag {
		t.Error("the core group has the ETag of the others")
	}
}

// asTransport answers requests of a client by function calls.
type asTransport struct{ *rig }

func (a asTransport) RoundTrip(request *http.Request) (*http.Response, error) {
	recorder := httptest.NewRecorder()
	a.ServeHTTP(recorder, request)
	return recorder.Result(), nil
}

// onlyPlain takes the aggregated form out of what a client accepts.
type onlyPlain struct{ http.RoundTripper }

func (o onlyPlain) RoundTrip(request *http.Request) (*http.Response, error) {
	request.Header.Set("Accept", "application/json")
	return o.RoundTripper.RoundTrip(request)
}

func TestClientsLearnTheSameFromBothFormsOfDiscovery(t *testing.T) {
	for _, stable := range []bool{true, false} {
		r := newRig(t, Options{StableOnly: stable})
		aggregated := discover(t, asTransport{r})
		plain := discover(t, onlyPlain{asTransport{r}})
		if diff := cmp.Diff(plain, aggregated); diff != "" {
			t.Errorf("stable %v: %s", stable, diff)
		}
	}
}

// discover lists all resources that a stock client finds, by group and version.
func discover(t *testing.T, transport http.RoundTripper) map[string][]metav1.APIResource {
	t.Helper()
	client := discovery.NewDiscoveryClientForConfigOrDie(&rest.Config{Host: "http://rig.invalid", Transport: transport})
	_, lists, err := client.ServerGroupsAndResources()
	if err != nil {
		t.Fatal(err)
	}
	found := map[string][]metav1.APIResource{}
	for _, list := range lists {
		for _, r := range list.APIResources {
			r.StorageVersionHash = "" // in one form only
			if strings.Contains(r.Name, "/") {
				r.SingularName = "" // client-go takes that of the resource in one form
			}
			if gv := r.Group + "/" + r.Version; gv == list.GroupVersion || gv == "/"+list.GroupVersion {
				r.Group, r.Version = "", "" // said always, or if it is another
			}
			found[list.GroupVersion] = append(found[list.GroupVersion], r)
		}
		slices.SortFunc(found[list.GroupVersion], func(a, b metav1.APIResource) int { return strings.Compare(a.Name, b.Name) })
	}
	return found
}

func TestAggregatedDiscoveryIsServedAsProtobuf(t *testing.T) {
	r := newRig(t, Options{})
	accept := strings.Replace(aggregatedType, "application/json", "application/vnd.kubernetes.protobuf", 1)
	got := r.do("GET", "/api", "", "Accept", accept)
	if got.header.Get("Content-Type") != accept || !strings.HasPrefix(string(got.body), "k8s\x00") {
		t.Errorf("got %v %.50q", got.header, got.body)
	}
	var list discoveryv2.APIGroupDiscoveryList
	var envelope runtime.Unknown
	if err := envelope.Unmarshal(got.body[len(protobufPrefix):]); err != nil {
		t.Fatal(err)
	}
	if err := list.Unmarshal(envelope.Raw); err != nil || len(list.Items) != 1 {
		t.Errorf("got %v, %v", list, err)
	}
}

func TestWhatOnlyKubeletsKnowIsRefusedAsByAServerWithoutThem(t *testing.T) {
	r := newRig(t, Options{})
	for name, node := range map[string]string{"waiting": "", "lost": "gone", "here": "n"} {
		r.do("POST", "/api/v1/namespaces/default/pods",
			`{"metadata":{"name":"`+name+`"},"spec":{"nodeName":"`+node+`","containers":[{"name":"c","image":"i"}]}}`)
	}
	r.do("POST", "/api/v1/nodes", `{"metadata":{"name":"n"}}`)
	for path, code := range map[string]int{
		"waiting/log": 204, "waiting/exec": 400, "lost/log": 404, "lost/exec": 404, "here/log": 500, "here/exec": 500, "none/log": 404,
	} {
		if got := r.do("GET", "/api/v1/namespaces/default/pods/"+path, ""); got.code != code {
			t.Errorf("%s: %d %s", path, got.code, got.body)
		}
	}
	if got := r.do("PUT", "/api/v1/namespaces/default/pods/here/log", ""); got.code != http.StatusMethodNotAllowed {
		t.Errorf("PUT: %d", got.code)
	}
}
