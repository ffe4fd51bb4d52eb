// Command minimal keeps a cache of ConfigMaps in step with an API server.
package main

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/listwatch/listwatch/fakeserver"
	"github.com/listwatch/listwatch/informer"
	"github.com/listwatch/listwatch/reflector"
)

func main() {
	server := must(fakeserver.New(fakeserver.Options{}))
	defer server.Close()
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	client := kubernetes.NewForConfigOrDie(server.Config()) // or your cluster's *rest.Config

	source := reflector.FromREST[*corev1.ConfigMap](client.CoreV1().RESTClient(), "configmaps", metav1.NamespaceAll)
	maps := must(informer.New(source, informer.Options[*corev1.ConfigMap]{}))
	added := make(chan string, 1)
	must(maps.AddHandler(informer.HandlerFuncs[*corev1.ConfigMap]{
		AddFunc: func(m *corev1.ConfigMap, _ bool) { added <- m.Name },
	}))
	go maps.Run(ctx)

	hello := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "hello"}, Data: map[string]string{"greeting": "hi"}}
	created := must(client.CoreV1().ConfigMaps("default").Create(ctx, hello, metav1.CreateOptions{}))
	must("", maps.WaitFor(ctx, created.ResourceVersion)) // read your own write
	cached, found := maps.Snapshot().Get("default/hello")
	fmt.Println("handler saw", <-added, "- the cache has it:", found, cached.Data["greeting"])
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}
