package dropin

import (
	"context"
	"fmt"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/listwatch/listwatch/fakeserver"
	"github.com/listwatch/listwatch/internal/bubble"
)

// newManager is a manager of a server, without metrics.
func newManager(options ctrl.Options) (ctrl.Manager, *fakeserver.Server) {
	GinkgoHelper()
	srv, _ := newServer()
	options.Metrics.BindAddress = "0"
	options.Controller.SkipNameValidation = ptr(true)
	return must(ctrl.NewManager(srv.Config(), options)), srv
}

func cacheOf(m maker) cache.Options { return cache.Options{NewInformer: m.make} }

// newUser is a client beside a manager, without a cache.
func newUser(mgr ctrl.Manager) client.Client {
	GinkgoHelper()
	return must(client.New(mgr.GetConfig(), client.Options{}))
}

// run runs a manager until the end of the spec.
func run(mgr ctrl.Manager) {
	ctx, stop := context.WithCancel(bubble.Context())
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	bubble.Cleanup(func() {
		stop()
		Expect(<-ended).NotTo(HaveOccurred())
	})
	<-mgr.Elected()
}

// newReader is a client of a manager that runs, which waits in reads for what was
// written by it.
func newReader(m maker) (*fakeserver.Server, client.Client) {
	GinkgoHelper()
	mgr, srv := newManager(ctrl.Options{
		Cache:  cacheOf(m),
		Client: client.Options{Cache: &client.CacheOptions{EnableReadYourWritesConsistency: ptr(true)}},
	})
	run(mgr)
	return srv, mgr.GetClient()
}

// secretsOf are the names in the cache, if a wait for what was written ends.
func secretsOf(c client.Client) ([]string, error) {
	ctx, cancel := context.WithTimeout(bubble.Context(), time.Hour)
	defer cancel()
	var list corev1.SecretList
	if err := c.List(ctx, &list); err != nil {
		return nil, err
	}
	names := []string{}
	for _, secret := range list.Items {
		names = append(names, secret.Name)
	}
	slices.Sort(names)
	return names, nil
}

var _ = Describe("A client of controller-runtime that reads its own writes", func() {
	for _, m := range makers {
		bubble.It("finds each of them, through cuts and lists, with informers of "+m.name, func() {
			srv, c := newReader(m)
			ctx := bubble.Context()
			for round, disturb := range []func(){
				func() {},
				func() { srv.DropWatches() },
				func() { srv.DropWatches(); must(srv.Compact(ctx)) },
			} {
				secret := &corev1.Secret{ObjectMeta: named("a", fmt.Sprint("secret-", round))}
				pod := podOn("a", fmt.Sprint("pod-", round), "node-1")
				disturb()
				Expect(c.Create(ctx, secret)).To(Succeed())
				Expect(secretsOf(c)).To(Equal([]string{secret.Name}))
				Expect(c.Create(ctx, pod)).To(Succeed())

				disturb()
				secret.Labels = map[string]string{"round": fmt.Sprint(round)}
				Expect(c.Update(ctx, secret)).To(Succeed())
				pod.Status.Phase = corev1.PodRunning
				Expect(c.Status().Update(ctx, pod)).To(Succeed())
				var read corev1.Secret
				Expect(c.Get(ctx, client.ObjectKeyFromObject(secret), &read)).To(Succeed())
				Expect(read.Labels).To(Equal(secret.Labels))
				var readPod corev1.Pod
				Expect(c.Get(ctx, client.ObjectKeyFromObject(pod), &readPod)).To(Succeed())
				Expect(readPod.Status.Phase).To(Equal(corev1.PodRunning))

				disturb()
				Expect(c.Delete(ctx, secret)).To(Succeed())
				Expect(secretsOf(c)).To(BeEmpty())
				Expect(c.Delete(ctx, pod)).To(Succeed())
			}
		})
	}

	// Its reads wait for an event of each write. client-go lists after a broken
	// connection, and what came and went in between has no event then: such a read
	// waits until something else happens. Ours watches on from where it was.
	bubble.It("waits for what was gone before it was seen, for ever with client-go's informers", func() {
		errs := map[string]error{}
		for _, m := range makers {
			srv, c := newReader(m)
			Expect(secretsOf(c)).To(BeEmpty())
			srv.DropWatches()
			short := &corev1.Secret{ObjectMeta: named("a", "short")}
			Expect(c.Create(bubble.Context(), short)).To(Succeed())
			Expect(c.Delete(bubble.Context(), short)).To(Succeed())
			_, errs[m.name] = secretsOf(c)
		}
		Expect(errs["client-go"]).To(MatchError(context.DeadlineExceeded))
		Expect(errs["listwatch"]).NotTo(HaveOccurred())
	})
})
