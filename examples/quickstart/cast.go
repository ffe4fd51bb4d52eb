package main

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/listwatch/listwatch/examples/quickstart/internal/manifest"
)

// actor is a loaded object that is updated, and a copy of it that is created
// and deleted, so that no loaded object is lost.
type actor struct {
	member          *member
	namespace, name string
	copied          *unstructured.Unstructured // nil: nothing is created and deleted
	updates         int64
}

// stars are the kinds whose changes say most to a reader.
var stars = []string{"Deployment", "ConfigMap", "Lease", "PriorityClass"}

// chooseCast picks up to four objects of different kinds. Namespaces come last,
// and without a copy: one that is deleted stays until a controller, which is
// not here, has emptied it.
func chooseCast(informers *fleet, objects []manifest.Object) []*actor {
	const most = 4
	taken := map[string]bool{}
	for _, object := range objects {
		taken[object.String()] = true
	}
	byFame := slices.Clone(objects)
	slices.SortStableFunc(byFame, func(a, b manifest.Object) int { return fame(a) - fame(b) })
	var cast []*actor
	var kinds []*member
	for _, object := range byFame {
		m := informers.of(object)
		if len(cast) == most || slices.Contains(kinds, m) {
			continue
		}
		kinds = append(kinds, m)
		a := &actor{member: m, namespace: object.Content.GetNamespace(), name: object.Content.GetName()}
		if !isNamespace(object) {
			a.copied = copyOf(object, taken)
		}
		cast = append(cast, a)
	}
	return cast
}

func fame(object manifest.Object) int {
	if isNamespace(object) {
		return len(stars) + 1
	}
	if place := slices.Index(stars, object.Mapping.GroupVersionKind.Kind); place >= 0 {
		return place
	}
	return len(stars)
}

func isNamespace(object manifest.Object) bool {
	return object.Mapping.Resource.GroupResource() == schema.GroupResource{Resource: "namespaces"}
}

// copyOf is the object under a name that is not taken, and without what would
// tie its fate to others.
func copyOf(object manifest.Object, taken map[string]bool) *unstructured.Unstructured {
	copied := object.Content.DeepCopy()
	copied.SetFinalizers(nil)
	copied.SetOwnerReferences(nil)
	stem := object.Content.GetName()
	stem = strings.Trim(stem[:min(len(stem), 40)], "-.")
	for i := 1; ; i++ {
		suffix := "-copy"
		if i > 1 {
			suffix = fmt.Sprintf("-copy-%d", i)
		}
		copied.SetName(stem + suffix)
		if !taken[manifest.Object{Content: copied, Mapping: object.Mapping}.String()] {
			return copied
		}
	}
}
