package fakeserver_test

import (
	"fmt"
	"net/http"
	"testing/synctest"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"

	"github.com/listwatch/listwatch/fakeserver"
	"github.com/listwatch/listwatch/fakeserver/cacher"
	"github.com/listwatch/listwatch/internal/bubble"
)

var _ = Describe("Hundreds of clients that do not read", func() {
	const stalled, writes = 300, 100
	// open opens their watches.
	open := func(server *fakeserver.Server) {
		config := server.Config()
		for range stalled {
			request, err := http.NewRequest(http.MethodGet, config.Host+"/api/v1/configmaps?watch=true", nil)
			Expect(err).NotTo(HaveOccurred())
			response, err := config.Transport.RoundTrip(request)
			Expect(err).NotTo(HaveOccurred())
			bubble.Cleanup(func() { _ = response.Body.Close() })
		}
	}
	start := func(cache cacher.Options) (*fakeserver.Server, *kubernetes.Clientset) {
		server, err := fakeserver.New(fakeserver.Options{Cache: cache})
		Expect(err).NotTo(HaveOccurred())
		bubble.Cleanup(func() { _ = server.Close() })
		return server, kubernetes.NewForConfigOrDie(server.Config())
	}

	bubble.It("delay nobody who reads, are ended for slowness, and do not hold up Close", func() {
		server, client := start(cacher.Options{LagSlack: 1})
		open(server)
		ctx := bubble.Context()
		maps := client.CoreV1().ConfigMaps("default")
		reader, err := maps.Watch(ctx, metav1.ListOptions{})
		Expect(err).NotTo(HaveOccurred())
		began := time.Now()
		for i := range writes {
			name := fmt.Sprint("a-", i)
			_, err := maps.Create(ctx, configMap(name), metav1.CreateOptions{})
			Expect(err).NotTo(HaveOccurred())
			event := <-reader.ResultChan()
			Expect(event.Type).To(Equal(watch.Added))
			Expect(event.Object).To(HaveField("Name", name))
		}
		Expect(time.Since(began)).To(BeZero())
		metrics, err := client.RESTClient().Get().AbsPath("/metrics").DoRaw(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(string(metrics)).To(ContainSubstring(fmt.Sprintf(
			"apiserver_terminated_watchers_total{group=\"\",resource=\"configmaps\"} %d\n", stalled)))
		began = time.Now()
		Expect(server.Close()).To(Succeed())
		Expect(time.Since(began)).To(BeNumerically("<=", 3*time.Second))
	})

	bubble.It("can be cut", func() {
		server, client := start(cacher.Options{})
		open(server)
		for i := range writes {
			_, err := client.CoreV1().ConfigMaps("default").Create(bubble.Context(), configMap(fmt.Sprint("a-", i)), metav1.CreateOptions{})
			Expect(err).NotTo(HaveOccurred())
		}
		Expect(server.DropWatches()).To(Equal(stalled))
		synctest.Wait()
		Expect(server.DropWatches()).To(BeZero())
	})
})
