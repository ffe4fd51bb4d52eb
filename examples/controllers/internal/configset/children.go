package configset

import (
	"maps"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// ChildName is the name of a child.
func ChildName(set string, ordinal int) string { return set + "-" + strconv.Itoa(ordinal) }

// Child is the child of set with this ordinal as it should be. The data is set's
// own, and must not be modified.
func Child(set *ConfigSet, ordinal int) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			Namespace:       set.Namespace,
			Name:            ChildName(set.Name, ordinal),
			Labels:          map[string]string{LabelSet: set.Name, LabelOrdinal: strconv.Itoa(ordinal)},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(set, KindVersion)},
		},
		Data: set.Spec.Data,
	}
}

// Owner is a ConfigSet as an owner reference names it.
type Owner struct {
	Namespace, Name string
	UID             types.UID
}

// Key is "namespace/name".
func (o Owner) Key() string { return o.Namespace + "/" + o.Name }

// OwnerOf is the ConfigSet that controls child, and whether one does.
func OwnerOf(child metav1.Object) (Owner, bool) {
	ref := metav1.GetControllerOfNoCopy(child)
	if ref == nil || ref.Kind != Kind {
		return Owner{}, false
	}
	if version, err := schema.ParseGroupVersion(ref.APIVersion); err != nil || version.Group != Group {
		return Owner{}, false
	}
	return Owner{Namespace: child.GetNamespace(), Name: ref.Name, UID: ref.UID}, true
}

// Adopted is found as a child of set, with its owner reference: for a ConfigMap in
// the way of a child that lost its own. False, and not to be touched, if it is
// controlled by something else or has not the label of set.
func Adopted(set *ConfigSet, found *corev1.ConfigMap) (*corev1.ConfigMap, bool) {
	if metav1.GetControllerOfNoCopy(found) != nil || found.Labels[LabelSet] != set.Name {
		return nil, false
	}
	adopted := found.DeepCopy()
	own(set, adopted)
	return adopted, true
}

// ordinalOf is the ordinal in the name of a child, and whether it has one.
func ordinalOf(set *ConfigSet, child *corev1.ConfigMap) (int, bool) {
	suffix, found := strings.CutPrefix(child.Name, set.Name+"-")
	ordinal, err := strconv.Atoi(suffix)
	return ordinal, found && err == nil && ordinal >= 0 && child.Name == ChildName(set.Name, ordinal)
}

// repaired is child as want has it, and whether that is something else. What others
// may add to an object stays: labels, annotations, owners, finalizers.
func repaired(set *ConfigSet, child *corev1.ConfigMap, ordinal int) (*corev1.ConfigMap, bool) {
	want := Child(set, ordinal)
	same := maps.Equal(child.Data, want.Data) && len(child.BinaryData) == 0 && holds(child.OwnerReferences, want.OwnerReferences[0])
	for name, value := range want.Labels {
		same = same && child.Labels[name] == value
	}
	if same {
		return child, false
	}
	child = child.DeepCopy()
	child.Data, child.BinaryData = maps.Clone(want.Data), nil
	if child.Labels == nil {
		child.Labels = map[string]string{}
	}
	maps.Copy(child.Labels, want.Labels)
	own(set, child)
	return child, true
}

// own gives child the owner reference, in place of one to the same object.
func own(set *ConfigSet, child *corev1.ConfigMap) {
	ref := *metav1.NewControllerRef(set, KindVersion)
	for i := range child.OwnerReferences {
		if child.OwnerReferences[i].UID == set.UID {
			child.OwnerReferences[i] = ref
			return
		}
	}
	child.OwnerReferences = append(child.OwnerReferences, ref)
}

func holds(all []metav1.OwnerReference, want metav1.OwnerReference) bool {
	for _, ref := range all {
		if ref.UID == want.UID {
			return ref.APIVersion == want.APIVersion && ref.Kind == want.Kind && ref.Name == want.Name &&
				isTrue(ref.Controller) && isTrue(ref.BlockOwnerDeletion)
		}
	}
	return false
}

func isTrue(b *bool) bool { return b != nil && *b }
