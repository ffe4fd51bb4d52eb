package apiserver

import (
	"net/http"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/listwatch/listwatch/fakeserver/cacher"
)

// request is one request for a resource that exists.
type request struct {
	*http.Request
	w http.ResponseWriter
	target
	resource *resource
	objects  *collection
	verb     string // "" until the method was found to be one
	shard    *cacher.Shard
}

// route finds who answers. An error is answered by the caller.
func (s *Server) route(w *trackingWriter, r *http.Request, t target) error {
	switch t.kind {
	case targetOther:
		return s.serveOther(w, r)
	case targetVersions, targetGroups, targetGroup:
		return s.serveDiscovery(w, r, t)
	}
	view := s.served.Load()
	group := view.catalog.byName[t.gvr.Group]
	if group == nil || group.custom() && t.kind != targetNowhere && !group.has(t) {
		sendNotFound(w)
		return nil
	}
	switch {
	case t.kind == targetNowhere || group.version(t.gvr.Version) == nil:
		return errNoResource()
	case t.kind == targetVersion:
		return s.serveDiscovery(w, r, t)
	}
	if t.gvr == bindingsName && t.name == "" && r.Method == http.MethodPost {
		t.gvr, t.subresource = podResource, "binding" // the name is in the body
	}
	found, objects := view.find(t.gvr)
	if found == nil {
		return errNoResource()
	}
	if found.custom != nil {
		if !objects.acquire() {
			return s.route(w, r, t) // it was replaced meanwhile
		}
		defer objects.release()
		if found.custom.warning != "" {
			addWarning(w, found.custom.warning)
		}
	}
	q := &request{Request: r, w: w, target: t, resource: found, objects: objects}
	w.request = q
	answer, err := s.choose(q)
	if err != nil {
		return err
	}
	if _, err := q.objects.reader(r.Context()); err != nil { // before a write, see collection.make
		return err
	}
	return answer(q)
}

// choose finds the handler of a request, by what it names and by its method.
func (s *Server) choose(q *request) (func(*request) error, error) {
	if q.namespace != "" && !q.resource.namespaced {
		return nil, errNoResource()
	}
	if q.resource.namespaced && q.namespace == "" {
		switch {
		case q.name != "":
			return nil, errNoResource()
		case q.Method != http.MethodGet:
			return nil, errMethod()
		}
	}
	switch {
	case q.watched && q.subresource != "":
		return nil, errNoResource()
	case q.watched:
		return q.byVerb(map[string]verb{http.MethodGet: {"watch", s.watch}})
	case q.subresource != "":
		return s.chooseSub(q)
	case q.name != "":
		return q.byVerb(map[string]verb{
			http.MethodGet:    {"get", s.get},
			http.MethodPut:    {"update", s.update},
			http.MethodPatch:  {"patch", s.patch},
			http.MethodDelete: {"delete", s.delete},
		})
	}
	read := verb{"list", s.list}
	if isWatch(q.URL.Query()) {
		read = verb{"watch", s.watch}
	}
	return q.byVerb(map[string]verb{
		http.MethodGet:    read,
		http.MethodPost:   {"create", s.create},
		http.MethodDelete: {"deletecollection", s.deleteCollection},
	})
}

func (s *Server) chooseSub(q *request) (func(*request) error, error) {
	r := q.resource
	if r.custom != nil && !r.hasSub(q.subresource) {
		return nil, apierrors.NewNotFound(r.stored.resource, q.name)
	}
	switch {
	case q.subresource == "status" && r.hasStatus:
		return q.byVerb(map[string]verb{
			http.MethodGet:   {"get", s.get},
			http.MethodPut:   {"update", s.update},
			http.MethodPatch: {"patch", s.patch},
		})
	case q.subresource == "scale" && r.scale != nil:
		return q.byVerb(map[string]verb{
			http.MethodGet:   {"get", s.getScale},
			http.MethodPut:   {"update", s.updateScale},
			http.MethodPatch: {"patch", s.patchScale},
		})
	case q.subresource == "log" && r.gvr.Resource == "pods" && r.gvr.Group == "":
		return q.byVerb(map[string]verb{http.MethodGet: {"get", s.podLog}})
	case q.subresource == "exec" && r.gvr.Resource == "pods" && r.gvr.Group == "":
		return q.byVerb(map[string]verb{http.MethodGet: {"get", s.podExec}, http.MethodPost: {"create", s.podExec}})
	case q.subresource == "finalize" && r.gvr.Resource == "namespaces" && r.gvr.Group == "":
		return q.byVerb(map[string]verb{http.MethodPut: {"update", s.update}})
	}
	if verbs := s.ofPods(q); verbs != nil {
		return q.byVerb(verbs)
	}
	return nil, errNoResource()
}

type verb struct {
	name   string
	answer func(*request) error
}

// byVerb picks the handler for the method, if the resource has the verb.
func (q *request) byVerb(verbs map[string]verb) (func(*request) error, error) {
	v, ok := verbs[q.Method]
	if ok && q.resource.custom != nil { // discovery may not name all that can be done
		q.verb = v.name
		return v.answer, nil
	}
	if !ok || !slices.Contains(q.resource.verbs, v.name) {
		return nil, errMethod()
	}
	q.verb = v.name
	return v.answer, nil
}

// custom says whether all in the group was made by definitions: of those what is
// not served is as if it were no API.
func (g *apiGroup) custom() bool {
	for _, v := range g.versions {
		for _, r := range v.resources {
			if r.custom == nil {
				return false
			}
		}
	}
	return true
}

// has says whether the group has what a path below its versions names.
func (g *apiGroup) has(t target) bool {
	v := g.version(t.gvr.Version)
	if v == nil || t.kind == targetVersion {
		return v != nil
	}
	r := v.byName[t.gvr.Resource]
	switch {
	case r == nil || t.namespace != "" && !r.namespaced:
		return false
	}
	return !r.namespaced || t.namespace != "" || t.name == ""
}

func (r *resource) hasSub(name string) bool {
	return name == "status" && r.hasStatus || name == "scale" && r.scale != nil
}
