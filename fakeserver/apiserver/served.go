package apiserver

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// served is what a server serves at a time: immutable, and replaced when custom
// resources come and go.
type served struct {
	catalog     *catalog
	collections map[*storedKind]*collection
	custom      map[string]*customResource // by the names of their definitions
}

// find returns a resource and its objects, or nil.
func (v *served) find(gvr schema.GroupVersionResource) (*resource, *collection) {
	r, _ := v.catalog.lookup(gvr)
	if r == nil {
		return nil, nil
	}
	return r, v.collections[r.stored]
}

func (v *served) kinds() []*storedKind { return slices.Collect(maps.Keys(v.collections)) }

// firstServed serves the built-in resources of a catalog.
func (s *Server) firstServed(builtin *catalog) *served {
	v := &served{catalog: builtin, collections: map[*storedKind]*collection{}, custom: map[string]*customResource{}}
	for r := range builtin.all {
		if v.collections[r.stored] == nil {
			v.collections[r.stored] = s.newCollection(r.stored)
		}
	}
	return v
}

// all ranges over the resources in all versions.
func (c *catalog) all(yield func(*resource) bool) {
	for _, g := range c.groups {
		for _, v := range g.versions {
			for _, r := range v.resources {
				if !yield(r) {
					return
				}
			}
		}
	}
}

// with returns what is served once a custom resource is served as next, or no
// longer if that is nil. next may be the first one.
func (s *Server) with(v *served, name string, next *customResource) *served {
	changed := &served{collections: maps.Clone(v.collections), custom: maps.Clone(v.custom)}
	if old := v.custom[name]; old != nil && (next == nil || next.stored != old.stored) {
		delete(changed.collections, old.stored)
	}
	delete(changed.custom, name)
	if next != nil {
		changed.custom[name] = next
		if changed.collections[next.stored] == nil {
			changed.collections[next.stored] = s.newCollection(next.stored)
		}
	}
	all := slices.Collect(s.builtin.all)
	for _, name := range slices.Sorted(maps.Keys(changed.custom)) {
		for _, r := range changed.custom[name].resources {
			if builtin, _ := s.builtin.lookup(r.gvr); builtin == nil {
				all = append(all, r)
			}
		}
	}
	changed.catalog = newCatalog(all)
	return changed
}
