package fakeserver_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing/synctest"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/listwatch/listwatch/fakeserver"
	"github.com/listwatch/listwatch/internal/bubble"
)

// start returns a server that is closed at the end of the spec.
func start(options fakeserver.Options) *fakeserver.Server {
	GinkgoHelper()
	server, err := fakeserver.New(options)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(server.Close)
	return server
}

func configMap(name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}
}

var _ = Describe("A server over in-memory pipes", func() {
	It("answers requests without listening anywhere", func(ctx SpecContext) {
		client := kubernetes.NewForConfigOrDie(start(fakeserver.Options{}).Config())
		_, err := client.CoreV1().ConfigMaps("default").Create(ctx, configMap("a"), metav1.CreateOptions{})
		Expect(err).NotTo(HaveOccurred())
		list, err := client.CoreV1().ConfigMaps("").List(ctx, metav1.ListOptions{})
		Expect(err).NotTo(HaveOccurred())
		Expect(list.Items).To(HaveLen(1))
	})

	It("refuses requests after Close, naming the reason, and closes twice", func(ctx SpecContext) {
		server, err := fakeserver.New(fakeserver.Options{})
		Expect(err).NotTo(HaveOccurred())
		client := kubernetes.NewForConfigOrDie(server.Config())
		Expect(server.Close()).To(Succeed())
		Expect(server.Close()).To(Succeed())
		_, err = client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
		Expect(err).To(MatchError(fakeserver.ErrClosed))
		_, err = server.Listen(ctx, "127.0.0.1:0")
		Expect(err).To(MatchError(fakeserver.ErrClosed))
	})

	bubble.It("ends open watches at Close and leaves no goroutine in its bubble", func() {
		server, err := fakeserver.New(fakeserver.Options{})
		Expect(err).NotTo(HaveOccurred())
		client := kubernetes.NewForConfigOrDie(server.Config())
		stream, err := client.CoreV1().Nodes().Watch(context.Background(), metav1.ListOptions{})
		Expect(err).NotTo(HaveOccurred())
		Expect(server.Close()).To(Succeed())
		_, open := <-stream.ResultChan()
		Expect(open).To(BeFalse())
	})

	bubble.It("answers 504 to a client that keeps it waiting for the rest of a body", func() {
		server, err := fakeserver.New(fakeserver.Options{})
		Expect(err).NotTo(HaveOccurred())
		bubble.Cleanup(func() { Expect(server.Close()).To(Succeed()) })
		body, rest := io.Pipe()
		bubble.Cleanup(func() { rest.Close() })
		request, err := http.NewRequest(http.MethodPost, server.Config().Host+"/api/v1/namespaces?timeout=3s", body)
		Expect(err).NotTo(HaveOccurred())
		request.Header.Set("Content-Type", "application/json")
		response, err := server.Config().Transport.RoundTrip(request)
		Expect(err).NotTo(HaveOccurred())
		defer response.Body.Close()
		Expect(response.StatusCode).To(Equal(http.StatusGatewayTimeout))
	})

	bubble.It("closes although a client keeps it waiting for the rest of a body", func() {
		server, err := fakeserver.New(fakeserver.Options{})
		Expect(err).NotTo(HaveOccurred())
		body, rest := io.Pipe()
		request, err := http.NewRequest(http.MethodPost, server.Config().Host+"/api/v1/namespaces", body)
		Expect(err).NotTo(HaveOccurred())
		request.Header.Set("Content-Type", "application/json")
		failed := make(chan error, 1)
		go func() {
			_, err := server.Config().Transport.RoundTrip(request)
			failed <- err
		}()
		_, err = rest.Write([]byte("{"))
		Expect(err).NotTo(HaveOccurred())
		synctest.Wait()
		begin := time.Now()
		Expect(server.Close()).To(Succeed())
		Expect(time.Since(begin)).To(BeNumerically("<=", time.Second))
		Expect(rest.Close()).To(Succeed())
		Expect(<-failed).To(HaveOccurred())
	})

	bubble.It("a watch without a timeout lives between 30 and 60 virtual minutes", func() {
		server, err := fakeserver.New(fakeserver.Options{})
		Expect(err).NotTo(HaveOccurred())
		bubble.Cleanup(func() { Expect(server.Close()).To(Succeed()) })
		client := kubernetes.NewForConfigOrDie(server.Config())
		begin := time.Now()
		stream, err := client.CoreV1().Nodes().Watch(context.Background(), metav1.ListOptions{})
		Expect(err).NotTo(HaveOccurred())
		for range stream.ResultChan() {
		}
		Expect(time.Since(begin)).To(And(BeNumerically(">=", 30*time.Minute), BeNumerically("<=", time.Hour)))
	})
})

var _ = Describe("Steering", func() {
	bubble.It("cutting the watches breaks their streams in the middle", func() {
		server, err := fakeserver.New(fakeserver.Options{})
		Expect(err).NotTo(HaveOccurred())
		bubble.Cleanup(func() { Expect(server.Close()).To(Succeed()) })
		transport := server.Config().Transport
		request, err := http.NewRequest(http.MethodGet, server.Config().Host+"/api/v1/nodes?watch=true", nil)
		Expect(err).NotTo(HaveOccurred())
		response, err := transport.RoundTrip(request)
		Expect(err).NotTo(HaveOccurred())
		defer response.Body.Close()
		Expect(server.DropWatches()).To(Equal(1))
		_, err = io.ReadAll(response.Body)
		Expect(err).To(MatchError(io.ErrUnexpectedEOF))
		synctest.Wait()
		Expect(server.DropWatches()).To(BeZero(), "none is open any more")
	})

	bubble.It("cuts a watch although its client does not read", func() {
		server, err := fakeserver.New(fakeserver.Options{})
		Expect(err).NotTo(HaveOccurred())
		bubble.Cleanup(func() { Expect(server.Close()).To(Succeed()) })
		request, err := http.NewRequest(http.MethodGet, server.Config().Host+"/api/v1/configmaps?watch=yes", nil)
		Expect(err).NotTo(HaveOccurred())
		response, err := server.Config().Transport.RoundTrip(request)
		Expect(err).NotTo(HaveOccurred())
		defer response.Body.Close()
		maps := kubernetes.NewForConfigOrDie(server.Config()).CoreV1().ConfigMaps("default")
		for i := range 100 {
			_, err = maps.Create(context.Background(), configMap(fmt.Sprint("unread-", i)), metav1.CreateOptions{})
			Expect(err).NotTo(HaveOccurred())
		}
		Expect(server.DropWatches()).To(Equal(1))
		synctest.Wait()
		Expect(server.DropWatches()).To(BeZero(), "it is over")
	})

	bubble.It("after compaction a watch from an older resourceVersion gets 410 Expired", func() {
		server, err := fakeserver.New(fakeserver.Options{})
		Expect(err).NotTo(HaveOccurred())
		bubble.Cleanup(func() { Expect(server.Close()).To(Succeed()) })
		ctx := context.Background()
		maps := kubernetes.NewForConfigOrDie(server.Config()).CoreV1().ConfigMaps("default")
		first, err := maps.Create(ctx, configMap("a"), metav1.CreateOptions{})
		Expect(err).NotTo(HaveOccurred())
		_, err = maps.Create(ctx, configMap("b"), metav1.CreateOptions{})
		Expect(err).NotTo(HaveOccurred())
		_, err = server.Compact(ctx)
		Expect(err).NotTo(HaveOccurred())
		stream, err := maps.Watch(ctx, metav1.ListOptions{ResourceVersion: first.ResourceVersion})
		Expect(err).NotTo(HaveOccurred())
		defer stream.Stop()
		event := <-stream.ResultChan()
		Expect(event.Type).To(Equal(watch.Error))
		Expect(apierrors.IsResourceExpired(apierrors.FromObject(event.Object))).To(BeTrue())
	})

	It("is reachable over HTTP only if asked for, and only by POST", func(ctx SpecContext) {
		without, err := start(fakeserver.Options{}).Listen(ctx, "127.0.0.1:0")
		Expect(err).NotTo(HaveOccurred())
		Expect(send(ctx, http.MethodPost, without+"/-/compact")).To(HavePrefix("404 "))
		with, err := start(fakeserver.Options{Steer: true}).Listen(ctx, "127.0.0.1:0")
		Expect(err).NotTo(HaveOccurred())
		Expect(send(ctx, http.MethodGet, with+"/-/compact")).To(HavePrefix("405 "))
		Expect(send(ctx, http.MethodPost, with+"/-/compact")).To(MatchRegexp(`^200 \{"compactedRevision":\d+\}`))
		Expect(send(ctx, http.MethodPost, with+"/-/drop-watches")).To(HavePrefix(`200 {"droppedWatches":0}`))
		Expect(send(ctx, http.MethodGet, with+"/version")).To(HavePrefix("200 "))
		Expect(send(ctx, http.MethodGet, with+"/api//v1")).To(HavePrefix("404 "), "the API's paths are not cleaned")
	})
})

// send makes one request and returns "STATUS BODY".
func send(ctx context.Context, method, url string) string {
	GinkgoHelper()
	request, err := http.NewRequestWithContext(ctx, method, url, nil)
	Expect(err).NotTo(HaveOccurred())
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Do(request)
	Expect(err).NotTo(HaveOccurred())
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	Expect(err).NotTo(HaveOccurred())
	return response.Status[:4] + strings.TrimSpace(string(body))
}

var _ = Describe("Listen", func() {
	It("serves on loopback when no host is named, until its context ends", func(ctx SpecContext) {
		server := start(fakeserver.Options{})
		listening, stop := context.WithCancel(ctx)
		url, err := server.Listen(listening, ":0")
		Expect(err).NotTo(HaveOccurred())
		Expect(url).To(HavePrefix("http://127.0.0.1:"))
		Expect(send(ctx, http.MethodGet, url+"/healthz")).To(Equal("200 ok"))
		stop()
		// Each try needs a connection of its own: one that is open goes on to be served.
		client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
		Eventually(func() error {
			response, err := client.Get(url + "/version")
			if err == nil {
				err = response.Body.Close()
			}
			return err
		}, "30s").Should(MatchError(ContainSubstring("connection refused")))
	})

	It("ends the initial events of a compressed watch-list at once", func(ctx SpecContext) {
		url, err := start(fakeserver.Options{}).Listen(ctx, "127.0.0.1:0")
		Expect(err).NotTo(HaveOccurred())
		transport := &http.Transport{} // asks for gzip by itself
		defer transport.CloseIdleConnections()
		config := &rest.Config{Host: url, Transport: transport}
		yes := true
		stream, err := kubernetes.NewForConfigOrDie(config).CoreV1().Namespaces().Watch(ctx, metav1.ListOptions{
			SendInitialEvents: &yes, AllowWatchBookmarks: true, ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan,
		})
		Expect(err).NotTo(HaveOccurred())
		defer stream.Stop()
		for range 4 { // namespaces that are there from the start
			Eventually(stream.ResultChan(), "5s").Should(Receive(HaveField("Type", watch.Added)))
		}
		Eventually(stream.ResultChan(), "5s").Should(Receive(HaveField("Type", watch.Bookmark)))
	})

	It("says that a port is in use and what to do", func(ctx SpecContext) {
		url, err := start(fakeserver.Options{}).Listen(ctx, "127.0.0.1:0")
		Expect(err).NotTo(HaveOccurred())
		_, err = start(fakeserver.Options{}).Listen(ctx, strings.TrimPrefix(url, "http://"))
		Expect(err).To(MatchError(ContainSubstring("the port is in use; choose another one")))
	})

	It("names an address that can be reached when it listens on all", func(ctx SpecContext) {
		url, err := start(fakeserver.Options{}).Listen(ctx, "0.0.0.0:0")
		Expect(err).NotTo(HaveOccurred())
		Expect(url).To(HavePrefix("http://127.0.0.1:"))
		Expect(send(ctx, http.MethodGet, url+"/healthz")).To(Equal("200 ok"))
	})

	It("refuses an address that is not host:port", func(ctx SpecContext) {
		_, err := start(fakeserver.Options{}).Listen(ctx, "localhost")
		Expect(err).To(MatchError(ContainSubstring(`"localhost" is not host:port`)))
	})
})

var _ = Describe("WriteKubeconfig", func() {
	It("writes a file that reaches the server, and replaces its own", func(ctx SpecContext) {
		url, err := start(fakeserver.Options{}).Listen(ctx, "127.0.0.1:0")
		Expect(err).NotTo(HaveOccurred())
		path := filepath.Join(GinkgoT().TempDir(), "kubeconfig")
		Expect(fakeserver.WriteKubeconfig(path, "http://127.0.0.1:1")).To(Succeed())
		Expect(fakeserver.WriteKubeconfig(path, url)).To(Succeed())
		config, err := clientcmd.BuildConfigFromFlags("", path)
		Expect(err).NotTo(HaveOccurred())
		httpClient, err := rest.HTTPClientFor(config)
		Expect(err).NotTo(HaveOccurred())
		defer httpClient.CloseIdleConnections()
		client, err := kubernetes.NewForConfigAndClient(config, httpClient)
		Expect(err).NotTo(HaveOccurred())
		_, err = client.CoreV1().Namespaces().Get(ctx, "default", metav1.GetOptions{})
		Expect(err).NotTo(HaveOccurred())
	})

	It("leaves a user's own kubeconfig and any other file alone", func() {
		directory := GinkgoT().TempDir()
		users := filepath.Join(directory, "users")
		content := "apiVersion: v1\nkind: Config\ncontexts: [{name: prod, context: {cluster: prod, user: me}}]\n"
		Expect(os.WriteFile(users, []byte(content), 0o600)).To(Succeed())
		Expect(fakeserver.WriteKubeconfig(users, "http://127.0.0.1:1")).To(MatchError(ContainSubstring("holds other contexts")))
		Expect(os.ReadFile(users)).To(BeEquivalentTo(content))

		other := filepath.Join(directory, "other")
		Expect(os.WriteFile(other, []byte("{{{"), 0o600)).To(Succeed())
		Expect(fakeserver.WriteKubeconfig(other, "http://127.0.0.1:1")).To(MatchError(ContainSubstring("is not a kubeconfig")))

		nowhere := filepath.Join(directory, "no", "folder")
		Expect(fakeserver.WriteKubeconfig(nowhere, "http://127.0.0.1:1")).To(MatchError(ContainSubstring("its folder must exist")))
		Expect(filepath.Dir(nowhere)).NotTo(BeADirectory())
	})
})
