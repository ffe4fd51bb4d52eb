package factory

import (
	"context"
	"fmt"
	"slices"
	"weak"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/listwatch/listwatch/informer"
	"github.com/listwatch/listwatch/reflector"
)

// shared is an *informer.Informer of any type.
type shared interface {
	informer.Inspectable
	informer.Syncer
	informer.Member
	Acquire(ctx context.Context) (*informer.Lease, error)
	WaitFor(ctx context.Context, resourceVersion string) error
}

// entry is an informer that was asked for.
type entry struct {
	key       key
	settings  settings
	changed   bool   // what is cached is not what the server sends
	functions [2]any // keeps alive what settings identify
	site      string
	indexes   []anyIndex // guarded by the Factory's mu, as strong

	strong shared        // nil if nobody but its users is to keep the informer
	weak   func() shared // nil if it is gone

	// Views on the informer, as the key of the view says. A kind that the scheme
	// does not know cannot be shown as unstructured: that is nil then.
	metadata     func(shared, key) *View[*metav1.PartialObjectMetadata]
	unstructured func(shared, key) *View[*unstructured.Unstructured]
}

func newEntry[T informer.Object](f *Factory, r *request, one *informer.Informer[T]) *entry {
	pointer := weak.Make(one)
	e := &entry{key: r.key, settings: r.settings, changed: r.changes(), functions: [2]any{r.transform, r.mapping}, site: r.site, strong: one}
	e.weak = func() shared {
		if one := pointer.Value(); one != nil {
			return one
		}
		return nil
	}
	e.metadata = func(one shared, k key) *View[*metav1.PartialObjectMetadata] {
		return newView(k, one.(*informer.Informer[T]), "metadata of ", metadataOf[T])
	}
	kind, err := kindOf[T](f.scheme)
	if err != nil {
		return e
	}
	c := &conversions{kind: kind}
	e.unstructured = func(one shared, k key) *View[*unstructured.Unstructured] {
		return newView(k, one.(*informer.Informer[T]), "unstructured ", func(obj T) *unstructured.Unstructured { return c.of(obj) })
	}
	return e
}

// find returns the entry of a key and its informer, nil if there is none. Called
// with mu held.
func (f *Factory) find(k key) (*entry, shared) {
	for _, e := range f.entries {
		if e.key == k {
			if one := e.weak(); one != nil {
				return e, one
			}
		}
	}
	return nil, nil
}

// claim reports whether an index is new, so that it has to be added.
func (f *Factory) claim(e *entry, asked anyIndex, r *request) (fresh bool, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, has := range e.indexes {
		if has.name == asked.name && has.identity != asked.identity {
			return false, fmt.Errorf("%w: index %q: %v from %s, not %v", ErrConflict, has.name, has.identity, has.site, asked.identity)
		} else if has.name == asked.name {
			return false, nil
		}
	}
	asked.site = r.site
	e.indexes = append(e.indexes, asked)
	return true, nil
}

// disclaim takes back the claim of an index that could not be added.
func (f *Factory) disclaim(e *entry, name string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	e.indexes = slices.DeleteFunc(e.indexes, func(has anyIndex) bool { return has.name == name })
}

// living returns the informers that there are, with their entries, and forgets
// about the others. Called with mu held.
func (f *Factory) living() (entries []*entry, informers []shared) {
	f.entries = slices.DeleteFunc(f.entries, func(e *entry) bool { return e.weak() == nil })
	for _, e := range f.entries {
		if one := e.weak(); one != nil {
			entries, informers = append(entries, e), append(informers, one)
		}
	}
	return entries, informers
}

// all returns the informers that there are.
func (f *Factory) all() []shared {
	f.mu.Lock()
	defer f.mu.Unlock()
	_, informers := f.living()
	return informers
}

// create makes the informer that r asks for. It starts nothing.
func create[T informer.Object](f *Factory, r *request) (*informer.Informer[T], error) {
	client, err := f.clients(r.key.resource.GroupVersion())
	if err != nil {
		return nil, fmt.Errorf("factory: %v at %s: %w", r.key, r.site, err)
	}
	own := r.settings.informer
	options := informer.Options[T]{
		Name: r.name(), Reflector: r.settings.reflector, MaxPending: own.MaxPending, DetectMutations: own.DetectMutations,
		OnMutation: own.OnMutation, NewUIDUpdates: own.NewUIDUpdates, Instruments: own.Instruments,
	}
	options.Transform, _ = r.transform.(func(T) (T, error))
	options.Collection = r.key.collection()
	if r.settings.waiting {
		if options.Reflector.Absence, err = f.absence(r.key.resource); err != nil {
			return nil, fmt.Errorf("factory: %v at %s: %w", r.key, r.site, err)
		}
	}
	one, err := makerOf[T](r).make(client, r, options)
	if err != nil {
		return nil, fmt.Errorf("factory: %v at %s: %w", r.key, r.site, err)
	}
	return one, nil
}

// collection describes what is read.
func (k key) collection() reflector.Collection {
	return reflector.Collection{
		Group: k.resource.Group, Version: k.resource.Version, Resource: k.resource.Resource,
		LabelSelector: k.labels, FieldSelector: k.fields,
	}
}
