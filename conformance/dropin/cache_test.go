package dropin

import (
	"context"
	"sync/atomic"
	"testing/synctest"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	toolscache "k8s.io/client-go/tools/cache"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/listwatch/listwatch/internal/bubble"
)

var _ = Describe("A manager's cache", func() {
	for _, m := range makers {
		bubble.It("makes informers while it runs, ends them and makes them again: those of "+m.name, func() {
			mgr, _ := newManager(ctrl.Options{Cache: cacheOf(m)})
			run(mgr)
			user := newUser(mgr)
			ctx := bubble.Context()
			goroutines := 0
			for round := range 4 {
				inf := must(mgr.GetCache().GetInformer(ctx, &corev1.Secret{}))
				var adds, initial atomic.Int64
				reg := must(inf.AddEventHandler(toolscache.ResourceEventHandlerDetailedFuncs{AddFunc: func(_ any, inInitialList bool) {
					adds.Add(1)
					if inInitialList {
						initial.Add(1)
					}
				}}))
				Expect(toolscache.WaitForCacheSync(ctx.Done(), reg.HasSynced)).To(BeTrue())
				Expect(initial.Load()).To(Equal(int64(round)))
				Expect(user.Create(ctx, &corev1.Secret{ObjectMeta: named("a", string(rune('a'+round)))})).To(Succeed())
				synctest.Wait()
				Expect(adds.Load()).To(Equal(int64(round + 1)))

				Expect(mgr.GetCache().RemoveInformer(ctx, &corev1.Secret{})).To(Succeed())
				time.Sleep(time.Minute)
				synctest.Wait()
				Expect(inf.IsStopped()).To(BeTrue())
				if round == 0 {
					goroutines = bubble.Goroutines() // with connections that are kept
				}
				Expect(bubble.Goroutines()).To(Equal(goroutines))
			}
		})

		bubble.It("resyncs controllers, with informers of "+m.name, func() {
			options := ctrl.Options{Cache: cacheOf(m)}
			options.Cache.SyncPeriod = ptr(10 * time.Minute)
			mgr, _ := newManager(options)
			user := newUser(mgr)
			Expect(user.Create(bubble.Context(), &corev1.ConfigMap{ObjectMeta: named("a", "config")})).To(Succeed())
			var asked atomic.Int64
			Expect(builder.ControllerManagedBy(mgr).For(&corev1.ConfigMap{}).Complete(reconcile.Func(func(context.Context, reconcile.Request) (reconcile.Result, error) {
				asked.Add(1)
				return reconcile.Result{}, nil
			}))).To(Succeed())
			run(mgr)
			time.Sleep(time.Minute)
			Expect(asked.Load()).To(Equal(int64(1)))
			time.Sleep(time.Hour)
			// The period is drawn from a range, and client-go sometimes misses one.
			Expect(asked.Load()).To(And(BeNumerically(">=", 4), BeNumerically("<=", 8)))
		})
	}
})
