package fakeserver_test

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"

	"github.com/listwatch/listwatch/fakeserver"
	"github.com/listwatch/listwatch/internal/bubble"
)

var _ = Describe("Bookmarks on demand", func() {
	bubble.It("tell a watch of a resting collection at once how far the server is", func() {
		server, err := fakeserver.New(fakeserver.Options{})
		Expect(err).NotTo(HaveOccurred())
		bubble.Cleanup(func() { Expect(server.Close()).To(Succeed()) })
		client, ctx := kubernetes.NewForConfigOrDie(server.Config()), bubble.Context()
		before, err := server.ResourceVersion(ctx)
		Expect(err).NotTo(HaveOccurred())
		stream, err := client.CoreV1().Nodes().Watch(ctx, metav1.ListOptions{ResourceVersion: before, AllowWatchBookmarks: true})
		Expect(err).NotTo(HaveOccurred())
		bubble.Cleanup(stream.Stop)
		created, err := client.CoreV1().ConfigMaps("default").Create(ctx, configMap("a"), metav1.CreateOptions{})
		Expect(err).NotTo(HaveOccurred())

		now, err := server.ResourceVersion(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(now).To(Equal(created.ResourceVersion))
		Expect(server.SendBookmarks(ctx, now)).To(Succeed())
		begin := time.Now()
		event := <-stream.ResultChan()
		Expect(event.Type).To(Equal(watch.Bookmark))
		Expect(event.Object.(*corev1.Node).ResourceVersion).To(Equal(now))
		Expect(time.Since(begin)).To(BeZero())
	})

	It("are refused at a resourceVersion that there is not", func(ctx SpecContext) {
		server := start(fakeserver.Options{})
		Expect(server.SendBookmarks(ctx, "1000")).To(MatchError(ContainSubstring("the server is at")))
		Expect(server.SendBookmarks(ctx, "x")).NotTo(Succeed())
	})
})
