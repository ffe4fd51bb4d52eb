package reflector

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
)

func TestASourceForRESTSaysWhatItReads(t *testing.T) {
	config := &rest.Config{Host: "http://unused.invalid", ContentConfig: rest.ContentConfig{
		GroupVersion: &corev1.SchemeGroupVersion, NegotiatedSerializer: scheme.Codecs.WithoutConversion(),
	}}
	client, err := rest.RESTClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	source := FromREST[*corev1.Pod](client, "pods", "web",
		WithLabelSelector(labels.SelectorFromSet(labels.Set{"app": "web"})),
		WithFieldSelector(fields.OneTermEqualSelector("spec.nodeName", "n1")))
	want := Collection{
		Version: "v1", Resource: "pods", Namespace: "web", LabelSelector: "app=web", FieldSelector: "spec.nodeName=n1",
	}
	if got := Describe(source); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestACollectionReadsLikeASentence(t *testing.T) {
	for want, c := range map[string]Collection{
		"":                    {},
		"pods":                {Resource: "pods"},
		"deployments.v1.apps": {Group: "apps", Version: "v1", Resource: "deployments"},
		"pods.v1 in namespace web with labels app=web with fields spec.nodeName=n1": {
			Version: "v1", Resource: "pods", Namespace: "web", LabelSelector: "app=web", FieldSelector: "spec.nodeName=n1"},
		"in namespace web": {Namespace: "web"},
	} {
		if got := c.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
