package informer_test

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"

	"github.com/listwatch/listwatch/fakeserver"
	"github.com/listwatch/listwatch/informer"
	"github.com/listwatch/listwatch/reflector"
)

// exampleServer is a server with some ConfigMaps, "namespace/name", and its client.
func exampleServer(objects ...[2]string) (*fakeserver.Server, *kubernetes.Clientset) {
	server, err := fakeserver.New(fakeserver.Options{})
	if err != nil {
		panic(err)
	}
	client := kubernetes.NewForConfigOrDie(server.Config())
	ctx := context.Background()
	for _, object := range objects {
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: object[0]}}
		if _, err := client.CoreV1().Namespaces().Create(ctx, namespace, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
			panic(err)
		}
		config := &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Name: object[1]},
			Data:       map[string]string{"color": "red", "certificate": "a long text"},
		}
		if _, err := client.CoreV1().ConfigMaps(object[0]).Create(ctx, config, metav1.CreateOptions{}); err != nil {
			panic(err)
		}
	}
	return server, client
}

// Color is all that the program wants to know of a ConfigMap.
type Color struct {
	metav1.TypeMeta
	metav1.ObjectMeta
	Color string
}

// DeepCopyObject makes a Color a runtime.Object.
func (c *Color) DeepCopyObject() runtime.Object {
	copied := *c
	c.ObjectMeta.DeepCopyInto(&copied.ObjectMeta)
	return &copied
}

func toColor(config *corev1.ConfigMap) (*Color, error) {
	color, found := config.Data["color"]
	if !found {
		return nil, informer.ErrDrop // not cached; it may get one later
	}
	c := &Color{Color: color}
	c.Namespace, c.Name = config.Namespace, config.Name
	c.UID, c.ResourceVersion = config.UID, config.ResourceVersion
	return c, nil
}

func ExampleNewMapped() {
	server, client := exampleServer([2]string{"default", "house"}, [2]string{"default", "door"})
	defer func() { _ = server.Close() }()
	source := reflector.FromREST[*corev1.ConfigMap](client.CoreV1().RESTClient(), "configmaps", "default")
	colors, err := informer.NewMapped(source, toColor, informer.Options[*Color]{Name: "colors"})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	ended := make(chan error)
	go func() { ended <- colors.Run(ctx) }()
	if err := colors.WaitForSync(ctx); err != nil {
		fmt.Println(err)
		return
	}
	for key, color := range colors.Snapshot().All() {
		fmt.Println(key, "is", color.Color)
	}

	house, err := client.CoreV1().ConfigMaps("default").Update(ctx,
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "house"}}, metav1.UpdateOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := colors.WaitFor(ctx, house.ResourceVersion); err != nil {
		fmt.Println(err)
		return
	}
	_, found := colors.Snapshot().Get("default/house")
	fmt.Println("the house without a color is cached:", found)
	cancel()
	fmt.Println("run ended with", <-ended)

	// Output:
	// default/door is red
	// default/house is red
	// the house without a color is cached: false
	// run ended with <nil>
}

func ExampleNewJoined() {
	server, client := exampleServer([2]string{"blue", "a"}, [2]string{"green", "a"}, [2]string{"other", "a"})
	defer func() { _ = server.Close() }()
	parts := informer.Namespaces([]string{"blue", "green"}, func(namespace string) reflector.Source[*corev1.ConfigMap] {
		return reflector.FromREST[*corev1.ConfigMap](client.CoreV1().RESTClient(), "configmaps", namespace)
	})
	configs, err := informer.NewJoined(parts, informer.Options[*corev1.ConfigMap]{Name: "configs"})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	ended := make(chan error)
	go func() { ended <- configs.Run(ctx) }()
	if err := configs.WaitForSync(ctx); err != nil {
		fmt.Println(err) // says which part is not in sync, and why
		return
	}
	fmt.Println(configs.Snapshot().Keys())
	for _, part := range configs.Status().Parts {
		fmt.Println("part", part.Name, "has failed:", part.Reflector.LastError != nil)
	}
	cancel()
	fmt.Println("run ended with", <-ended)

	// Output:
	// [blue/a green/a]
	// part blue has failed: false
	// part green has failed: false
	// run ended with <nil>
}

func ExampleOverlay() {
	server, client := exampleServer([2]string{"default", "house"})
	defer func() { _ = server.Close() }()
	source := reflector.FromREST[*corev1.ConfigMap](client.CoreV1().RESTClient(), "configmaps", "default")
	configs, err := informer.New(source, informer.Options[*corev1.ConfigMap]{Name: "configs"})
	if err != nil {
		fmt.Println(err)
		return
	}
	own := informer.NewOverlay(configs, 0)

	// The Informer does not even run yet.
	ctx := context.Background()
	created, err := client.CoreV1().ConfigMaps("default").Create(ctx,
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "door"}}, metav1.CreateOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	own.Put(created)
	_, inCache := configs.Snapshot().Get("default/door")
	_, inOverlay := own.Get("default/door")
	fmt.Println("in the cache:", inCache, "in the overlay:", inOverlay)

	running, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := make(chan error)
	go func() { ended <- configs.Run(running) }()
	if err := configs.WaitFor(ctx, created.ResourceVersion); err != nil {
		fmt.Println(err)
		return
	}
	for key := range own.All() {
		fmt.Println(key)
	}
	fmt.Println("writes that the cache has not seen:", own.Len())
	cancel()
	fmt.Println("run ended with", <-ended)

	// Output:
	// in the cache: false in the overlay: true
	// default/door
	// default/house
	// writes that the cache has not seen: 0
	// run ended with <nil>
}
