package informer_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	fcache "k8s.io/client-go/tools/cache/testing"
	"k8s.io/klog/v2"

	"github.com/listwatch/listwatch/indexer"
	"github.com/listwatch/listwatch/informer"
	"github.com/listwatch/listwatch/reflector"
)

// startPods runs an informer over server until the returned function is called.
func startPods(server cache.ListerWatcher, options informer.Options[*corev1.Pod]) (*informer.Informer[*corev1.Pod], func(), error) {
	options.Name = "pods"
	options.Collection = reflector.Collection{Version: "v1", Resource: "pods"} // reflector.FromREST knows it
	options.Reflector.DisableWatchList = true                                  // which these fakes lack
	pods, err := informer.New(reflector.FromListerWatcher[*corev1.Pod](server), options)
	if err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithCancel(klog.NewContext(context.Background(), klog.Logger{})) // quiet
	ended := make(chan error, 1)
	go func() { ended <- pods.Run(ctx) }()
	return pods, func() { cancel(); <-ended }, nil
}

// Many programs hang at their start when a permission is missing. FailFast makes
// the wait return at once, and the error says what is missing.
func ExampleFailFast() {
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "", errors.New("no"))
	server := &cache.ListWatch{
		ListWithContextFunc:  func(context.Context, metav1.ListOptions) (runtime.Object, error) { return nil, forbidden },
		WatchFuncWithContext: func(context.Context, metav1.ListOptions) (watch.Interface, error) { return nil, forbidden },
	}
	pods, stop, err := startPods(server, informer.Options[*corev1.Pod]{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer stop()

	err = informer.WaitForSync(informer.FailFast(context.Background()), pods) // and others
	fmt.Println("denied:", errors.Is(err, informer.ErrDenied))
	if syncError, ok := errors.AsType[*informer.SyncError](err); ok {
		for _, denial := range syncError.Denials() {
			fmt.Println(denial)
		}
	}

	// Output:
	// denied: true
	// permission is missing (RBAC): verb "list" on resource "pods" in API group "" at the cluster scope
}

func ExampleInformer_Explain() {
	server := fcache.NewFakeControllerSource()
	defer server.Shutdown()
	server.Add(pod("web", "node-1"))
	pods, stop, err := startPods(server, informer.Options[*corev1.Pod]{Indexes: map[string]indexer.Func[*corev1.Pod]{
		"node": func(pod *corev1.Pod) []string { return []string{pod.Spec.NodeName} },
	}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer stop()
	if err := pods.WaitForSync(context.Background()); err != nil {
		fmt.Println(err)
		return
	}

	fmt.Println(pods.Explain("default/web"))
	fmt.Println(pods.Explain("web"))

	// Output:
	// default/web in informer "pods": cached
	// - it is in the cache at resourceVersion "1" with UID ""; the cache is at "1"
	// - index "node" has it under ["node-1"]
	// web in informer "pods": invalid key
	// - objects of this collection have a namespace: the key is "namespace/name"
}

func ExampleStatusHandler() {
	server := fcache.NewFakeControllerSource()
	defer server.Shutdown()
	server.Add(pod("web", "node-1"))
	pods, stop, err := startPods(server, informer.Options[*corev1.Pod]{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer stop()
	if err := pods.WaitForSync(context.Background()); err != nil {
		fmt.Println(err)
		return
	}

	mux := http.NewServeMux()
	mux.Handle("/informers", informer.StatusHandler(pods)) // a page for browsers
	answer := httptest.NewRecorder()
	mux.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/informers?informer=pods&key=default/db", nil))

	var seen struct {
		Informers    []struct{ Objects int }
		Explanations []struct{ Verdict string }
	}
	if err := json.Unmarshal(answer.Body.Bytes(), &seen); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(answer.Code, answer.Header().Get("Content-Type"))
	fmt.Println(seen.Informers[0].Objects, "object;", "default/db is", seen.Explanations[0].Verdict)

	// Output:
	// 200 application/json; charset=utf-8
	// 1 object; default/db is absent
}
