package informer_test

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	fcache "k8s.io/client-go/tools/cache/testing"

	"github.com/listwatch/listwatch/indexer"
	"github.com/listwatch/listwatch/informer"
	"github.com/listwatch/listwatch/reflector"
)

func pod(name, node string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
		Spec:       corev1.PodSpec{NodeName: node},
	}
}

func Example() {
	// Any client-go ListerWatcher will do; this one is a small fake.
	server := fcache.NewFakeControllerSource()
	defer server.Shutdown()
	server.Add(pod("web", "node-1"))

	pods, err := informer.New(reflector.FromListerWatcher[*corev1.Pod](server), informer.Options[*corev1.Pod]{
		Name: "pods",
		Indexes: map[string]indexer.Func[*corev1.Pod]{
			"node": func(pod *corev1.Pod) []string { return []string{pod.Spec.NodeName} },
		},
		Reflector: reflector.Options{DisableWatchList: true}, // which this fake lacks
	})
	if err != nil {
		fmt.Println(err)
		return
	}

	calls := make(chan string)
	_, err = pods.AddHandler(informer.HandlerFuncs[*corev1.Pod]{
		AddFunc: func(pod *corev1.Pod, initial bool) {
			calls <- fmt.Sprintf("add %s, initial: %v", pod.Name, initial)
		},
		DeleteFunc: func(d informer.Deleted[*corev1.Pod]) {
			calls <- fmt.Sprintf("delete %s, exact: %v", d.Key, d.Exact)
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}

	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	ended := make(chan error)
	go func() { ended <- pods.Run(ctx) }()
	if err := pods.WaitForSync(ctx); err != nil {
		fmt.Println(err) // names the phase, the tries, and what the server said last
		return
	}
	fmt.Println(<-calls)

	server.Add(pod("db", "node-1"))
	fmt.Println(<-calls)
	onNode, _ := pods.Snapshot().ByIndex("node", "node-1")
	for key := range onNode {
		fmt.Println("on node-1:", key)
	}

	server.Delete(pod("web", "node-1"))
	fmt.Println(<-calls)

	cancel()
	fmt.Println("run ended with", <-ended, "and", pods.Snapshot().Len(), "pod in the cache")

	// Output:
	// add web, initial: true
	// add db, initial: false
	// on node-1: default/db
	// on node-1: default/web
	// delete default/web, exact: true
	// run ended with <nil> and 1 pod in the cache
}
