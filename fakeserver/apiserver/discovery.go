package apiserver

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"runtime"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/version"
)

// serveDiscovery answers the documents from which clients learn what there is.
// They do not depend on the method: recorded so.
func (s *Server) serveDiscovery(w http.ResponseWriter, r *http.Request, t target) error {
	var doc apiruntime.Object
	catalog := s.served.Load().catalog
	if t.kind == targetVersions || t.kind == targetGroups {
		w.Header().Set("Vary", "Accept")
		if f, ok := wantsAggregated(r.Header.Get("Accept")); ok {
			return s.sendAggregated(w, r, aggregatedKey{format: f, core: t.kind == targetVersions})
		}
	}
	switch t.kind {
	case targetVersions:
		doc = &metav1.APIVersions{Versions: []string{"v1"}, ServerAddressByClientCIDRs: []metav1.ServerAddressByClientCIDR{
			{ClientCIDR: "0.0.0.0/0", ServerAddress: r.Host},
		}}
	case targetGroups:
		doc = catalog.groupList()
	case targetGroup:
		group := catalog.byName[t.gvr.Group]
		if group == nil || group.name == "" {
			sendNotFound(w)
			return nil
		}
		described := group.describe()
		doc = &described
	default:
		group := catalog.byName[t.gvr.Group]
		if group == nil || group.version(t.gvr.Version) == nil { // it went away meanwhile
			sendNotFound(w)
			return nil
		}
		doc = group.version(t.gvr.Version).describe()
	}
	return sendDiscovery(w, r, doc)
}

// sendDiscovery negotiates: a form that is not served, like older aggregated ones,
// falls through to the next of the header, and at last to JSON, which clients
// accept in its place.
func sendDiscovery(w http.ResponseWriter, r *http.Request, doc apiruntime.Object) error {
	out, err := negotiateFor(r)
	if err != nil {
		if !strings.Contains(r.Header.Get("Accept"), "apidiscovery.k8s.io") {
			return err
		}
		out = output{}
	}
	name := documentKind(doc)
	gvk := schema.GroupVersionKind{Version: "v1", Kind: name}
	if core, ok := doc.(*metav1.APIResourceList); out.format != formatProtobuf &&
		(name == "APIVersions" || ok && core.GroupVersion == "v1") {
		gvk.Version = "" // the oldest documents say no version
	}
	return sendObject(w, out, http.StatusOK, gvk, doc)
}

func documentKind(doc apiruntime.Object) string {
	switch doc.(type) {
	case *metav1.APIVersions:
		return "APIVersions"
	case *metav1.APIGroupList:
		return "APIGroupList"
	case *metav1.APIGroup:
		return "APIGroup"
	}
	return "APIResourceList"
}

func (c *catalog) groupList() *metav1.APIGroupList {
	list := &metav1.APIGroupList{Groups: []metav1.APIGroup{}}
	for _, g := range c.groups {
		if g.name != "" {
			list.Groups = append(list.Groups, g.describe())
		}
	}
	return list
}

func (g *apiGroup) describe() metav1.APIGroup {
	described := metav1.APIGroup{Name: g.name}
	for _, v := range g.versions {
		described.Versions = append(described.Versions, metav1.GroupVersionForDiscovery{
			GroupVersion: v.gv.String(), Version: v.gv.Version,
		})
	}
	described.PreferredVersion = described.Versions[0]
	return described
}

// describe lists the resources of a version, each followed by its subresources.
func (v *apiVersion) describe() *metav1.APIResourceList {
	list := &metav1.APIResourceList{GroupVersion: v.gv.String(), APIResources: []metav1.APIResource{}}
	for _, r := range v.resources {
		list.APIResources = append(list.APIResources, r.describe()...)
	}
	list.APIResources = append(list.APIResources, createdOnly[v.gv]...)
	slices.SortStableFunc(list.APIResources, func(a, b metav1.APIResource) int { return strings.Compare(a.Name, b.Name) })
	return list
}

func (r *resource) describe() []metav1.APIResource {
	name := r.gvr.Resource
	main := metav1.APIResource{
		Name: name, SingularName: r.singularName(), Namespaced: r.namespaced, Kind: r.gvk.Kind,
		Verbs: r.verbs, ShortNames: r.shortNames(), Categories: r.categories(),
		StorageVersionHash: versionHash(r.stored.gvk),
	}
	described := []metav1.APIResource{main}
	for _, sub := range r.sortedSubresources() {
		one := metav1.APIResource{Name: name + "/" + sub.name, Namespaced: r.namespaced, Kind: sub.kind.Kind, Verbs: sub.verbs}
		if sub.kind.GroupVersion() != r.gvk.GroupVersion() {
			one.Group, one.Version = sub.kind.Group, sub.kind.Version
		}
		described = append(described, one)
	}
	return described
}

// versionHash tells storage versions apart without saying which they are.
func versionHash(gvk schema.GroupVersionKind) string {
	if gvk == definitionKind {
		gvk.Version = "v1beta1" // in which a real server still keeps them
	}
	sum := sha256.Sum256([]byte(gvk.Group + "/" + gvk.Version + "/" + gvk.Kind))
	return base64.StdEncoding.EncodeToString(sum[:8])
}

func defaultVersion() version.Info {
	return version.Info{
		Major: "1", Minor: "37", EmulationMajor: "1", EmulationMinor: "37",
		MinCompatibilityMajor: "1", MinCompatibilityMinor: "36",
		GitVersion: "v1.37.2", GitCommit: "fakeserver", GitTreeState: "clean", BuildDate: "1970-01-01T00:00:00Z",
		GoVersion: runtime.Version(), Compiler: runtime.Compiler, Platform: runtime.GOOS + "/" + runtime.GOARCH,
	}
}

// serveOther answers what is no API: the version, health, and the root.
func (s *Server) serveOther(w http.ResponseWriter, r *http.Request) error {
	switch path := strings.TrimSuffix(r.URL.Path, "/"); {
	case path == "":
		return sendJSON(w, map[string]any{"paths": s.paths()})
	case path == "/version":
		if r.Method != http.MethodGet {
			return errMethod()
		}
		return sendJSON(w, s.options.Version)
	case path == "/metrics":
		s.metrics.serve(w, r)
		return nil
	case serveHealth(w, r):
		return nil
	}
	sendNotFound(w)
	return nil
}

func sendJSON(w http.ResponseWriter, v any) error {
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	send(w, http.StatusOK, formatJSON.String(), data)
	return nil
}

func (s *Server) paths() []string {
	paths := []string{"/api", "/apis", "/healthz", "/healthz/ping", "/livez", "/livez/ping", "/metrics", "/readyz", "/readyz/ping", "/version"}
	for _, g := range s.served.Load().catalog.groups {
		if g.name != "" {
			paths = append(paths, "/apis/"+g.name)
		}
		for _, v := range g.versions {
			if g.name == "" {
				paths = append(paths, "/api/"+v.gv.Version)
			} else {
				paths = append(paths, "/apis/"+v.gv.String())
			}
		}
	}
	slices.Sort(paths)
	return paths
}
