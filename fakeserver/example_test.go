package fakeserver_test

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/listwatch/listwatch/fakeserver"
)

func Example() {
	server, err := fakeserver.New(fakeserver.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer server.Close()
	ctx := context.Background()
	maps := kubernetes.NewForConfigOrDie(server.Config()).CoreV1().ConfigMaps("default")

	first, err := maps.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "first"}}, metav1.CreateOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = maps.Create(ctx, first, metav1.CreateOptions{})
	fmt.Println("created again:", apierrors.ReasonForError(err), err)

	// A watch goes on after the version that the writer was told.
	watcher, err := maps.Watch(ctx, metav1.ListOptions{ResourceVersion: first.ResourceVersion})
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := maps.Delete(ctx, "first", metav1.DeleteOptions{}); err != nil {
		fmt.Println(err)
	}
	event := <-watcher.ResultChan()
	fmt.Println("watched:", event.Type, event.Object.(*corev1.ConfigMap).Name)

	fmt.Println("watches cut:", server.DropWatches())
	_, open := <-watcher.ResultChan()
	fmt.Println("open:", open)

	// Output:
	// created again: AlreadyExists configmaps "first" already exists
	// watched: DELETED first
	// watches cut: 1
	// open: false
}

func ExampleServer_Compact() {
	server, err := fakeserver.New(fakeserver.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer server.Close()
	ctx := context.Background()
	maps := kubernetes.NewForConfigOrDie(server.Config()).CoreV1().ConfigMaps("default")

	old, err := maps.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "old"}}, metav1.CreateOptions{})
	if err == nil {
		_, err = maps.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "new"}}, metav1.CreateOptions{})
	}
	if err == nil {
		_, err = server.Compact(ctx)
	}
	if err != nil {
		fmt.Println(err)
		return
	}

	watcher, err := maps.Watch(ctx, metav1.ListOptions{ResourceVersion: old.ResourceVersion})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer watcher.Stop()
	event := <-watcher.ResultChan()
	status := event.Object.(*metav1.Status)
	fmt.Println(event.Type, status.Code, status.Reason)

	// Output:
	// ERROR 410 Expired
}
