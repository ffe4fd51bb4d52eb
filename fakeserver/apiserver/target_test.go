package apiserver

import (
	"net/url"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestPathsNameWhatTheySay(t *testing.T) {
	core := func(resource string) schema.GroupVersionResource {
		return schema.GroupVersionResource{Version: "v1", Resource: resource}
	}
	apps := schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
	for path, want := range map[string]target{
		"/":                                 {},
		"":                                  {},
		"/healthz":                          {},
		"/api":                              {kind: targetVersions},
		"/api/":                             {kind: targetVersions},
		"/API/v1":                           {},
		"/apis":                             {kind: targetGroups},
		"/apis/apps":                        {kind: targetGroup, gvr: schema.GroupVersionResource{Group: "apps"}},
		"/apis/apps/v1/":                    {kind: targetVersion, gvr: schema.GroupVersionResource{Group: "apps", Version: "v1"}},
		"/api/v1":                           {kind: targetVersion, gvr: core("")},
		"/api/v1/nodes":                     {kind: targetResource, gvr: core("nodes")},
		"/api/v1/nodes/n1":                  {kind: targetResource, gvr: core("nodes"), name: "n1"},
		"/api/v1/nodes/n1/status":           {kind: targetResource, gvr: core("nodes"), name: "n1", subresource: "status"},
		"/api/v1/namespaces":                {kind: targetResource, gvr: core("namespaces")},
		"/api/v1/namespaces/a":              {kind: targetResource, gvr: core("namespaces"), name: "a"},
		"/api/v1/namespaces/a/":             {kind: targetResource, gvr: core("namespaces"), name: "a"},
		"/api/v1/namespaces/a/status":       {kind: targetResource, gvr: core("namespaces"), name: "a", subresource: "status"},
		"/api/v1/namespaces/a/finalize":     {kind: targetResource, gvr: core("namespaces"), name: "a", subresource: "finalize"},
		"/api/v1/namespaces/a/pods":         {kind: targetResource, gvr: core("pods"), namespace: "a"},
		"/api/v1/namespaces/a/pods/b%31":    {kind: targetResource, gvr: core("pods"), namespace: "a", name: "b1"},
		"/api/v1/namespaces/a/pods/x%2Fy":   {kind: targetResource, gvr: core("pods"), namespace: "a", name: "x/y"},
		"/api/v1/namespaces/a/pods/b/c/d":   {kind: targetNowhere, gvr: core("pods"), namespace: "a"},
		"/api/v1/watch/pods":                {kind: targetResource, gvr: core("pods"), watched: true},
		"/api/v1/watch/namespaces/a/pods":   {kind: targetResource, gvr: core("pods"), namespace: "a", watched: true},
		"/api/v1/watch/namespaces/a/pods/b": {kind: targetResource, gvr: core("pods"), namespace: "a", name: "b", watched: true},
		"/api/v1/watch/namespaces/a":        {kind: targetResource, gvr: core("namespaces"), name: "a", watched: true},
		"/api/v1/watch":                     {kind: targetResource, gvr: core("watch")},
		"/api/v1//namespaces/a/pods":        {kind: targetNowhere, gvr: core("")},
		"/api/v1/namespaces/a/pods/%zz":     {kind: targetNowhere, gvr: core("")},
		"/api//v1":                          {kind: targetNowhere},
		"/apis//v1/x":                       {kind: targetNowhere, gvr: schema.GroupVersionResource{Version: "v1"}},
		"/apis/apps/v1/namespaces/a/deployments/d/scale": {kind: targetResource, gvr: apps, namespace: "a", name: "d", subresource: "scale"},
		"/apis/apps/v1/deployments":                      {kind: targetResource, gvr: apps},
	} {
		if got := parsePath(path); got != want {
			t.Errorf("%s: got %+v, want %+v", path, got, want)
		}
	}
}

// FuzzPath checks that no path panics, and that a path which names a resource
// names nothing that is empty or not in the path.
func FuzzPath(f *testing.F) {
	for _, seed := range []string{"/api/v1/namespaces/a/pods/b/status", "/apis/apps/v1/deployments", "/api//", "%2f/..%00", "apis"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, path string) {
		got := parsePath(path)
		if got.kind != targetResource {
			return
		}
		if got.gvr.Resource == "" || got.gvr.Version == "" || got.subresource != "" && got.name == "" {
			t.Errorf("%q: %+v", path, got)
		}
		plain, err := url.PathUnescape(path)
		if err != nil {
			t.Fatalf("%q was accepted: %v", path, err)
		}
		for _, part := range []string{got.gvr.Group, got.gvr.Version, got.gvr.Resource, got.namespace, got.name, got.subresource} {
			if !strings.Contains(plain, part) {
				t.Errorf("%q has no %q", path, part)
			}
		}
	})
}
