package reflector

import (
	"context"
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

func TestASourceWithoutAClientIsRefusedAndNeverPanics(t *testing.T) {
	var listWatch *cache.ListWatch
	var client *rest.RESTClient
	for name, source := range map[string]Source[*corev1.Pod]{
		"no ListerWatcher":             FromListerWatcher[*corev1.Pod](nil),
		"nil ListWatch":                FromListerWatcher[*corev1.Pod](listWatch),
		"no ListerWatcherWithContext":  FromListerWatcherWithContext[*corev1.Pod](nil),
		"nil ListWatch with context":   FromListerWatcherWithContext[*corev1.Pod](listWatch),
		"no REST client":               FromREST[*corev1.Pod](nil, "pods", ""),
		"nil REST client":              FromREST[*corev1.Pod](client, "pods", ""),
		"nil REST client that decodes": FromREST[*corev1.Pod](client, "pods", "", WithClientDecoding()),
		"REST client of a fake":        FromREST[*corev1.Pod](fake.NewClientset().CoreV1().RESTClient(), "pods", ""),
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := New(source, Sink[*corev1.Pod](nowhere{}), Options{}); !errors.Is(err, ErrInvalidOptions) {
				t.Errorf("New: %v", err)
			}
			if _, err := source.List(context.Background(), metav1.ListOptions{}); !errors.Is(err, ErrInvalidOptions) {
				t.Errorf("List: %v", err)
			}
			if _, err := source.Watch(context.Background(), metav1.ListOptions{}); !errors.Is(err, ErrInvalidOptions) {
				t.Errorf("Watch: %v", err)
			}
		})
	}
}

// nowhere is a Sink that is never called.
type nowhere struct{ Sink[*corev1.Pod] }
