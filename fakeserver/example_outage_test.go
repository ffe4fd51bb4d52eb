package fakeserver_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/listwatch/listwatch/fakeserver"
)

// wire is what a test puts between a client and the server.
type wire struct {
	next http.RoundTripper
	down *atomic.Bool
}

var errDown = errors.New("the wire is down")

func (w wire) RoundTrip(r *http.Request) (*http.Response, error) {
	if w.down.Load() {
		return nil, errDown
	}
	return w.next.RoundTrip(r)
}

// An outage for one client, of any length, while others go on writing.
func ExampleServer_DropWatches_outage() {
	server, err := fakeserver.New(fakeserver.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer server.Close()
	ctx := context.Background()
	others := kubernetes.NewForConfigOrDie(server.Config()).CoreV1().ConfigMaps("default")

	var down atomic.Bool
	config := server.Config()
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return wire{next, &down} })
	maps := kubernetes.NewForConfigOrDie(config).CoreV1().ConfigMaps("default")

	watcher, err := maps.Watch(ctx, metav1.ListOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	// First the wire, or the client could be back before anything has happened.
	down.Store(true)
	server.DropWatches()
	_, open := <-watcher.ResultChan()
	_, err = maps.Watch(ctx, metav1.ListOptions{})
	fmt.Println("open:", open, "- again:", errors.Is(err, errDown))

	_, err = others.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "missed"}}, metav1.CreateOptions{})
	fmt.Println("others write:", err == nil)

	down.Store(false)
	missed, err := maps.Get(ctx, "missed", metav1.GetOptions{})
	fmt.Println(missed.Name, err)

	// Output:
	// open: false - again: true
	// others write: true
	// missed <nil>
}
