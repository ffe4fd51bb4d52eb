package endtoend_test

import (
	"context"
	"net/http"
	"strconv"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"

	"github.com/listwatch/listwatch/fakeserver"
	"github.com/listwatch/listwatch/fakeserver/cacher"
	"github.com/listwatch/listwatch/informer/informertest"
)

// ground is one server, a writer of ConfigMaps, and the record of what they
// were.
//
// bubble: made by newGround
type ground struct {
	t       *testing.T
	server  *fakeserver.Server
	writer  typedcorev1.CoreV1Interface
	history *informertest.History
}

func newGround(t *testing.T, cache cacher.Options) *ground {
	server, err := fakeserver.New(fakeserver.Options{AnyNamespace: true, Cache: cache})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Close() })
	g := &ground{t: t, server: server, writer: typedcorev1.NewForConfigOrDie(server.Config())}
	g.record()
	return g
}

// record follows the server with a plain watch of client-go, over a wire on
// which the weather is fine.
func (g *ground) record() {
	version := g.version()
	from, err := strconv.ParseUint(version, 10, 64)
	if err != nil {
		g.t.Fatal(err)
	}
	g.history = informertest.NewHistory(from, content)
	ever := int64(10 * 24 * 3600)
	// The end of the test's own context would look like a fault of the watch.
	ctx, stop := context.WithCancel(context.WithoutCancel(g.t.Context()))
	watcher, err := g.writer.ConfigMaps("").Watch(ctx, metav1.ListOptions{
		ResourceVersion: version, TimeoutSeconds: &ever, AllowWatchBookmarks: true,
	})
	if err != nil {
		g.t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- g.history.Follow(ctx, watcher) }()
	g.t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			g.t.Error(err)
		}
	})
}

// version is the server's newest resourceVersion.
func (g *ground) version() string {
	version, err := g.server.ResourceVersion(g.t.Context())
	if err != nil {
		g.t.Fatal(err)
	}
	return version
}

// recorded waits until everything written is in the history, and returns the
// server's resourceVersion.
func (g *ground) recorded() string {
	version := g.version()
	if err := g.server.SendBookmarks(g.t.Context(), version); err != nil {
		g.t.Fatal(err)
	}
	at, err := strconv.ParseUint(version, 10, 64)
	if err != nil {
		g.t.Fatal(err)
	}
	if err := g.history.WaitFor(g.t.Context(), at); err != nil {
		g.t.Fatal(err)
	}
	synctest.Wait() // and whoever else is told
	return version
}

// config reaches the server through a wire.
func (g *ground) config(wire func(next http.RoundTripper) http.RoundTripper) *rest.Config {
	config := g.server.Config()
	config.Wrap(wire)
	return config
}

// put creates obj, or updates it if it exists.
func (g *ground) put(obj *corev1.ConfigMap, exists bool) {
	client := g.writer.ConfigMaps(obj.Namespace)
	var err error
	if exists {
		_, err = client.Update(g.t.Context(), obj, metav1.UpdateOptions{})
	} else {
		_, err = client.Create(g.t.Context(), obj, metav1.CreateOptions{})
	}
	if err != nil {
		g.t.Fatal(err)
	}
}

func (g *ground) remove(namespace, name string) {
	if err := g.writer.ConfigMaps(namespace).Delete(g.t.Context(), name, metav1.DeleteOptions{}); err != nil {
		g.t.Fatal(err)
	}
}
