package ops_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/util/workqueue"

	"github.com/listwatch/listwatch/examples/controllers/internal/ops"
	"github.com/listwatch/listwatch/informer"
	"github.com/listwatch/listwatch/internal/bubble"
	"github.com/listwatch/listwatch/reflector"
)

// get asks a handler, without sockets.
func get(handler http.Handler, path string) (status int, body string) {
	answer := httptest.NewRecorder()
	handler.ServeHTTP(answer, httptest.NewRequest("GET", path, nil))
	return answer.Code, answer.Body.String()
}

var _ = Describe("Diagnostics", func() {
	bubble.It("say ok, or why not", func() {
		var trouble error
		handler := ops.Handler(ops.Diagnostics{Metrics: ops.NewRegistry(), Ready: func() error { return trouble }})
		status, body := get(handler, "/readyz")
		Expect(status).To(Equal(200))
		Expect(body).To(Equal("ok\n"))
		trouble = errors.New("waiting for a permission")
		status, body = get(handler, "/readyz")
		Expect(status).To(Equal(503))
		Expect(body).To(Equal("waiting for a permission\n"))
		status, _ = get(handler, "/healthz")
		Expect(status).To(Equal(200))
		status, body = get(handler, "/metrics")
		Expect(status).To(Equal(200))
		Expect(body).To(ContainSubstring("go_goroutines"))
	})

	bubble.It("are ready when informers are in sync, and show them", func() {
		server := newServer()
		client := kubernetes.NewForConfigOrDie(server.Config())
		pods, err := informer.New(reflector.FromREST[*corev1.Pod](client.CoreV1().RESTClient(), "pods", metav1.NamespaceAll),
			informer.Options[*corev1.Pod]{Name: "pods"})
		Expect(err).NotTo(HaveOccurred())
		handler := ops.Handler(ops.Diagnostics{
			Metrics:   ops.NewRegistry(),
			Ready:     func() error { return ops.Synced(pods) },
			Informers: func() []informer.Inspectable { return []informer.Inspectable{pods} },
		})
		status, body := get(handler, "/readyz")
		Expect(status).To(Equal(503))
		Expect(body).To(ContainSubstring(`informer "pods" has not synced`))

		ctx, stop := context.WithCancel(bubble.Context())
		ended := make(chan error, 1)
		go func() { ended <- pods.Run(ctx) }()
		Expect(pods.WaitForSync(ctx)).To(Succeed())
		status, _ = get(handler, "/readyz")
		Expect(status).To(Equal(200))
		_, body = get(handler, "/informers?format=json")
		Expect(body).To(ContainSubstring(`"pods"`))
		stop()
		<-ended
	})

	bubble.It("have the metrics of a work queue, also of one that follows another", func() {
		registry := ops.NewRegistry()
		provider := ops.QueueMetrics(registry)
		for range 2 {
			queue := workqueue.NewTypedRateLimitingQueueWithConfig(workqueue.DefaultTypedControllerRateLimiter[string](),
				workqueue.TypedRateLimitingQueueConfig[string]{Name: "pods", MetricsProvider: provider})
			queue.Add("a")
			queue.Add("b")
			item, _ := queue.Get()
			queue.Done(item)
			queue.ShutDown()
		}
		_, body := get(ops.Handler(ops.Diagnostics{Metrics: registry}), "/metrics")
		for _, line := range []string{
			`workqueue_adds_total{name="pods"} 4`, `workqueue_depth{name="pods"} 1`, `workqueue_retries_total{name="pods"} 0`,
			`workqueue_work_duration_seconds_count{name="pods"} 2`, `workqueue_queue_duration_seconds_count{name="pods"} 2`,
		} {
			Expect(strings.Split(body, "\n")).To(ContainElement(line))
		}
	})
})

var _ = Describe("Recorder", func() {
	bubble.It("writes events about objects", func() {
		server := newServer()
		client := kubernetes.NewForConfigOrDie(server.Config())
		pod, err := client.CoreV1().Pods("default").Create(bubble.Context(), &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: "web"},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "web"}}},
		}, metav1.CreateOptions{})
		Expect(err).NotTo(HaveOccurred())
		recorder, stop, err := ops.Recorder(bubble.Context(), client, "example")
		Expect(err).NotTo(HaveOccurred())
		bubble.Cleanup(stop)
		recorder.Eventf(pod, nil, corev1.EventTypeNormal, "Tried", "Try", "for the %dst time", 1)
		Eventually(func(g Gomega) {
			list, err := client.EventsV1().Events("default").List(bubble.Context(), metav1.ListOptions{})
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(list.Items).To(HaveLen(1))
			g.Expect(list.Items[0].Note).To(Equal("for the 1st time"))
			g.Expect(list.Items[0].Regarding.UID).To(Equal(pod.UID))
		}).Should(Succeed())
	})
})
