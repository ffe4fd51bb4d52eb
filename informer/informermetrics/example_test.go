package informermetrics_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	fcache "k8s.io/client-go/tools/cache/testing"

	"github.com/listwatch/listwatch/informer"
	"github.com/listwatch/listwatch/informer/informermetrics"
	"github.com/listwatch/listwatch/reflector"
)

func Example() {
	server := fcache.NewFakeControllerSource()
	defer server.Shutdown()
	server.Add(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"}})
	pods, err := informer.New(reflector.FromListerWatcher[*corev1.Pod](server), informer.Options[*corev1.Pod]{
		Name: "example", Collection: reflector.Collection{Version: "v1", Resource: "pods"}, // FromREST knows it
		Reflector: reflector.Options{DisableWatchList: true},
	})
	if err != nil {
		fmt.Println(err)
		return
	}

	registry := prometheus.NewRegistry() // or prometheus.DefaultRegisterer
	metrics := informermetrics.New()
	registry.MustRegister(metrics)
	if err := metrics.Add(pods); err != nil {
		fmt.Println(err)
		return
	}

	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	ended := make(chan error)
	go func() { ended <- pods.Run(ctx) }()
	if err := pods.WaitForSync(ctx); err != nil {
		fmt.Println(err)
		return
	}
	families, err := registry.Gather()
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, family := range families {
		if strings.HasPrefix(family.GetName(), "informer_objects") || family.GetName() == "informer_synced" {
			fmt.Println(family.GetName(), family.GetMetric()[0].GetGauge().GetValue() > 0)
		}
	}
	cancel()
	<-ended
	families, err = registry.Gather()
	fmt.Println("after the end:", len(families), err)

	// Output:
	// informer_objects true
	// informer_objects_bytes true
	// informer_synced true
	// after the end: 0 <nil>
}
