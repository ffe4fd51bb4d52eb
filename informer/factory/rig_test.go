package factory_test

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/listwatch/listwatch/fakeserver"
	"github.com/listwatch/listwatch/informer/factory"
	"github.com/listwatch/listwatch/internal/bubble"
)

// rig is a factory for a server that counts what is asked of it.
//
// bubble: made by newRig inside one
type rig struct {
	*factory.Factory
	client kubernetes.Interface
	asked  *requests
}

func newRig(options factory.Options) *rig {
	server, err := fakeserver.New(fakeserver.Options{})
	Expect(err).NotTo(HaveOccurred())
	bubble.Cleanup(func() { Expect(server.Close()).To(Succeed()) })
	asked := &requests{seen: map[string]int{}, last: map[string]*http.Request{}}
	config := server.Config()
	config.Wrap(asked.wrap)
	f, err := factory.New(config, options)
	Expect(err).NotTo(HaveOccurred())
	bubble.Cleanup(f.Shutdown)
	return &rig{Factory: f, client: kubernetes.NewForConfigOrDie(server.Config()), asked: asked}
}

// start starts the factory and waits for all that it has.
func (r *rig) start() {
	r.Start(bubble.Context())
	Expect(r.WaitForSync(bubble.Context())).To(Succeed())
}

// pod creates one and returns its resourceVersion.
func (r *rig) pod(namespace, name string, labels map[string]string) string {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: labels},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "registry/web:1"}}},
	}
	created, err := r.client.CoreV1().Pods(namespace).Create(bubble.Context(), pod, metav1.CreateOptions{})
	Expect(err).NotTo(HaveOccurred())
	return created.ResourceVersion
}

func (r *rig) namespace(name string) {
	_, err := r.client.CoreV1().Namespaces().Create(bubble.Context(),
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	Expect(err).NotTo(HaveOccurred())
}

// requests counts the collections that were asked for.
type requests struct {
	mu   sync.Mutex
	seen map[string]int           // by "list PATH", "watch PATH"
	last map[string]*http.Request // the newest of each
}

func (r *requests) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(request *http.Request) (*http.Response, error) {
		verb := "list"
		if query := request.URL.Query(); query.Get("sendInitialEvents") == "" && query.Get("watch") != "" {
			verb = "watch"
		}
		r.mu.Lock()
		r.seen[verb+" "+request.URL.Path]++
		r.last[verb+" "+request.URL.Path] = request
		r.mu.Unlock()
		return next.RoundTrip(request)
	})
}

// lists are the paths listed, or watch-listed, so far, with how often.
func (r *requests) lists() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var all []string
	for _, path := range slices.Sorted(maps.Keys(r.seen)) {
		if path, is := strings.CutPrefix(path, "list "); is {
			all = append(all, fmt.Sprint(path, " ", r.seen["list "+path]))
		}
	}
	return all
}

// newest is the newest list of a path, or watch-list.
func (r *requests) newest(path string) *http.Request {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.last["list "+path]
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
