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
