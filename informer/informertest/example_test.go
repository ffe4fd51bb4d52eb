package informertest_test

import (
	"context"
	"fmt"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/listwatch/listwatch/fakeserver"
	"github.com/listwatch/listwatch/informer"
	"github.com/listwatch/listwatch/informer/informertest"
	"github.com/listwatch/listwatch/reflector"
)

// T stands for the *testing.T of a test, which an example has not.
type T struct{ ctx context.Context }

func (t T) Helper()                        {}
func (t T) Context() context.Context       { return t.ctx }
func (t T) Fatalf(f string, values ...any) { panic(fmt.Sprintf(f, values...)) }

func configMap(name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}
}

// run starts an informer over the ConfigMaps of a new server, and returns what
// ends both.
func run(ctx context.Context) (*fakeserver.Server, kubernetes.Interface, *informer.Informer[*corev1.ConfigMap], func()) {
	server, err := fakeserver.New(fakeserver.Options{})
	if err != nil {
		panic(err)
	}
	client := kubernetes.NewForConfigOrDie(server.Config())
	source := reflector.FromREST[*corev1.ConfigMap](client.CoreV1().RESTClient(), "configmaps", "default")
	maps, err := informer.New(source, informer.Options[*corev1.ConfigMap]{Name: "configmaps"})
	if err != nil {
		panic(err)
	}
	ctx, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- maps.Run(ctx) }()
	return server, client, maps, func() {
		stop()
		<-ended
		server.Close()
	}
}

// A test of what a handler is told waits for exactly that, and for nothing else.
func Example() {
	ctx := context.Background()
	t := T{ctx}
	server, client, maps, end := run(ctx)
	defer end()

	var calls informertest.Recorder[*corev1.ConfigMap]
	if _, err := calls.Attach(maps); err != nil {
		panic(err)
	}
	created, _ := client.CoreV1().ConfigMaps("default").Create(ctx, configMap("web"), metav1.CreateOptions{})
	calls.Expect(t, informertest.Added("default/web").At(created.ResourceVersion))

	_ = client.CoreV1().ConfigMaps("default").Delete(ctx, "web", metav1.DeleteOptions{})
	calls.ExpectExactly(t, informertest.Deleted("default/web").Exact(true))

	_, _ = client.CoreV1().ConfigMaps("kube-system").Create(ctx, configMap("elsewhere"), metav1.CreateOptions{})
	calls.ExpectNone(t, server, maps)
	fmt.Println("as expected")
	// Output: as expected
}

// Whatever happened, the run of an informer can be proved legal against a plain
// watch.
func ExampleVerify() {
	ctx := context.Background()
	server, client, maps, end := run(ctx)
	defer end()

	version, _ := server.ResourceVersion(ctx)
	number, _ := strconv.ParseUint(version, 10, 64)
	history := informertest.NewHistory(number, nil)
	watcher, err := client.CoreV1().ConfigMaps("default").Watch(ctx, metav1.ListOptions{ResourceVersion: version, AllowWatchBookmarks: true})
	if err != nil {
		panic(err)
	}
	recording, stop := context.WithCancel(ctx)
	recorded := make(chan error, 1)
	go func() { recorded <- history.Follow(recording, watcher) }()

	calls := informertest.Recorder[*corev1.ConfigMap]{Look: true}
	if _, err := calls.Attach(maps); err != nil {
		panic(err)
	}
	for i := range 50 {
		name := fmt.Sprint("m", i%7)
		if _, err := client.CoreV1().ConfigMaps("default").Create(ctx, configMap(name), metav1.CreateOptions{}); err != nil {
			_ = client.CoreV1().ConfigMaps("default").Delete(ctx, name, metav1.DeleteOptions{})
		}
		if i%20 == 10 {
			_, _ = server.Compact(ctx)
		}
	}
	at, err := informertest.Quiesce(ctx, server, maps)
	if err != nil {
		panic(err)
	}
	calls.Settled(at)
	number, _ = strconv.ParseUint(at, 10, 64)
	fmt.Println("recorded:", history.WaitFor(ctx, number))
	stop()
	fmt.Println("recording:", <-recorded)
	fmt.Println("verdict:", informertest.Verify(history, calls.Trace(), informertest.VerifyOptions{}))
	// Output:
	// recorded: <nil>
	// recording: <nil>
	// verdict: <nil>
}

// A trace that breaks a promise is answered with the part of it that shows so.
func ExampleViolation() {
	history := informertest.NewHistory(4, nil)
	state := func(version uint64) informertest.Version {
		return informertest.Version{UID: "u1", ResourceVersion: version}
	}
	_ = history.Add(informertest.Change{Type: "ADDED", Key: "default/web", Version: state(5)})
	_ = history.Add(informertest.Change{Type: "MODIFIED", Key: "default/web", Version: state(8)})
	_ = history.Add(informertest.Change{Type: "DELETED", Key: "default/web", Version: state(9)})
	trace := []informertest.Entry{
		{Kind: informertest.AddCall, Key: "default/web", Object: state(5), Initial: true},
		{Kind: informertest.SyncMark},
		{Kind: informertest.UpdateCall, Key: "default/web", Old: state(5), Object: state(8)},
		{Kind: informertest.SettledMark, ResourceVersion: 9},
	}
	fmt.Println(informertest.Verify(history, trace, informertest.VerifyOptions{}))
	// Output:
	// illegal trace: lost of default/web: the deletion u1@9 was not told, only u1@8
	//   trace (2 of 4 entries):
	//     #2    updated default/web u1@5 -> u1@8
	//     #3    settled at 9
	//   history:
	//          5 ADDED    default/web u1@5
	//          8 MODIFIED default/web u1@8
	//          9 DELETED  default/web u1@9
}
