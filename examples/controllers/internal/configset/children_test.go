package configset_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/listwatch/listwatch/examples/controllers/internal/configset"
)

func TestAChildNamesItsOwnerAndNothingElseDoes(t *testing.T) {
	if owner, ok := configset.OwnerOf(child(0)); !ok || owner != (configset.Owner{Namespace: "shop", Name: "web", UID: "u1"}) || owner.Key() != "shop/web" {
		t.Errorf("the owner is %+v (%v)", owner, ok)
	}
	for name, edit := range map[string]func(*metav1.OwnerReference){
		"no controller":    func(r *metav1.OwnerReference) { r.Controller = nil },
		"another kind":     func(r *metav1.OwnerReference) { r.Kind = "Deployment" },
		"another group":    func(r *metav1.OwnerReference) { r.APIVersion = "apps/v1" },
		"a broken version": func(r *metav1.OwnerReference) { r.APIVersion = "a/b/c" },
	} {
		if owner, ok := configset.OwnerOf(child(0, func(c *corev1.ConfigMap) { edit(&c.OwnerReferences[0]) })); ok {
			t.Errorf("with %s the owner is %+v", name, owner)
		}
	}
	other := child(0, func(c *corev1.ConfigMap) { c.OwnerReferences[0].APIVersion = configset.Group + "/v2" })
	if _, ok := configset.OwnerOf(other); !ok {
		t.Error("another version of the API is another owner")
	}
}

func TestOnlyWhatHasTheLabelAndNoControllerIsAdopted(t *testing.T) {
	alone := func(c *corev1.ConfigMap) { c.OwnerReferences = nil }
	adopted, ok := configset.Adopted(set(1), child(0, alone))
	if difference := cmp.Diff(child(0), adopted); !ok || difference != "" {
		t.Errorf("adopted: %v (-want +got):\n%s", ok, difference)
	}
	adopted, ok = configset.Adopted(set(1), child(0, uncontrolled))
	if difference := cmp.Diff(child(0), adopted); !ok || difference != "" {
		t.Errorf("with its reference made right: %v (-want +got):\n%s", ok, difference)
	}
	for name, edit := range map[string]func(*corev1.ConfigMap){
		"no label":   func(c *corev1.ConfigMap) { alone(c); unlabelled(c) },
		"its own":    func(*corev1.ConfigMap) {},
		"another's":  ofAnother,
		"other name": func(c *corev1.ConfigMap) { alone(c); c.Labels[configset.LabelSet] = "api" },
	} {
		if _, ok := configset.Adopted(set(1), child(0, edit)); ok {
			t.Errorf("%s: adopted", name)
		}
	}
}

func TestACopySharesNothing(t *testing.T) {
	list := &configset.ConfigSetList{Items: []configset.ConfigSet{*set(1, func(s *configset.ConfigSet) {
		s.Status.Conditions = []metav1.Condition{{Type: "Ready"}}
	})}}
	before := list.DeepCopy()
	if difference := cmp.Diff(list, before); difference != "" {
		t.Fatalf("the copy is another:\n%s", difference)
	}
	changed := list.DeepCopyObject().(*configset.ConfigSetList)
	one := changed.Items[0].DeepCopyObject().(*configset.ConfigSet)
	for _, s := range []*configset.ConfigSet{one, &changed.Items[0]} {
		s.Finalizers[0], *s.Spec.Replicas, s.Spec.Data["color"], s.Status.Conditions[0].Type = "x", 9, "x", "x"
	}
	if difference := cmp.Diff(before, list); difference != "" {
		t.Errorf("a change of the copy is one of the original:\n%s", difference)
	}
	if (*configset.ConfigSet)(nil).DeepCopyObject() != nil || (*configset.ConfigSetList)(nil).DeepCopyObject() != nil {
		t.Error("a copy of nothing is something")
	}
}
