package configset

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Names of the API.
const (
	Group    = "examples.listwatch.dev"
	Kind     = "ConfigSet"
	Plural   = "configsets"
	Singular = "configset"

	// Finalizer keeps a ConfigSet until its controller has removed its children.
	Finalizer = Group + "/children"
	// LabelSet has, on a child, the name of its ConfigSet.
	LabelSet = Group + "/configset"
	// LabelOrdinal has, on a child, its number.
	LabelOrdinal = Group + "/ordinal"

	// DefaultReplicas is what the server fills in, MaxReplicas what it allows.
	DefaultReplicas = 1
	MaxReplicas     = 100
	// MaxName is the length of the longest name allowed: children's names and the
	// label's value must be valid, too.
	MaxName = 60
)

// The one condition, and its reasons.
const (
	// ConditionReady is True if the children are as the spec wants them.
	ConditionReady = "Ready"

	ReasonComplete    = "Complete"    // all is as it should be
	ReasonProgressing = "Progressing" // something is still to be done
	ReasonNameTaken   = "NameTaken"   // a ConfigMap of somebody else has the name of a child
	ReasonFailed      = "Failed"      // the server refused something
)

// The API as the rest of the world names it.
var (
	GroupVersion = schema.GroupVersion{Group: Group, Version: "v1"}
	KindVersion  = GroupVersion.WithKind(Kind)
	Resource     = GroupVersion.WithResource(Plural)
)

// ConfigSet is a number of ConfigMaps with the same data.
type ConfigSet struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   ConfigSetSpec   `json:"spec,omitempty"`
	Status ConfigSetStatus `json:"status,omitempty"`
}

// ConfigSetSpec is what is wanted.
type ConfigSetSpec struct {
	// Replicas is the number of ConfigMaps, 0 to MaxReplicas. The server makes an
	// absent one DefaultReplicas.
	Replicas *int32 `json:"replicas,omitempty"`
	// Data is that of each ConfigMap.
	Data map[string]string `json:"data,omitempty"`
}

// ConfigSetStatus is what the controller has seen.
type ConfigSetStatus struct {
	// ObservedGeneration is the generation of the spec that the rest is about.
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// Replicas is the number of children, wanted or not, that are not being deleted.
	Replicas int32 `json:"replicas"`
	// ReadyReplicas is the number of wanted children that are as they should be.
	ReadyReplicas int32 `json:"readyReplicas"`
	// Selector matches the children's labels. It is for the scale subresource.
	Selector string `json:"selector,omitempty"`
	// Conditions has ConditionReady.
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// ConfigSetList is a list of ConfigSets.
type ConfigSetList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []ConfigSet `json:"items"`
}

// Wanted is the number of children that s asks for.
func (s *ConfigSet) Wanted() int {
	if s.Spec.Replicas == nil {
		return DefaultReplicas
	}
	return int(*s.Spec.Replicas)
}

// AddToScheme makes scheme know the types.
func AddToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion, &ConfigSet{}, &ConfigSetList{})
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}
