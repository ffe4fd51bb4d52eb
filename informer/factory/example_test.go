package factory_test

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"

	"github.com/listwatch/listwatch/fakeserver"
	"github.com/listwatch/listwatch/informer/factory"
	"github.com/listwatch/listwatch/reflector"
)

// orPanic keeps the examples short.
func orPanic[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func Example() {
	server := orPanic(fakeserver.New(fakeserver.Options{})) // or your cluster
	defer server.Close()
	ctx := context.Background()
	client := kubernetes.NewForConfigOrDie(server.Config())
	web := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "web", Labels: map[string]string{"app": "web"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "web:1"}}},
	}
	orPanic(client.CoreV1().Pods("default").Create(ctx, web, metav1.CreateOptions{}))

	f := orPanic(factory.New(server.Config(), factory.Options{}))
	pods := orPanic(factory.For[*corev1.Pod](f))
	spaces := orPanic(factory.For[*corev1.Namespace](f))
	metas := orPanic(factory.Metadata(f, corev1.SchemeGroupVersion.WithResource("pods"))) // reads the cache of pods

	f.Start(ctx)
	defer f.Shutdown()
	if err := f.WaitForSync(ctx); err != nil {
		fmt.Println(err) // names each informer that is not in sync, and what keeps it
		return
	}
	meta, _ := metas.Snapshot().Get("default/web")
	fmt.Println("labels:", meta.Labels)

	moment := f.Snapshot() // of all kinds
	for key, pod := range pods.SnapshotIn(moment).All() {
		_, found := spaces.SnapshotIn(moment).Get(pod.Namespace)
		fmt.Println(key, "has its namespace:", found)
	}
	// Output:
	// labels: map[app:web]
	// default/web has its namespace: true
}

// ExampleLister passes a Lister to code that takes client-go's.
func ExampleLister() {
	server := orPanic(fakeserver.New(fakeserver.Options{}))
	defer server.Close()
	f := orPanic(factory.New(server.Config(), factory.Options{}))
	spaces := orPanic(factory.List[*corev1.Namespace](f))
	f.Start(context.Background())
	defer f.Shutdown()
	if err := f.WaitForSync(context.Background()); err != nil {
		fmt.Println(err)
		return
	}

	var lister corelisters.NamespaceLister = spaces
	all, _ := lister.List(labels.Everything())
	for _, namespace := range all {
		fmt.Println(namespace.Name)
	}
	_, err := lister.Get("nowhere")
	fmt.Println(err)
	// Output:
	// default
	// kube-node-lease
	// kube-public
	// kube-system
	// namespaces "nowhere" not found
}

// nodeName is all that is kept of a pod.
type nodeName struct {
	metav1.TypeMeta
	metav1.ObjectMeta
	Node string
}

func (n *nodeName) DeepCopyObject() runtime.Object {
	out := *n
	out.ObjectMeta = *n.ObjectMeta.DeepCopy()
	return &out
}

// nodeNameOf is one function for all who ask, by which they are told to agree.
func nodeNameOf(pod *corev1.Pod) (*nodeName, error) {
	return &nodeName{Node: pod.Spec.NodeName, ObjectMeta: metav1.ObjectMeta{
		Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID, ResourceVersion: pod.ResourceVersion,
	}}, nil
}

// ExampleWithMapping caches a few bytes of each pod.
func ExampleWithMapping() {
	server := orPanic(fakeserver.New(fakeserver.Options{}))
	defer server.Close()
	ctx := context.Background()
	client := kubernetes.NewForConfigOrDie(server.Config())
	web := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec:       corev1.PodSpec{NodeName: "n1", Containers: []corev1.Container{{Name: "web", Image: "web:1"}}},
	}
	orPanic(client.CoreV1().Pods("default").Create(ctx, web, metav1.CreateOptions{}))

	f := orPanic(factory.New(server.Config(), factory.Options{
		Defaults: []factory.Option{factory.WithREST(reflector.WithoutManagedFields())}, // of all informers
	}))
	names := orPanic(factory.For[*nodeName](f, factory.WithMapping(nodeNameOf)))
	f.Start(ctx)
	defer f.Shutdown()
	if err := f.WaitForSync(ctx); err != nil {
		fmt.Println(err)
		return
	}
	obj, _ := names.Snapshot().Get("default/web")
	fmt.Println("web is on", obj.Node)
	_, err := factory.For[*nodeName](f, factory.WithMapping(nodeNameOf), factory.WithREST(reflector.WithJSON()))
	fmt.Println(errors.Is(err, factory.ErrConflict))
	// Output:
	// web is on n1
	// true
}
