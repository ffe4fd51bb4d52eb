package configset

import (
	"maps"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// DeepCopyInto makes out a copy of s that shares nothing with it.
func (s *ConfigSet) DeepCopyInto(out *ConfigSet) {
	*out = *s
	s.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	s.Spec.DeepCopyInto(&out.Spec)
	s.Status.DeepCopyInto(&out.Status)
}

// DeepCopy returns a copy that shares nothing with s.
func (s *ConfigSet) DeepCopy() *ConfigSet {
	if s == nil {
		return nil
	}
	out := new(ConfigSet)
	s.DeepCopyInto(out)
	return out
}

// DeepCopyObject implements runtime.Object.
func (s *ConfigSet) DeepCopyObject() runtime.Object {
	if s == nil {
		return nil
	}
	return s.DeepCopy()
}

// DeepCopyInto makes out a copy of s that shares nothing with it.
func (s *ConfigSetSpec) DeepCopyInto(out *ConfigSetSpec) {
	*out = *s
	if s.Replicas != nil {
		out.Replicas = new(*s.Replicas)
	}
	out.Data = maps.Clone(s.Data)
}

// DeepCopyInto makes out a copy of s that shares nothing with it.
func (s *ConfigSetStatus) DeepCopyInto(out *ConfigSetStatus) {
	*out = *s
	if s.Conditions != nil {
		out.Conditions = make([]metav1.Condition, len(s.Conditions))
		for i := range s.Conditions {
			s.Conditions[i].DeepCopyInto(&out.Conditions[i])
		}
	}
}

// DeepCopyInto makes out a copy of l that shares nothing with it.
func (l *ConfigSetList) DeepCopyInto(out *ConfigSetList) {
	*out = *l
	l.ListMeta.DeepCopyInto(&out.ListMeta)
	if l.Items != nil {
		out.Items = make([]ConfigSet, len(l.Items))
		for i := range l.Items {
			l.Items[i].DeepCopyInto(&out.Items[i])
		}
	}
}

// DeepCopy returns a copy that shares nothing with l.
func (l *ConfigSetList) DeepCopy() *ConfigSetList {
	if l == nil {
		return nil
	}
	out := new(ConfigSetList)
	l.DeepCopyInto(out)
	return out
}

// DeepCopyObject implements runtime.Object.
func (l *ConfigSetList) DeepCopyObject() runtime.Object {
	if l == nil {
		return nil
	}
	return l.DeepCopy()
}
