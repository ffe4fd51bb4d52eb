package ops_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync/atomic"
	"syscall"
	"testing/synctest"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/listwatch/listwatch/examples/controllers/internal/ops"
	"github.com/listwatch/listwatch/fakeserver"
	"github.com/listwatch/listwatch/internal/bubble"
)

// electing are the options of one that wants the lease.
var electing = ops.Options{LeaderElect: true, LeaseNamespace: "default", LeaseName: "example"}

// process is a run of Lead.
type process struct {
	client kubernetes.Interface
	down   atomic.Bool // it cannot reach the server
	stop   context.CancelFunc
	ended  chan error

	began, told, done atomic.Int32  // how often work has begun, was told to end, and has ended
	tidy              time.Duration // how long work takes to end
}

// start starts a process, which ends with the spec at the latest.
//
// bubble: part of the rig
func start(server *fakeserver.Server, options ops.Options, tidy time.Duration) *process {
	p := &process{ended: make(chan error, 1), tidy: tidy}
	config := server.Config()
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			if p.down.Load() {
				return nil, &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
			}
			return next.RoundTrip(r)
		})
	})
	p.client = kubernetes.NewForConfigOrDie(config)
	ctx, stop := context.WithCancel(bubble.Context())
	p.stop = stop
	go func() {
		p.ended <- ops.Lead(ctx, options, p.client, func(ctx context.Context) error {
			p.began.Add(1)
			<-ctx.Done()
			p.told.Add(1)
			time.Sleep(p.tidy)
			p.done.Add(1)
			return ctx.Err()
		})
	}()
	synctest.Wait()
	return p
}

type roundTripper func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func newServer() *fakeserver.Server {
	GinkgoHelper()
	server, err := fakeserver.New(fakeserver.Options{})
	Expect(err).NotTo(HaveOccurred())
	bubble.Cleanup(func() { Expect(server.Close()).To(Succeed()) })
	return server
}

// holder is whom the server's lease names.
func holder(server *fakeserver.Server) string {
	GinkgoHelper()
	client := kubernetes.NewForConfigOrDie(server.Config())
	lease, err := client.CoordinationV1().Leases("default").Get(bubble.Context(), "example", metav1.GetOptions{})
	Expect(err).NotTo(HaveOccurred())
	return *lease.Spec.HolderIdentity
}

var _ = Describe("Lead", func() {
	bubble.It("works at once, and asks for no lease, if there is no election", func() {
		failure := errors.New("of work")
		err := ops.Lead(bubble.Context(), ops.Options{}, nil, func(context.Context) error { return failure })
		Expect(err).To(BeIdenticalTo(failure))
	})

	bubble.It("releases the lease when work has returned and no earlier, and the next takes over at once", func() {
		server := newServer()
		first := start(server, electing, 5*time.Second)
		second := start(server, electing, 0)
		time.Sleep(time.Minute)
		Expect(first.began.Load()).To(BeEquivalentTo(1))
		Expect(second.began.Load()).To(BeZero())

		first.stop()
		time.Sleep(4 * time.Second)
		Expect(first.told.Load()).To(BeEquivalentTo(1))
		Expect(second.began.Load()).To(BeZero(), "while the first is still at work")
		Expect(holder(server)).NotTo(BeEmpty())
		Expect(<-first.ended).To(MatchError(context.Canceled))
		Expect(first.done.Load()).To(BeEquivalentTo(1))
		Expect(holder(server)).To(BeEmpty())

		time.Sleep(5 * time.Second) // sooner than the lease would have ended by itself
		Expect(second.began.Load()).To(BeEquivalentTo(1))
		second.stop()
		Expect(<-second.ended).To(MatchError(context.Canceled))
	})

	bubble.It("ends a candidate without ever having worked", func() {
		server := newServer()
		first, second := start(server, electing, 0), start(server, electing, 0)
		second.stop()
		Expect(<-second.ended).To(MatchError(context.Canceled))
		Expect(second.began.Load()).To(BeZero())
		Expect(holder(server)).NotTo(BeEmpty())
		first.stop()
		<-first.ended
	})

	bubble.It("stops work before others may take a lost lease, and is a candidate again", func() {
		server := newServer()
		first := start(server, electing, time.Second)
		second := start(server, electing, 0)
		first.down.Store(true)
		time.Sleep(14 * time.Second)
		Expect(first.done.Load()).To(BeEquivalentTo(1))
		time.Sleep(10 * time.Second)
		Expect(second.began.Load()).To(BeEquivalentTo(1))

		first.down.Store(false)
		time.Sleep(time.Minute)
		Expect(first.began.Load()).To(BeEquivalentTo(1))
		second.stop()
		<-second.ended
		time.Sleep(5 * time.Second)
		Expect(first.began.Load()).To(BeEquivalentTo(2))
		first.stop()
		Expect(<-first.ended).To(MatchError(context.Canceled))
		Expect(holder(server)).To(BeEmpty())
	})

	bubble.It("releases the lease when work ends by itself, and returns what that returned", func() {
		server := newServer()
		failure := errors.New("of work")
		client := kubernetes.NewForConfigOrDie(server.Config())
		err := ops.Lead(bubble.Context(), electing, client, func(context.Context) error { return failure })
		Expect(err).To(BeIdenticalTo(failure))
		Expect(holder(server)).To(BeEmpty())
	})
})
