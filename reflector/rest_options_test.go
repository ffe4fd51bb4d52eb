package reflector

import (
	"testing"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
)

func TestOptionsThatMeanTheSameMakeEqualSettings(t *testing.T) {
	web := WithLabelSelector(labels.SelectorFromSet(labels.Set{"app": "web"}))
	node := WithFieldSelector(fields.OneTermEqualSelector("spec.nodeName", "n1"))
	same := []RESTOption{WithSharing(defaultSharing), WithoutManagedFields(), node, WithShard("s"), web, WithJSON(), WithClientDecoding()}
	one := RESTSettingsOf(web, node, WithShard("s"), WithJSON(), WithClientDecoding(), WithoutManagedFields(), WithSharing(0))
	if other := RESTSettingsOf(same...); one != other {
		t.Errorf("%+v is not %+v", one, other)
	}
	for k := range same {
		if other := RESTSettingsOf(same[k+1:]...); one == other {
			t.Errorf("without option %d nothing changes", k)
		}
	}
	if RESTSettingsOf() != (RESTSettings{}) {
		t.Error("no options are not the zero value")
	}
}

func TestASelectorIsWrittenAsTheServerIsAsked(t *testing.T) {
	for name, c := range map[string]struct{ option, want RESTOption }{
		"nil option":  {nil, nil},
		"nil labels":  {WithLabelSelector(nil), nil},
		"nil fields":  {WithFieldSelector(nil), nil},
		"every label": {WithLabelSelector(labels.Everything()), nil},
		"every field": {WithFieldSelector(fields.Everything()), nil},
		"labels":      {WithLabelSelector(labels.SelectorFromSet(labels.Set{"app": "web"})), func(s *RESTSettings) { s.LabelSelector = "app=web" }},
		"nothing":     {WithLabelSelector(labels.Nothing()), func(s *RESTSettings) { s.LabelSelector = noLabels }},
		"no fields":   {WithFieldSelector(fields.Nothing()), func(s *RESTSettings) { s.FieldSelector = noFields }},
	} {
		if got, want := RESTSettingsOf(c.option), RESTSettingsOf(c.want); got != want {
			t.Errorf("%s: got %+v, want %+v", name, got, want)
		}
	}
	label, err := labels.Parse(noLabels)
	if err != nil || label.Matches(labels.Set{"nothing": ""}) || label.Matches(labels.Set{}) {
		t.Errorf("something matches %v, %v", label, err)
	}
	field, err := fields.ParseSelector(noFields)
	if err != nil || field.Matches(fields.Set{"metadata.name": "nothing"}) || field.Matches(fields.Set{}) {
		t.Errorf("something matches %v, %v", field, err)
	}
}
