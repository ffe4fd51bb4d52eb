package apiserver

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/managedfields"

	"github.com/listwatch/listwatch/fakeserver/apiserver/internal/crd"
)

// customResource is a resource that a definition made. Immutable: a definition
// that changes makes another.
type customResource struct {
	definition  types.UID
	name        string // of the definition
	generation  int64  // of the definition
	names       apiextensionsv1.CustomResourceDefinitionNames
	terminating bool // the definition is being deleted: nothing is created any more

	resources []*resource // in the versions that are served
	stored    *storedKind
	storage   *customVersion
	fields    managedfields.TypeConverter
	trackers  sync.Map // tracking to *managedfields.FieldManager
}

// customVersion is one version of it.
type customVersion struct {
	of      *customResource
	gvk     schema.GroupVersionKind
	schema  *crd.Schema
	status  bool // it has the subresource
	scale   *apiextensionsv1.CustomResourceSubresourceScale
	labels  fieldLabels
	printer *printer
	warning string // for who uses a deprecated version
}

// newCustomResource makes what serves a definition whose names were accepted.
// Errors wrap crd.ErrSchema.
func newCustomResource(d *apiextensionsv1.CustomResourceDefinition) (*customResource, error) {
	c := &customResource{
		definition: d.UID, name: d.Name, generation: d.Generation,
		names: d.Status.AcceptedNames, terminating: d.DeletionTimestamp != nil,
	}
	gr := schema.GroupResource{Group: d.Spec.Group, Resource: d.Spec.Names.Plural}
	c.stored = &storedKind{
		resource: gr, goType: reflect.TypeFor[unstructured.Unstructured](), namespaced: d.Spec.Scope == apiextensionsv1.NamespaceScoped,
		prefix:    "/" + gr.String() + "/" + string(d.UID) + "/", // what a definition of the same name had stored is not shown
		behaviour: behaviour{generation: true, needsVersion: true},
		custom:    c,
	}
	schemas := map[string]*crd.Schema{}
	for i := range d.Spec.Versions {
		v, err := c.version(d, &d.Spec.Versions[i])
		if err != nil {
			return nil, fmt.Errorf("version %s of %s: %w", d.Spec.Versions[i].Name, d.Name, err)
		}
		schemas[v.gvk.Version] = v.schema
	}
	c.stored.labels = c.allLabels()
	var err error
	c.fields, err = crd.Fields(schema.GroupKind{Group: gr.Group, Kind: c.names.Kind}, schemas)
	return c, err
}

// version makes one version and, if it is served, its resource.
func (c *customResource) version(d *apiextensionsv1.CustomResourceDefinition, defined *apiextensionsv1.CustomResourceDefinitionVersion) (*customVersion, error) {
	v := &customVersion{of: c, gvk: schema.GroupVersionKind{Group: d.Spec.Group, Version: defined.Name, Kind: c.names.Kind}}
	var props *apiextensionsv1.JSONSchemaProps
	if defined.Schema != nil {
		props = defined.Schema.OpenAPIV3Schema
	}
	var err error
	if v.schema, err = crd.NewSchema(props); err != nil {
		return nil, err
	}
	if sub := defined.Subresources; sub != nil {
		v.status, v.scale = sub.Status != nil, sub.Scale
	}
	if v.printer, err = customPrinter(defined.AdditionalPrinterColumns); err != nil {
		return nil, err
	}
	v.labels = customLabels(defined.SelectableFields)
	if defined.Deprecated {
		v.warning = v.gvk.GroupVersion().String() + " " + v.gvk.Kind + " is deprecated"
		if defined.DeprecationWarning != nil {
			v.warning = *defined.DeprecationWarning
		}
	}
	if defined.Storage {
		c.storage, c.stored.gvk, c.stored.hasStatus = v, v.gvk, v.status
	}
	if defined.Served {
		c.resources = append(c.resources, v.resource())
	}
	return v, nil
}

// customVerbs are in the order in which a real server names them.
var (
	customVerbs      = []string{"delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"}
	terminatingVerbs = []string{"delete", "deletecollection", "get", "list", "watch"}
)

func (v *customVersion) resource() *resource {
	r := &resource{
		gvr: v.of.stored.resource.WithVersion(v.gvk.Version), gvk: v.gvk, goType: v.of.stored.goType,
		namespaced: v.of.stored.namespaced, verbs: customVerbs, hasStatus: v.status, stored: v.of.stored, custom: v,
	}
	if v.of.terminating {
		r.verbs = terminatingVerbs
	}
	if v.scale != nil {
		r.scale = &scaleKind
	}
	return r
}

// customLabels are the field selectors that a version defines.
func customLabels(defined []apiextensionsv1.SelectableField) fieldLabels {
	l := fieldLabels{known: []string{}}
	for _, f := range defined {
		l.known = append(l.known, strings.TrimPrefix(f.JSONPath, "."))
	}
	l.values = func(obj runtime.Object) fields.Set {
		set := make(fields.Set, len(l.known))
		custom, ok := obj.(*unstructured.Unstructured)
		for _, name := range l.known {
			set[name] = ""
			if !ok {
				continue
			}
			if value, has, err := unstructured.NestedFieldNoCopy(custom.Object, crd.Path(name)...); has && err == nil {
				set[name] = fmt.Sprint(value)
			}
		}
		return set
	}
	return l
}

// allLabels are those of all versions: selectors are matched with what is
// stored, where all have the same fields.
func (c *customResource) allLabels() fieldLabels {
	var all []apiextensionsv1.SelectableField
	for _, r := range c.resources {
		for _, name := range r.custom.labels.known {
			if f := (apiextensionsv1.SelectableField{JSONPath: name}); !slices.Contains(all, f) {
				all = append(all, f)
			}
		}
	}
	return customLabels(all)
}

// customPrinter prints the columns that a version defines.
func customPrinter(defined []apiextensionsv1.CustomResourceColumnDefinition) (*printer, error) {
	columns, err := crd.Columns(defined)
	if err != nil {
		return nil, err
	}
	p := &printer{nullRows: true}
	p.columns = append(p.columns, nameColumn)
	for _, c := range columns {
		p.columns = append(p.columns, c.Definition)
	}
	p.cells = func(obj runtime.Object) []any {
		custom, ok := obj.(*unstructured.Unstructured)
		if !ok {
			return make([]any, len(p.columns))
		}
		return append([]any{custom.GetName()}, customCells(columns, custom)...)
	}
	return p, nil
}

// serves says whether c is what the definition says, but for its deletion.
func (c *customResource) serves(d *apiextensionsv1.CustomResourceDefinition) bool {
	return c.definition == d.UID && c.generation == d.Generation && reflect.DeepEqual(c.names, d.Status.AcceptedNames)
}

// ending is c, with the same objects, while its definition is being deleted.
func (c *customResource) ending() *customResource {
	next := &customResource{
		definition: c.definition, name: c.name, generation: c.generation, names: c.names, terminating: true,
		stored: c.stored, storage: c.storage, fields: c.fields,
	}
	for _, r := range c.resources {
		v := *r.custom
		v.of = next
		if r.custom == c.storage {
			next.storage = &v
		}
		next.resources = append(next.resources, v.resource())
	}
	return next
}

// admit refuses new objects of a definition that is being deleted.
func (c *customResource) admit(name string) error {
	if !c.terminating {
		return nil
	}
	return apierrors.NewForbidden(c.stored.resource, name,
		errors.New("create not allowed while custom resource definition is terminating"))
}

// What discovery says of the names of a resource.

func (r *resource) singularName() string {
	if r.custom != nil {
		return cmp.Or(r.custom.of.names.Singular, strings.ToLower(r.gvk.Kind))
	}
	return strings.ToLower(r.gvk.Kind)
}

func (r *resource) shortNames() []string {
	if r.custom != nil {
		return r.custom.of.names.ShortNames
	}
	return shortNames[r.gvr.GroupResource()]
}

func (r *resource) categories() []string {
	if r.custom != nil {
		return r.custom.of.names.Categories
	}
	return categoriesOf(r.gvr.GroupResource())
}

// listKind is the kind of a list of the resource.
func (r *resource) listKind() schema.GroupVersionKind {
	if r.custom != nil {
		return r.gvk.GroupVersion().WithKind(cmp.Or(r.custom.of.names.ListKind, r.gvk.Kind+"List"))
	}
	return r.gvk.GroupVersion().WithKind(r.gvk.Kind + "List")
}
