package apiserver

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/klog/v2"

	"github.com/listwatch/listwatch/fakeserver/apiserver/internal/crd"
	"github.com/listwatch/listwatch/fakeserver/storage"
)

// cleanupFinalizer keeps a definition until its objects are gone.
const cleanupFinalizer = apiextensionsv1.CustomResourceCleanupFinalizer

// definitions are those of custom resources. What follows from a write to one is
// done before that is answered, by the request itself; a real server does it a
// moment later.
type definitions struct {
	gate  chan struct{} // holds one token: of who follows up a write, and owns known
	known map[string]*apiextensionsv1.CustomResourceDefinition
}

func newDefinitions() definitions {
	return definitions{gate: make(chan struct{}, 1), known: map[string]*apiextensionsv1.CustomResourceDefinition{}}
}

// prepareDefinition sets what the server owns of a new definition.
func prepareDefinition(obj runtime.Object) {
	if d, ok := obj.(*apiextensionsv1.CustomResourceDefinition); ok {
		d.Status = apiextensionsv1.CustomResourceDefinitionStatus{}
		crd.PrepareStored(d)
	}
}

func noteStored(obj runtime.Object) {
	if d, ok := obj.(*apiextensionsv1.CustomResourceDefinition); ok {
		crd.PrepareStored(d)
	}
}

// markDefinition makes the state that the deletion of a definition leads to. It
// never goes at once: its objects go first.
func markDefinition(d *apiextensionsv1.CustomResourceDefinition) bool {
	if d.DeletionTimestamp != nil {
		if d.DeletionGracePeriodSeconds == nil {
			d.DeletionGracePeriodSeconds = new(int64)
		}
		return len(d.Finalizers) == 0
	}
	at := now()
	d.DeletionTimestamp = &at
	if !slices.Contains(d.Finalizers, cleanupFinalizer) {
		d.Finalizers = append(d.Finalizers, cleanupFinalizer)
	}
	crd.SetCondition(d, apiextensionsv1.CustomResourceDefinitionCondition{
		Type: apiextensionsv1.Terminating, Status: apiextensionsv1.ConditionTrue, Reason: "InstanceDeletionPending",
		Message: "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon",
	}, at)
	return false
}

// written follows up a write: of a definition, or of an object whose definition
// waits for it to go.
func (s *Server) written(q *request, name string) error {
	switch v := q.resource.custom; {
	case isDefinition(q.resource.stored.resource):
		return s.follow(name)
	case v != nil && v.of.terminating:
		return s.follow(v.of.name)
	}
	return nil
}

// follow does what follows from the present state of a definition.
func (s *Server) follow(name string) error {
	select {
	case s.definitions.gate <- struct{}{}:
	case <-s.ctx.Done():
		return fmt.Errorf("definition %s: %w", name, ErrClosed)
	}
	defer func() { <-s.definitions.gate }()
	again := []string{name}
	for len(again) > 0 {
		freed, err := s.settleDefinition(again[0])
		if err != nil {
			return fmt.Errorf("definition %s: %w", again[0], err)
		}
		again = append(again[1:], freed...)
	}
	return nil
}

// settleDefinition brings the status of a definition, and what is served, in line
// with it. It returns the names of definitions that may now get names that this
// one had. Its caller holds the gate.
func (s *Server) settleDefinition(name string) (freed []string, err error) {
	known := s.definitions.known
	_, objects := s.served.Load().find(definitionResource)
	d, err := s.settleStatus(objects, name)
	if err == nil && d.DeletionTimestamp != nil {
		if err = s.serveDefinition(d); err == nil { // nothing is created any more
			d, err = s.terminate(objects, d)
		}
	}
	if apierrors.IsNotFound(err) || err == nil && d == nil {
		old := known[name]
		delete(known, name)
		s.swap(name, nil)
		return s.losers(old), nil
	}
	if err != nil {
		return nil, err
	}
	old := known[name]
	known[name] = d
	if old != nil && !equality.Semantic.DeepEqual(old.Status.AcceptedNames, d.Status.AcceptedNames) {
		freed = s.losers(old)
	}
	return freed, s.serveDefinition(d)
}

// losers are the definitions in the group of d that did not get their names.
func (s *Server) losers(d *apiextensionsv1.CustomResourceDefinition) []string {
	var names []string
	for name, other := range s.definitions.known {
		if d != nil && name != d.Name && other.Spec.Group == d.Spec.Group && !crd.IsTrue(other, apiextensionsv1.NamesAccepted) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// settleStatus writes the conditions of a definition.
func (s *Server) settleStatus(objects *collection, name string) (*apiextensionsv1.CustomResourceDefinition, error) {
	others := slices.Collect(maps.Values(s.definitions.known))
	return s.changeDefinition(objects, name, func(d *apiextensionsv1.CustomResourceDefinition) bool {
		crd.SettleNames(d, others, now())
		return false
	})
}

// changeDefinition writes what change makes of the status of a definition, or
// removes it if that says so; then the result is nil.
func (s *Server) changeDefinition(objects *collection, name string,
	change func(*apiextensionsv1.CustomResourceDefinition) (remove bool)) (*apiextensionsv1.CustomResourceDefinition, error) {
	result, err := objects.change(s.ctx, "", name, func(current record) (outcome, error) {
		next, ok := current.object.DeepCopyObject().(*apiextensionsv1.CustomResourceDefinition)
		if !ok {
			return outcome{}, fmt.Errorf("%w: %T is no definition", ErrCodec, current.object)
		}
		remove := change(next)
		result := outcome{object: next, remove: remove}
		if remove || equality.Semantic.DeepEqual(next, current.object) {
			return result, nil
		}
		of := tracking{kind: objects.kind.gvk, subresource: "status"}
		return result, trackFields(of, current.object, shallowCopy(next), next, "kube-apiserver")
	})
	if err != nil || result.remove {
		return nil, err
	}
	d, ok := result.object.(*apiextensionsv1.CustomResourceDefinition)
	if !ok {
		return nil, fmt.Errorf("%w: %T is no definition", ErrCodec, result.object)
	}
	return d, nil
}

// serveDefinition serves a definition as it is now, if it is established.
func (s *Server) serveDefinition(d *apiextensionsv1.CustomResourceDefinition) error {
	if !crd.IsTrue(d, apiextensionsv1.Established) {
		return nil
	}
	old := s.served.Load().custom[d.Name]
	if old != nil && old.serves(d) {
		if d.DeletionTimestamp != nil && !old.terminating {
			s.swap(d.Name, old.ending()) // its watches go on
		}
		return nil
	}
	next, err := newCustomResource(d)
	if errors.Is(err, crd.ErrSchema) {
		// It passed validation, which does not look at everything.
		klog.FromContext(s.ctx).Error(err, "Custom resource cannot be served", "definition", d.Name)
		return nil
	}
	if err != nil {
		return err
	}
	s.swap(d.Name, next)
	return nil
}

// swap serves next in the place of what was served for a definition. Only who
// holds the gate calls it.
func (s *Server) swap(name string, next *customResource) {
	view := s.served.Load()
	old := view.custom[name]
	if old == nil && next == nil {
		return
	}
	s.served.Store(s.with(view, name, next))
	if old != nil && (next == nil || next.stored != old.stored) {
		view.collections[old.stored].retire()
	}
}

// terminate deletes the objects of a definition that is being deleted, and then
// the definition, of which it returns what is left.
func (s *Server) terminate(objects *collection, d *apiextensionsv1.CustomResourceDefinition) (*apiextensionsv1.CustomResourceDefinition, error) {
	if !slices.Contains(d.Finalizers, cleanupFinalizer) {
		return d, nil
	}
	left, err := s.deleteAll(d.Name)
	if err != nil {
		return nil, err
	}
	return s.changeDefinition(objects, d.Name, func(d *apiextensionsv1.CustomResourceDefinition) bool {
		condition := apiextensionsv1.CustomResourceDefinitionCondition{Type: apiextensionsv1.Terminating}
		if left > 0 {
			condition.Status, condition.Reason = apiextensionsv1.ConditionTrue, "InstanceDeletionInProgress"
			condition.Message = "CustomResource deletion is in progress"
		} else {
			condition.Status, condition.Reason = apiextensionsv1.ConditionFalse, "InstanceDeletionCompleted"
			condition.Message = "removed all instances"
			d.Finalizers = without(d.Finalizers, cleanupFinalizer)
		}
		crd.SetCondition(d, condition, now())
		return len(d.Finalizers) == 0
	})
}

// deleteAll deletes the objects of a definition and returns how many wait for
// their finalizers.
func (s *Server) deleteAll(name string) (left int, err error) {
	view := s.served.Load()
	of := view.custom[name]
	if of == nil {
		return 0, nil
	}
	objects := view.collections[of.stored]
	listed, err := objects.store.List(s.ctx, of.stored.prefix, storage.ListOptions{})
	if err != nil {
		return 0, err
	}
	r, err := http.NewRequestWithContext(s.ctx, http.MethodDelete, "/", nil)
	if err != nil {
		return 0, err
	}
	q := &request{Request: r, resource: &resource{stored: of.stored, gvk: of.stored.gvk}, objects: objects}
	for _, kv := range listed.KVs {
		namespace, object, namespaced := strings.Cut(strings.TrimPrefix(kv.Key, of.stored.prefix), "/")
		if !namespaced {
			namespace, object = "", namespace
		}
		result, err := s.remove(q, namespace, object, &metav1.DeleteOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			return 0, err
		}
		if err == nil && !result.remove {
			left++
		}
	}
	return left, nil
}

// loadDefinitions serves what the store defines already.
func (s *Server) loadDefinitions() error {
	_, objects := s.served.Load().find(definitionResource)
	if objects == nil {
		return nil
	}
	listed, err := s.options.Store.List(s.ctx, objects.kind.prefix, storage.ListOptions{})
	if err != nil {
		return fmt.Errorf("read definitions: %w", err)
	}
	for _, kv := range listed.KVs {
		// Names that were accepted stay so, whichever definition comes first.
		obj, err := decodeStored(objects.kind, kv)
		if d, ok := obj.(*apiextensionsv1.CustomResourceDefinition); ok && err == nil {
			s.definitions.known[d.Name] = d
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.definitions.known)) {
		if err := s.follow(name); err != nil {
			return err
		}
	}
	return nil
}

// nullRows lets p have null for no rows.
func nullRows(p *printer) *printer {
	p.nullRows = true
	return p
}

// definitionPrinters print definitions.
var definitionPrinters = map[schema.GroupResource]*printer{
	definitionResource.GroupResource(): nullRows(printing(func(d *apiextensionsv1.CustomResourceDefinition) []any {
		versions := make([]string, 0, len(d.Spec.Versions))
		for _, v := range d.Spec.Versions {
			versions = append(versions, v.Name)
		}
		return []any{
			d.Name, string(d.Spec.Scope), strings.Join(versions, ","), d.CreationTimestamp.UTC().Format("2006-01-02T15:04:05Z"),
			d.Spec.Group, d.Spec.Names.Kind, strings.Join(d.Spec.Names.ShortNames, ","), crd.IsTrue(d, apiextensionsv1.Established),
		}
	}, nameColumn, text("Scope", "Whether objects have namespaces."), text("Versions", "Versions of the resource."),
		metav1.TableColumnDefinition{Name: "Created At", Type: "date", Description: objectDoc["creationTimestamp"]},
		wide(text("Group", "Group of the resource.")), wide(text("Kind", "Kind of the objects.")),
		wide(text("ShortNames", "Names for short.")), wide(truth("Established", "Whether the resource is served.")))),
}
