package informer_test

import (
	"context"
	"fmt"
	"reflect"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/listwatch/listwatch/fakeserver"
	"github.com/listwatch/listwatch/informer"
	"github.com/listwatch/listwatch/reflector"
)

// Objects that share parts are all modified by who modifies one of them. The
// report that comes first names the one that it was done by, and whoever did it.
func TestOfObjectsThatShareWhatWasModifiedTheOneInHandIsNamed(t *testing.T) {
	server, err := fakeserver.New(fakeserver.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	client := kubernetes.NewForConfigOrDie(server.Config())
	for i := range 100 {
		pod := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("m%02d", i), Labels: map[string]string{"app": "web"}}}
		if _, err := client.CoreV1().ConfigMaps("default").Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	var mu sync.Mutex
	var reports []*informer.Mutation
	source := reflector.FromREST[*corev1.ConfigMap](client.CoreV1().RESTClient(), "configmaps", "", reflector.WithSharing(0))
	maps, err := informer.New(source, informer.Options[*corev1.ConfigMap]{DetectMutations: true, OnMutation: func(m *informer.Mutation) {
		mu.Lock()
		defer mu.Unlock()
		reports = append(reports, m)
	}})
	if err != nil {
		t.Fatal(err)
	}
	labels := map[uintptr]int{}
	registration, err := maps.AddHandler(informer.HandlerFuncs[*corev1.ConfigMap]{AddFunc: func(m *corev1.ConfigMap, _ bool) {
		labels[reflect.ValueOf(m.Labels).Pointer()]++
		if m.Name == "m70" {
			m.Labels["app"] = "modified"
		}
	}}, informer.WithName("culprit"))
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { _ = maps.Run(ctx) })
	<-registration.Synced()
	stop()
	running.Wait()
	if len(labels) > 20 {
		t.Fatalf("100 objects have %d maps of labels", len(labels))
	}
	first := reports[0]
	if first.Key != "default/m70" || len(first.Handlers) != 1 || first.Found != "after a call" || first.Fields[0] != "metadata.labels[app]" {
		t.Errorf("the first report is: %v", first)
	}
	if len(reports) < 2 {
		t.Error("nothing is reported of the others")
	}
}
