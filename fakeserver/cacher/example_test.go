package cacher_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/listwatch/listwatch/fakeserver/cacher"
	"github.com/listwatch/listwatch/fakeserver/storage"
)

func Example() {
	store := storage.NewMemory()
	defer store.Close()
	pods, err := cacher.New(cacher.Options{
		Store:         store,
		Prefix:        "/pods/",
		GroupResource: schema.GroupResource{Resource: "pods"},
		Decode: func(kv storage.KeyValue) (runtime.Object, error) {
			pod := &metav1.PartialObjectMetadata{}
			err := json.Unmarshal(kv.Value, pod)
			pod.ResourceVersion = strconv.FormatInt(kv.ModRevision, 10)
			return pod, err
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer pods.Close()

	ctx := context.Background()
	web, _ := store.Create(ctx, "/pods/default/web", []byte(`{"metadata":{"labels":{"app":"web"}}}`))
	list, err := pods.List(ctx, cacher.ListOptions{}) // as new as the store
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("at", list.ResourceVersion, "the first is", list.Items[0].Key)

	watcher, err := pods.Watch(ctx, cacher.WatchOptions{
		Predicate:       cacher.Predicate{Labels: labels.SelectorFromSet(labels.Set{"app": "web"})},
		ResourceVersion: strconv.FormatUint(list.ResourceVersion, 10),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer watcher.Stop()
	_, _ = store.Create(ctx, "/pods/default/db", []byte(`{"metadata":{"labels":{"app":"db"}}}`))
	_, _ = store.Update(ctx, web.Key, []byte(`{"metadata":{"labels":{"app":"old"}}}`), web.ModRevision)
	event, err := watcher.Next(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("at", event.ResourceVersion, event.Type, event.Item.Key, event.Item.Labels) // it left the selector

	// Output:
	// at 2 the first is default/web
	// at 4 DELETED default/web app=web
}
