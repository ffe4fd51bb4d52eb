package informer_test

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	fcache "k8s.io/client-go/tools/cache/testing"

	"github.com/listwatch/listwatch/informer"
	"github.com/listwatch/listwatch/reflector"
)

// podsOf makes an Informer of the pods of a small fake server.
func podsOf(server *fcache.FakeControllerSource) *informer.Informer[*corev1.Pod] {
	pods, err := informer.New(reflector.FromListerWatcher[*corev1.Pod](server), informer.Options[*corev1.Pod]{
		Name:      "pods",
		Reflector: reflector.Options{DisableWatchList: true}, // which this fake lacks
	})
	if err != nil {
		panic(err)
	}
	return pods
}

func ExampleWithFilter() {
	server := fcache.NewFakeControllerSource()
	defer server.Shutdown()
	server.Add(pod("web", "node-1"))
	server.Add(pod("db", "node-2"))
	pods := podsOf(server)

	// This handler sees the pods of node-1, as if there were no others.
	calls := make(chan string)
	_, err := pods.AddHandler(informer.HandlerFuncs[*corev1.Pod]{
		AddFunc:    func(pod *corev1.Pod, _ bool) { calls <- "add " + pod.Name },
		DeleteFunc: func(d informer.Deleted[*corev1.Pod]) { calls <- "delete " + d.Key },
	}, informer.WithFilter(func(pod *corev1.Pod) bool { return pod.Spec.NodeName == "node-1" }))
	if err != nil {
		fmt.Println(err)
		return
	}

	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- pods.Run(ctx) }()
	fmt.Println(<-calls)

	server.Modify(pod("db", "node-1"))
	fmt.Println(<-calls)
	server.Modify(pod("web", "node-2"))
	fmt.Println(<-calls)
	cancel()
	fmt.Println("run ended with", <-ended)

	// Output:
	// add web
	// add db
	// delete default/web
	// run ended with <nil>
}

func ExampleWithLatestOnly() {
	server := fcache.NewFakeControllerSource()
	defer server.Shutdown()
	server.Add(pod("web", "node-0"))
	pods := podsOf(server)

	// This handler takes its time; meanwhile a lot happens.
	calls, proceed := make(chan string), make(chan struct{})
	reg, err := pods.AddHandler(informer.HandlerFuncs[*corev1.Pod]{
		AddFunc: func(pod *corev1.Pod, _ bool) {
			calls <- "add on " + pod.Spec.NodeName
			<-proceed
		},
		UpdateFunc: func(old, pod *corev1.Pod) { calls <- "update from " + old.Spec.NodeName + " to " + pod.Spec.NodeName },
	}, informer.WithLatestOnly())
	if err != nil {
		fmt.Println(err)
		return
	}

	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	ended := make(chan error)
	go func() { ended <- pods.Run(ctx) }()
	fmt.Println(<-calls)
	for k := range 1000 {
		server.Modify(pod("web", fmt.Sprint("node-", k+1)))
	}
	if err := pods.WaitFor(ctx, "1001"); err != nil {
		fmt.Println(err)
	}
	close(proceed)
	fmt.Println(<-calls)
	if err := reg.WaitFor(ctx, "1001"); err != nil {
		fmt.Println(err)
	}
	fmt.Println("handler has seen version", reg.ResourceVersion(), "and is", reg.Depth(), "calls behind")
	cancel()
	<-ended

	// Output:
	// add on node-0
	// update from node-0 to node-1000
	// handler has seen version 1001 and is 0 calls behind
}

func ExampleInformer_Events() {
	server := fcache.NewFakeControllerSource()
	defer server.Shutdown()
	server.Add(pod("web", "node-1"))
	pods := podsOf(server)

	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	ended := make(chan error)
	go func() { ended <- pods.Run(ctx) }()
	if err := pods.WaitForSync(ctx); err != nil {
		fmt.Println(err)
		return
	}
	for event := range pods.Events(ctx) {
		fmt.Println(event.Type, event.Key(), "initial:", event.Initial)
		if event.Type == informer.EventSynced {
			server.Delete(pod("web", "node-1"))
		}
		if event.Type == informer.EventDeleted {
			break // removes the registration
		}
	}
	fmt.Println(len(pods.Status().Handlers), "handlers are left")
	cancel()
	<-ended

	// Output:
	// Added default/web initial: true
	// Synced  initial: false
	// Deleted default/web initial: false
	// 0 handlers are left
}
