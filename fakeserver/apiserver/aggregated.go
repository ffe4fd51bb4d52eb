package apiserver

import (
	"crypto/sha512"
	"fmt"
	"net/http"
	"strings"
	"sync"

	discoveryv2 "k8s.io/api/apidiscovery/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// aggregatedKind is the one document with which clients learn of all resources.
var aggregatedKind = schema.GroupVersionKind{Group: "apidiscovery.k8s.io", Version: "v2", Kind: "APIGroupDiscoveryList"}

// isAggregated says whether the media type asks for it.
func (r mediaRange) isAggregated() bool {
	return r.params["as"] == aggregatedKind.Kind && r.params["g"] == aggregatedKind.Group && r.params["v"] == aggregatedKind.Version
}

// wantsAggregated says whether an Accept header prefers the aggregated form, and
// in which format.
func wantsAggregated(header string) (format, bool) {
	for _, r := range parseAccept(header) {
		f, ok := formatOf(r.mediaType)
		if !ok {
			continue
		}
		if r.isAggregated() {
			return f, f != formatYAML
		}
		if _, ok := r.output(f, nil); ok {
			return 0, false
		}
	}
	return 0, false
}

// aggregatedDocument is one that was encoded.
type aggregatedDocument struct {
	data []byte
	etag string
	err  error
}

// aggregatedDocuments keeps the documents of a catalog, by format and path.
type aggregatedDocuments struct {
	made sync.Map // aggregatedKey to func() aggregatedDocument
}

type aggregatedKey struct {
	format format
	core   bool
}

// get makes a document at its first use.
func (d *aggregatedDocuments) get(key aggregatedKey, c *catalog) aggregatedDocument {
	made, _ := d.made.LoadOrStore(key, sync.OnceValue(func() aggregatedDocument {
		body, err := encodeBody(c.aggregate(key.core), aggregatedKind, key.format)
		if err != nil {
			return aggregatedDocument{err: err}
		}
		data, err := output{format: key.format}.finish(aggregatedKind, body)
		return aggregatedDocument{data: data, etag: fmt.Sprintf("%q", fmt.Sprintf("%X", sha512.Sum512(data))), err: err}
	}))
	return made.(func() aggregatedDocument)()
}

// sendAggregated answers /api and /apis in the aggregated form. A client that has
// the document already is told so.
func (s *Server) sendAggregated(w http.ResponseWriter, r *http.Request, key aggregatedKey) error {
	catalog := s.served.Load().catalog
	document := catalog.aggregated.get(key, catalog)
	if document.err != nil {
		return document.err
	}
	h := w.Header()
	h.Set("ETag", document.etag)
	if strings.Contains(r.Header.Get("If-None-Match"), document.etag) {
		h.Set("Cache-Control", "public")
		w.WriteHeader(http.StatusNotModified)
		return nil
	}
	contentType := fmt.Sprintf("%s;g=%s;v=%s;as=%s", key.format, aggregatedKind.Group, aggregatedKind.Version, aggregatedKind.Kind)
	sendAs(w, http.StatusOK, contentType, "public", document.data)
	return nil
}

// aggregate makes the document of the core group or of all others.
func (c *catalog) aggregate(core bool) *discoveryv2.APIGroupDiscoveryList {
	list := &discoveryv2.APIGroupDiscoveryList{}
	for _, g := range c.groups {
		if (g.name == "") != core {
			continue
		}
		group := discoveryv2.APIGroupDiscovery{ObjectMeta: metav1.ObjectMeta{Name: g.name}}
		for _, v := range g.versions {
			version := discoveryv2.APIVersionDiscovery{Version: v.gv.Version, Freshness: discoveryv2.DiscoveryFreshnessCurrent}
			for _, r := range v.resources {
				version.Resources = append(version.Resources, r.aggregate())
			}
			for _, r := range createdOnly[v.gv] {
				version.Resources = append(version.Resources, discoveryv2.APIResourceDiscovery{
					Resource: r.Name, SingularResource: r.SingularName, Scope: discoveryv2.ScopeNamespace, Verbs: r.Verbs,
					ResponseKind: &metav1.GroupVersionKind{Group: v.gv.Group, Version: v.gv.Version, Kind: r.Kind},
				})
			}
			group.Versions = append(group.Versions, version)
		}
		list.Items = append(list.Items, group)
	}
	return list
}

func (r *resource) aggregate() discoveryv2.APIResourceDiscovery {
	responds := func(gvk schema.GroupVersionKind) *metav1.GroupVersionKind {
		return &metav1.GroupVersionKind{Group: gvk.Group, Version: gvk.Version, Kind: gvk.Kind}
	}
	described := discoveryv2.APIResourceDiscovery{
		Resource: r.gvr.Resource, ResponseKind: responds(r.gvk), Scope: discoveryv2.ScopeCluster,
		SingularResource: r.singularName(), Verbs: r.verbs,
		ShortNames: r.shortNames(), Categories: r.categories(),
	}
	if r.namespaced {
		described.Scope = discoveryv2.ScopeNamespace
	}
	for _, sub := range r.sortedSubresources() {
		described.Subresources = append(described.Subresources, discoveryv2.APISubresourceDiscovery{
			Subresource: sub.name, ResponseKind: responds(sub.kind), Verbs: sub.verbs,
		})
	}
	return described
}
