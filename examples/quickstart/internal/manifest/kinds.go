package manifest

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/restmapper"
)

// Kinds are the kinds that a server serves. Immutable.
type Kinds struct {
	mapper meta.RESTMapper
	verbs  map[schema.GroupVersionKind]metav1.Verbs
}

// Discover asks the server for its kinds.
func Discover(ctx context.Context, client discovery.DiscoveryInterface) (*Kinds, error) {
	groups, err := restmapper.GetAPIGroupResourcesWithContext(ctx, discovery.ToDiscoveryInterfaceWithContext(client))
	if err != nil {
		return nil, fmt.Errorf("ask the server for its kinds: %w", err)
	}
	return NewKinds(groups), nil
}

// NewKinds makes Kinds of what discovery has answered.
func NewKinds(groups []*restmapper.APIGroupResources) *Kinds {
	kinds := &Kinds{
		mapper: restmapper.NewDiscoveryRESTMapper(groups),
		verbs:  map[schema.GroupVersionKind]metav1.Verbs{},
	}
	for _, group := range groups {
		for version, resources := range group.VersionedResources {
			for _, resource := range resources {
				if strings.Contains(resource.Name, "/") {
					continue // a subresource, whose kind may be another's
				}
				gvk := schema.GroupVersionKind{Group: group.Group.Name, Version: version, Kind: resource.Kind}
				kinds.verbs[gvk] = resource.Verbs
			}
		}
	}
	return kinds
}

// Lookup says under which resource the server keeps a kind, and whether in
// namespaces. The error is an *Error of ErrUnknownKind without a place; it says
// which kind may have been meant.
func (k *Kinds) Lookup(gvk schema.GroupVersionKind) (*meta.RESTMapping, error) {
	mapping, err := k.mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	if err != nil {
		detail := fmt.Sprintf("the server has no %s in %s", gvk.Kind, gvk.GroupVersion())
		return nil, &Error{Kind: ErrUnknownKind, Detail: detail, Fix: k.suggest(gvk)}
	}
	for _, verb := range []string{"list", "watch"} {
		if !slices.Contains(k.verbs[gvk], verb) {
			detail := fmt.Sprintf("the server does not %s objects of kind %s", verb, gvk.Kind)
			return nil, &Error{Kind: ErrUnknownKind, Detail: detail, Fix: "leave it out"}
		}
	}
	return mapping, nil
}

// Preferred is Lookup in the version that the server prefers.
func (k *Kinds) Preferred(kind schema.GroupKind) (*meta.RESTMapping, error) {
	mapping, err := k.mapper.RESTMapping(kind)
	if err != nil {
		return nil, err
	}
	return k.Lookup(mapping.GroupVersionKind)
}

// suggest names the closest kind: the same in another version, or one that is
// spelled almost alike.
func (k *Kinds) suggest(wanted schema.GroupVersionKind) string {
	tooMuch := 1 + min(2, len(wanted.Kind)/3)
	best, bestCost := schema.GroupVersionKind{}, tooMuch
	for gvk := range k.verbs {
		cost := distance(strings.ToLower(wanted.Kind), strings.ToLower(gvk.Kind))
		if cost < bestCost || cost == bestCost && cost < tooMuch && gvk.String() < best.String() {
			best, bestCost = gvk, cost
		}
	}
	if bestCost == tooMuch {
		return `check the spelling, or install what brings the kind ("kubectl api-resources" lists what there is)`
	}
	if preferred, err := k.mapper.RESTMapping(best.GroupKind()); err == nil {
		best = preferred.GroupVersionKind
	}
	return fmt.Sprintf("write apiVersion: %s, kind: %s if you mean that", best.GroupVersion(), best.Kind)
}

// distance is the number of letters to insert, drop or replace to turn a into b.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replace := diagonal
			if a[i] != b[j] {
				replace++
			}
			diagonal = row[j+1]
			row[j+1] = min(replace, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
