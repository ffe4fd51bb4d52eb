package crd

import (
	"fmt"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Condition returns a condition of a definition, or nil.
func Condition(d *apiextensionsv1.CustomResourceDefinition, kind apiextensionsv1.CustomResourceDefinitionConditionType) *apiextensionsv1.CustomResourceDefinitionCondition {
	for i := range d.Status.Conditions {
		if d.Status.Conditions[i].Type == kind {
			return &d.Status.Conditions[i]
		}
	}
	return nil
}

// IsTrue says whether a definition has a condition.
func IsTrue(d *apiextensionsv1.CustomResourceDefinition, kind apiextensionsv1.CustomResourceDefinitionConditionType) bool {
	c := Condition(d, kind)
	return c != nil && c.Status == apiextensionsv1.ConditionTrue
}

// SetCondition sets a condition at a time, which is noted if the status is another
// than it was.
func SetCondition(d *apiextensionsv1.CustomResourceDefinition, c apiextensionsv1.CustomResourceDefinitionCondition, now metav1.Time) {
	c.LastTransitionTime = now
	old := Condition(d, c.Type)
	if old == nil {
		d.Status.Conditions = append(d.Status.Conditions, c)
		return
	}
	if old.Status == c.Status {
		c.LastTransitionTime = old.LastTransitionTime
	}
	*old = c
}

// SettleNames accepts the names of a definition that no other of its group has,
// and says so in its status; once all are accepted it is established, and stays
// so.
func SettleNames(d *apiextensionsv1.CustomResourceDefinition, others []*apiextensionsv1.CustomResourceDefinition, now metav1.Time) {
	taken := taken(d, others)
	wanted, accepted := d.Spec.Names, &d.Status.AcceptedNames
	condition := apiextensionsv1.CustomResourceDefinitionCondition{
		Type: apiextensionsv1.NamesAccepted, Status: apiextensionsv1.ConditionTrue, Reason: "NoConflicts", Message: "no conflicts found",
	}
	accept := func(reason, name, have string, used []string) bool {
		if name == have || !slices.Contains(used, name) {
			return true
		}
		condition.Status, condition.Reason = apiextensionsv1.ConditionFalse, reason
		condition.Message = fmt.Sprintf("%q is already in use", name)
		return false
	}
	if accept("PluralConflict", wanted.Plural, accepted.Plural, taken.resources) {
		accepted.Plural = wanted.Plural
	}
	if accept("SingularConflict", wanted.Singular, accepted.Singular, taken.resources) {
		accepted.Singular = wanted.Singular
	}
	if !slices.ContainsFunc(wanted.ShortNames, func(name string) bool {
		return !slices.Contains(accepted.ShortNames, name) && !accept("ShortNamesConflict", name, "", taken.resources)
	}) {
		accepted.ShortNames = wanted.ShortNames
	}
	if accept("KindConflict", wanted.Kind, accepted.Kind, taken.kinds) {
		accepted.Kind = wanted.Kind
	}
	if accept("ListKindConflict", wanted.ListKind, accepted.ListKind, taken.kinds) {
		accepted.ListKind = wanted.ListKind
	}
	accepted.Categories = wanted.Categories
	SetCondition(d, condition, now)
	switch {
	case IsTrue(d, apiextensionsv1.Established):
	case condition.Status == apiextensionsv1.ConditionTrue:
		SetCondition(d, apiextensionsv1.CustomResourceDefinitionCondition{Type: apiextensionsv1.Established,
			Status: apiextensionsv1.ConditionTrue, Reason: "InitialNamesAccepted", Message: "the initial names have been accepted"}, now)
	default:
		SetCondition(d, apiextensionsv1.CustomResourceDefinitionCondition{Type: apiextensionsv1.Established,
			Status: apiextensionsv1.ConditionFalse, Reason: "NotAccepted", Message: "not all names are accepted"}, now)
	}
}

type takenNames struct{ resources, kinds []string }

// taken are the names that other definitions of the group have got.
func taken(d *apiextensionsv1.CustomResourceDefinition, others []*apiextensionsv1.CustomResourceDefinition) takenNames {
	var t takenNames
	for _, other := range others {
		if other.Name == d.Name || other.Spec.Group != d.Spec.Group {
			continue
		}
		names := other.Status.AcceptedNames
		t.resources = append(append(t.resources, names.Plural, names.Singular), names.ShortNames...)
		t.kinds = append(t.kinds, names.Kind, names.ListKind)
	}
	return t
}
