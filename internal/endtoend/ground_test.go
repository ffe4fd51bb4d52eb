package endtoend_test

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"

	"github.com/listwatch/listwatch/fakeserver"
	"github.com/listwatch/listwatch/fakeserver/cacher"
	"github.com/listwatch/listwatch/fakeserver/storage"
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
	follow  follower // of history
}

func newGround(t *testing.T, cache cacher.Options) *ground {
	server, err := fakeserver.New(fakeserver.Options{AnyNamespace: true, Cache: cache})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Close() })
	g := &ground{t: t, server: server, writer: typedcorev1.NewForConfigOrDie(server.Config())}
	g.history = informertest.NewHistory(g.at(), content)
	g.record()
	t.Cleanup(func() { g.follow.end() })
	return g
}

// watcher is what the clients of client-go have in common.
type watcher interface {
	Watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error)
}

// follower records a history until its end.
type follower struct {
	t     *testing.T
	stop  context.CancelFunc
	ended chan error
}

// record continues the history with a plain watch of client-go, over a wire on
// which the weather is fine.
func (g *ground) record() { g.follow = g.into(g.history, g.writer.ConfigMaps("")) }

// into has what a watch of objects brings recorded.
func (g *ground) into(history *informertest.History, objects watcher) follower {
	_, from := history.Bounds()
	ever := int64(10 * 24 * 3600)
	// The end of the test's own context would look like a fault of the watch.
	ctx, stop := context.WithCancel(context.WithoutCancel(g.t.Context()))
	stream, err := objects.Watch(ctx, metav1.ListOptions{
		ResourceVersion: strconv.FormatUint(from, 10), TimeoutSeconds: &ever, AllowWatchBookmarks: true,
	})
	if err != nil {
		g.t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- history.Follow(ctx, stream) }()
	return follower{g.t, stop, ended}
}

func (f follower) end() {
	f.stop()
	if err := <-f.ended; err != nil {
		f.t.Error(err)
	}
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
	version, at := g.version(), g.at()
	if err := g.server.SendBookmarks(g.t.Context(), version); err != nil {
		g.t.Fatal(err)
	}
	if err := g.history.WaitFor(g.t.Context(), at); err != nil {
		g.t.Fatal(err)
	}
	synctest.Wait() // and whoever else is told
	return version
}

// at is version as a number.
func (g *ground) at() uint64 {
	at, err := strconv.ParseUint(g.version(), 10, 64)
	if err != nil {
		g.t.Fatal(err)
	}
	return at
}

// restore takes the server back to an earlier resourceVersion, if that was not
// compacted. Everything written so far is recorded.
func (g *ground) restore(to uint64) bool {
	g.recorded()
	history, err := g.history.Restore(to)
	if err != nil {
		g.t.Fatal(err)
	}
	g.follow.end()
	err = g.server.Restore(g.t.Context(), strconv.FormatUint(to, 10))
	done := err == nil
	if !done && !errors.Is(err, storage.ErrCompacted) {
		g.t.Fatal(err)
	}
	if done {
		g.history = history
	}
	g.record()
	return done
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
