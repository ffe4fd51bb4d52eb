package apiserver

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/kubernetes"
)

// resource is one resource in one version, as it is served under a path.
// Immutable once the catalog is built.
type resource struct {
	gvr        schema.GroupVersionResource
	gvk        schema.GroupVersionKind
	goType     reflect.Type // the struct of gvk
	namespaced bool
	verbs      []string                 // sorted
	hasStatus  bool                     // serves /status
	scale      *schema.GroupVersionKind // nil: no /scale
	stable     bool                     // a GA version that a real server still serves
	stored     *storedKind              // shared by all versions of the resource
	custom     *customVersion           // nil: it is built in
}

// storedKind says how the objects of one resource are kept, whatever version
// they were sent in.
type storedKind struct {
	resource  schema.GroupResource
	gvk       schema.GroupVersionKind
	goType    reflect.Type
	prefix    string // of its keys in the store, "/pods/"
	hasStatus bool
	// namespaced as all versions of the resource are, or none.
	namespaced bool
	uncached   bool // see there
	trigger    trigger
	behaviour  behaviour
	labels     fieldLabels
	custom     *customResource // nil: it is built in
}

// trigger is a field that many watches require one value of. The zero value is
// none.
type trigger struct {
	field string
	of    func(obj runtime.Object) string
}

// triggers are the fields by which a real server finds watches quickly: every
// node watches its pods.
var triggers = map[schema.GroupResource]trigger{
	{Resource: "pods"}: {"spec.nodeName", func(obj runtime.Object) string {
		if pod, ok := obj.(*corev1.Pod); ok {
			return pod.Spec.NodeName
		}
		return ""
	}},
}

// catalog is everything that can be served.
type catalog struct {
	groups []*apiGroup // in order of preference: RESTMappers take the first
	byName map[string]*apiGroup

	aggregated aggregatedDocuments
}

type apiGroup struct {
	name     string
	versions []*apiVersion // the most stable first
}

type apiVersion struct {
	gv        schema.GroupVersion
	resources []*resource // sorted by name
	byName    map[string]*resource
}

func (g *apiGroup) version(name string) *apiVersion {
	for _, v := range g.versions {
		if v.gv.Version == name {
			return v
		}
	}
	return nil
}

// lookup finds a resource; the second result says whether its group and
// version exist at all.
func (c *catalog) lookup(gvr schema.GroupVersionResource) (*resource, bool) {
	group := c.byName[gvr.Group]
	if group == nil {
		return nil, false
	}
	v := group.version(gvr.Version)
	if v == nil {
		return nil, false
	}
	return v.byName[gvr.Resource], true
}

// builtin is the catalog of the kinds that client-go's generated clientset
// knows. It is the same for every server, so it is built once per process.
var builtin = sync.OnceValues(buildCatalog)

// builtinStable is the part of builtin that a real server serves with default
// flags.
var builtinStable = sync.OnceValues(func() (*catalog, error) {
	all, err := builtin()
	if err != nil {
		return nil, err
	}
	return all.only(func(r *resource) bool { return r.stable }), nil
})

// only returns the part of c whose resources keep accepts, without the groups
// and versions that become empty.
func (c *catalog) only(keep func(*resource) bool) *catalog {
	var kept []*resource
	for _, g := range c.groups {
		for _, v := range g.versions {
			for _, r := range v.resources {
				if keep(r) {
					kept = append(kept, r)
				}
			}
		}
	}
	return newCatalog(kept)
}

func buildCatalog() (*catalog, error) {
	var all []*resource
	clients := reflect.TypeFor[kubernetes.Interface]()
	for i := range clients.NumMethod() {
		group := clients.Method(i)
		if group.Name == "Discovery" || group.Type.NumOut() != 1 {
			continue
		}
		found, err := groupResources(group.Type.Out(0))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", group.Name, err)
		}
		all = append(all, found...)
	}
	all = append(all, definitionsResource())
	shareStorage(all)
	return newCatalog(all), nil
}

// groupResources reads the interface of one group-version: each method that
// returns an interface is the getter of a resource, and takes a namespace if
// the resource is namespaced.
func groupResources(client reflect.Type) ([]*resource, error) {
	var found []*resource
	for i := range client.NumMethod() {
		getter := client.Method(i)
		if getter.Name == "RESTClient" || getter.Type.NumOut() != 1 || getter.Type.Out(0).Kind() != reflect.Interface {
			continue
		}
		r, err := reflectResource(getter)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", getter.Name, err)
		}
		if r != nil {
			found = append(found, r)
		}
	}
	return found, nil
}

// verbMethods maps the methods of a generated client to verbs.
var verbMethods = map[string]string{
	"Create": "create", "Delete": "delete", "DeleteCollection": "deletecollection", "Get": "get",
	"List": "list", "Patch": "patch", "Update": "update", "Watch": "watch",
}

// reflectResource returns nil for a resource that cannot be listed: reviews and
// their like are questions, not objects.
func reflectResource(getter reflect.Method) (*resource, error) {
	client := getter.Type.Out(0)
	if _, lists := client.MethodByName("List"); !lists {
		return nil, nil
	}
	create, creates := client.MethodByName("Create")
	get, gets := client.MethodByName("Get")
	var object reflect.Type
	switch {
	case creates:
		object = create.Type.In(1)
	case gets:
		object = get.Type.Out(0)
	default:
		return nil, nil
	}
	gvk, err := kindOf(object)
	if err != nil {
		return nil, err
	}
	r := &resource{
		gvk:        gvk,
		gvr:        gvk.GroupVersion().WithResource(strings.ToLower(getter.Name)),
		goType:     object.Elem(),
		namespaced: getter.Type.NumIn() == 1,
		stable:     isStable(gvk, object),
	}
	for method, verb := range verbMethods {
		if _, has := client.MethodByName(method); has {
			r.verbs = append(r.verbs, verb)
		}
	}
	switch {
	case gvk.Group != "":
	case gvk.Kind == "Service":
		r.verbs = append(r.verbs, "deletecollection") // newer than the client, which never got it
	case gvk.Kind == "ComponentStatus":
		r.verbs = []string{"get", "list"} // it is looked at, not stored
	}
	slices.Sort(r.verbs)
	_, r.hasStatus = client.MethodByName("UpdateStatus")
	if scale, has := client.MethodByName("UpdateScale"); has {
		scaleKind, err := kindOf(scale.Type.In(2))
		if err != nil {
			return nil, err
		}
		r.scale = &scaleKind
	}
	return r, nil
}

// kindOf finds the kind under which a pointer type is registered.
func kindOf(object reflect.Type) (schema.GroupVersionKind, error) {
	value, ok := reflect.New(object.Elem()).Interface().(runtime.Object)
	if !ok {
		return schema.GroupVersionKind{}, fmt.Errorf("%w: %s is no object", ErrCatalog, object)
	}
	kinds, _, err := kinds.ObjectKinds(value)
	if err != nil {
		return schema.GroupVersionKind{}, fmt.Errorf("%w: %w", ErrCatalog, err)
	}
	return kinds[0], nil
}

// isStable says whether a real server with default flags serves the kind: GA
// versions that were not removed since.
func isStable(gvk schema.GroupVersionKind, object reflect.Type) bool {
	if strings.Contains(gvk.Version, "alpha") || strings.Contains(gvk.Version, "beta") {
		return false
	}
	removable, ok := reflect.New(object.Elem()).Interface().(interface {
		APILifecycleRemoved() (major, minor int)
	})
	if !ok {
		return true
	}
	major, minor := removable.APILifecycleRemoved()
	return major > emulatedMajor || major == emulatedMajor && minor > emulatedMinor
}

// shareStorage gives all versions of a resource one place in the store, under
// the most stable of its versions.
func shareStorage(all []*resource) {
	stored := map[schema.GroupResource]*storedKind{}
	best := map[schema.GroupResource]*resource{}
	for _, r := range all {
		at := storageResource(r.gvr.GroupResource())
		if r.gvr.GroupResource() != at {
			continue // kept as another group's resource
		}
		if b := best[at]; b == nil || version.CompareKubeAwareVersionStrings(r.gvr.Version, b.gvr.Version) > 0 {
			best[at] = r
		}
	}
	for gr, r := range best {
		name := gr.String()
		stored[gr] = &storedKind{
			resource: gr, gvk: r.gvk, goType: r.goType, prefix: "/" + name + "/",
			hasStatus: r.hasStatus, namespaced: r.namespaced, uncached: uncached[gr], trigger: triggers[gr], behaviour: behaviourOf(gr, r.goType), labels: fieldLabelsOf(gr),
		}
	}
	for _, r := range all {
		r.stored = stored[storageResource(r.gvr.GroupResource())]
	}
}

func newCatalog(all []*resource) *catalog {
	c := &catalog{byName: map[string]*apiGroup{}}
	versions := map[schema.GroupVersion]*apiVersion{}
	for _, r := range all {
		gv := r.gvr.GroupVersion()
		v := versions[gv]
		if v == nil {
			v = &apiVersion{gv: gv, byName: map[string]*resource{}}
			versions[gv] = v
			g := c.byName[gv.Group]
			if g == nil {
				g = &apiGroup{name: gv.Group}
				c.byName[gv.Group] = g
				c.groups = append(c.groups, g)
			}
			g.versions = append(g.versions, v)
		}
		v.resources = append(v.resources, r)
		v.byName[r.gvr.Resource] = r
	}
	slices.SortFunc(c.groups, func(a, b *apiGroup) int { return compareGroups(a.name, b.name) })
	for _, g := range c.groups {
		slices.SortFunc(g.versions, func(a, b *apiVersion) int {
			return version.CompareKubeAwareVersionStrings(b.gv.Version, a.gv.Version)
		})
		for _, v := range g.versions {
			slices.SortFunc(v.resources, func(a, b *resource) int { return strings.Compare(a.gvr.Resource, b.gvr.Resource) })
		}
	}
	return c
}
