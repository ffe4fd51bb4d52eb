package endtoend_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/listwatch/listwatch/fakeserver"
	"github.com/listwatch/listwatch/informer"
	"github.com/listwatch/listwatch/internal/bubble"
	"github.com/listwatch/listwatch/reflector"
)

// refusal is a proxy that refuses everything, in words of its own.
type refusal struct {
	code        int
	contentType string
	body        string
}

func (f refusal) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: f.code, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: r,
		Header: http.Header{"Content-Type": {f.contentType}}, Body: io.NopCloser(strings.NewReader(f.body)),
	}, nil
}

// denied runs an informer over resource until it is denied, and returns what
// FailFast says.
func denied(resource string, wrap func(http.RoundTripper) http.RoundTripper) error {
	GinkgoHelper()
	server, err := fakeserver.New(fakeserver.Options{})
	Expect(err).NotTo(HaveOccurred())
	bubble.Cleanup(func() { Expect(server.Close()).To(Succeed()) })
	config := server.Config()
	config.Wrap(wrap)
	client := kubernetes.NewForConfigOrDie(config)
	inf, err := informer.New(reflector.FromREST[*corev1.ConfigMap](client.CoreV1().RESTClient(), resource, "web"),
		informer.Options[*corev1.ConfigMap]{Name: "mine"})
	Expect(err).NotTo(HaveOccurred())
	ctx, stop := context.WithCancel(bubble.Context())
	ended := make(chan error, 1)
	go func() { ended <- inf.Run(ctx) }()
	bubble.Cleanup(func() {
		stop()
		Expect(<-ended).To(Succeed())
	})
	began := time.Now()
	err = informer.WaitForSync(informer.FailFast(bubble.Context()), inf)
	Expect(err).To(MatchError(informer.ErrDenied))
	Expect(time.Since(began)).To(BeNumerically("<", time.Second))
	return err
}

func through(next http.RoundTripper) http.RoundTripper { return next }

var _ = Describe("A denial", func() {
	DescribeTableSubtree("by a proxy with words of its own", func(answer refusal, want string) {
		bubble.It("is told in those of Kubernetes", func() {
			err := denied("configmaps", func(http.RoundTripper) http.RoundTripper { return answer })
			Expect(err.Error()).To(And(ContainSubstring(`informer "mine" has not synced`), ContainSubstring(want)))
		})
	},
		Entry("403, a page", refusal{403, "text/html", "<h1>Computer says no</h1>"},
			`permission is missing (RBAC): verb "list" on resource "configmaps" in API group "" in namespace "web"`),
		Entry("403, nothing", refusal{403, "text/plain", ""},
			`permission is missing (RBAC): verb "list" on resource "configmaps" in API group "" in namespace "web"`),
		Entry("403, a Status without details",
			refusal{403, "application/json", `{"kind":"Status","apiVersion":"v1","status":"Failure","message":"x","code":403}`},
			`permission is missing (RBAC): verb "list" on resource "configmaps" in API group "" in namespace "web"`),
		Entry("401, nothing", refusal{401, "text/plain", ""}, "authentication is missing"),
	)

	bubble.It("names a resource that the server does not have", func() {
		Expect(denied("widgets", through).Error()).To(And(
			ContainSubstring("HTTP 404 NotFound"),
			ContainSubstring(`resource "widgets" in API group "" version "v1" is absent from the server`)))
	})
})
