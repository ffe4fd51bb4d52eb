package configset

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Plan is what is to be written for one ConfigSet, in this order. Objects of which
// nothing changes are the caller's own; none must be modified.
type Plan struct {
	// AddFinalizer: before any child is created, or a ConfigSet that is deleted in
	// between leaves one behind.
	AddFinalizer bool
	// Create are children that are missing, lowest first.
	Create []*corev1.ConfigMap
	// Update are children as they should be, with the resourceVersion that was seen.
	Update []*corev1.ConfigMap
	// Delete are children that there should not be, highest first; also those that
	// cannot be repaired since they are immutable. The next plan creates these again.
	Delete []*corev1.ConfigMap
	// Orphans belong to a ConfigSet of this name that is gone: to be deleted, but
	// only when the server itself has said that it is gone. A cache that lags behind
	// does not know a ConfigSet whose children another cache shows already.
	Orphans []*corev1.ConfigMap
	// RemoveFinalizer: no child is left of a ConfigSet that is being deleted.
	RemoveFinalizer bool
}

// Empty says that there is nothing to do.
func (p Plan) Empty() bool {
	return !p.AddFinalizer && !p.RemoveFinalizer && len(p.Create)+len(p.Update)+len(p.Delete)+len(p.Orphans) == 0
}

// PlanFor says what is to be done for set, or for the name of one that does not
// exist, which is nil. children are all ConfigMaps whose controller is a ConfigSet of
// that name and namespace, whatever its UID, in any order.
func PlanFor(set *ConfigSet, children []*corev1.ConfigMap) Plan {
	var p Plan
	children = slices.DeleteFunc(slices.Clone(children), func(child *corev1.ConfigMap) bool {
		owner, ok := OwnerOf(child)
		orphan := ok && (set == nil || owner.UID != set.UID)
		if orphan && child.DeletionTimestamp == nil {
			p.Orphans = append(p.Orphans, child)
		}
		return orphan || !ok
	})
	if set == nil {
		return p
	}
	finalized := slices.Contains(set.Finalizers, Finalizer)
	wanted := set.Wanted()
	if set.DeletionTimestamp != nil {
		wanted = 0
		p.RemoveFinalizer = finalized && len(children) == 0
	} else {
		p.AddFinalizer = !finalized
	}
	there := make([]bool, wanted)
	for _, child := range children {
		ordinal, ok := ordinalOf(set, child)
		needed := ok && ordinal < wanted
		if needed {
			there[ordinal] = true
		}
		if child.DeletionTimestamp != nil {
			continue // its end will be told
		}
		better, differs := child, false
		if needed {
			better, differs = repaired(set, child, ordinal)
		}
		switch {
		case !needed, differs && isTrue(child.Immutable):
			p.Delete = append(p.Delete, child)
		case differs:
			p.Update = append(p.Update, better)
		}
	}
	for ordinal, found := range there {
		if !found {
			p.Create = append(p.Create, Child(set, ordinal))
		}
	}
	p.sort(set)
	return p
}

func (p *Plan) sort(set *ConfigSet) {
	ordinal := func(child *corev1.ConfigMap) int {
		if n, ok := ordinalOf(set, child); ok {
			return n
		}
		return MaxReplicas // of those that never should have been
	}
	slices.SortFunc(p.Update, func(a, b *corev1.ConfigMap) int { return cmp.Compare(ordinal(a), ordinal(b)) })
	slices.SortFunc(p.Delete, func(a, b *corev1.ConfigMap) int {
		return cmp.Or(cmp.Compare(ordinal(b), ordinal(a)), cmp.Compare(a.Name, b.Name))
	})
}

func owns(set types.UID, child *corev1.ConfigMap) bool {
	owner, ok := OwnerOf(child)
	return ok && owner.UID == set
}
