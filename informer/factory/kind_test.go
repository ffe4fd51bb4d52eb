package factory

import (
	"errors"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/kubernetes/scheme"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/listwatch/listwatch/fakeserver"
)

func TestEveryBuiltInKindHasTheResourceOfItsPlural(t *testing.T) {
	server, err := fakeserver.New(fakeserver.Options{AllVersions: true})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	client := discovery.NewDiscoveryClientForConfigOrDie(server.Config())
	_, lists, err := client.ServerGroupsAndResources()
	if err != nil {
		t.Fatal(err)
	}
	checked := 0
	for _, list := range lists {
		for _, r := range list.APIResources {
			version, _ := schema.ParseGroupVersion(list.GroupVersion)
			kind := version.WithKind(r.Kind)
			if strings.Contains(r.Name, "/") || !scheme.Scheme.Recognizes(kind) {
				continue
			}
			checked++
			if got := resourceOf(kind); got != version.WithResource(r.Name) {
				t.Errorf("%v: got %v, the server has %s", kind, got, r.Name)
			}
		}
	}
	if checked < 50 {
		t.Errorf("only %d kinds", checked)
	}
}

func TestATypeOfSeveralKindsOrNoneHasNoResource(t *testing.T) {
	s := runtime.NewScheme()
	if _, err := kindOf[*corev1.Pod](s); !errors.Is(err, ErrUnknownKind) {
		t.Errorf("unknown type: %v", err)
	}
	s.AddKnownTypes(schema.GroupVersion{Group: "a", Version: "v1"}, &corev1.Pod{})
	if kind, err := kindOf[*corev1.Pod](s); err != nil || resourceOf(kind) != (schema.GroupVersionResource{Group: "a", Version: "v1", Resource: "pods"}) {
		t.Errorf("type of one kind: %v, %v", kind, err)
	}
	s.AddKnownTypes(schema.GroupVersion{Group: "b", Version: "v1"}, &corev1.Pod{})
	if _, err := kindOf[*corev1.Pod](s); !errors.Is(err, ErrUnknownKind) {
		t.Errorf("type of two kinds: %v", err)
	}
	if _, err := kindOf[*metav1.PartialObjectMetadata](scheme.Scheme); !errors.Is(err, ErrUnknownKind) {
		t.Errorf("metadata: %v", err)
	}
}
