package informer_test

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	fcache "k8s.io/client-go/tools/cache/testing"

	"github.com/listwatch/listwatch/indexer"
	"github.com/listwatch/listwatch/informer"
	"github.com/listwatch/listwatch/reflector"
)

// byReady finds pods by whether they are ready.
var byReady = indexer.NewIndex("ready", func(pod *corev1.Pod) []bool {
	return []bool{pod.Status.Phase == corev1.PodRunning}
})

// ExampleInformer_Watch waits until two pods are ready, without a handler.
func ExampleInformer_Watch() {
	server := fcache.NewFakeControllerSource()
	defer server.Shutdown()
	pods, err := informer.New(reflector.FromListerWatcher[*corev1.Pod](server), informer.Options[*corev1.Pod]{
		Defined:   []indexer.Definition[*corev1.Pod]{byReady},
		Reflector: reflector.Options{DisableWatchList: true}, // which this fake lacks
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	ended := make(chan error)
	go func() { ended <- pods.Run(ctx) }()
	go func() {
		for _, name := range []string{"a", "b"} {
			starting := pod(name, "node-1")
			server.Add(starting)
			running := starting.DeepCopy()
			running.Status.Phase = corev1.PodRunning
			server.Modify(running)
		}
	}()

	for {
		snapshot := pods.Snapshot()
		if byReady.Len(snapshot, true) == 2 {
			break
		}
		watch, err := pods.Watch(snapshot, byReady.Is(true))
		if err != nil {
			fmt.Println(err)
			return
		}
		<-watch.Changed()
	}
	fmt.Println("both are ready")
	cancel()
	fmt.Println("ended:", <-ended)
	// Output:
	// both are ready
	// ended: <nil>
}
