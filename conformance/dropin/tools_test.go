package dropin

import (
	"context"
	"fmt"
	"testing/synctest"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	watchtools "k8s.io/client-go/tools/watch"
	"k8s.io/client-go/util/workqueue"

	"github.com/listwatch/listwatch/informer/clientgo"
	"github.com/listwatch/listwatch/internal/bubble"
)

func configs(client kubernetes.Interface) cache.ListerWatcher {
	return cache.ToListWatcherWithWatchListSemantics(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (kruntime.Object, error) {
			return client.CoreV1().ConfigMaps("").List(ctx, o)
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			return client.CoreV1().ConfigMaps("").Watch(ctx, o)
		},
	}, client)
}

func createConfig(client kubernetes.Interface, name string) *corev1.ConfigMap {
	GinkgoHelper()
	return must(client.CoreV1().ConfigMaps("a").Create(bubble.Context(), &corev1.ConfigMap{ObjectMeta: named("a", name)}, metav1.CreateOptions{}))
}

var _ = Describe("client-go's tools", func() {
	bubble.It("wait with UntilWithSync, through a cut and a list", func() {
		server, client := newServer()
		createConfig(client, "first")
		got := make(chan string, 1)
		go func() {
			event, err := watchtools.UntilWithSync(bubble.Context(), configs(client), &corev1.ConfigMap{},
				func(store cache.Store) (bool, error) {
					_, found, err := store.GetByKey("a/second")
					return found, err
				},
				func(event watch.Event) (bool, error) { return event.Object.(*corev1.ConfigMap).Name == "second", nil })
			if err != nil {
				got <- err.Error()
				return
			}
			got <- string(event.Type)
		}()
		synctest.Wait()
		server.DropWatches()
		time.Sleep(time.Minute)
		must(server.Compact(bubble.Context()))
		Expect(got).NotTo(Receive())
		createConfig(client, "second")
		Expect(<-got).To(Equal("ADDED"))
		synctest.Wait()
	})

	bubble.It("elect a leader, and the next one after its end", func() {
		_, client := newServer()
		var leaders []string
		elect := func(ctx context.Context, id string) chan struct{} {
			ended := make(chan struct{})
			lock := must(resourcelock.New(resourcelock.LeasesResourceLock, "a", "lock", client.CoreV1(), client.CoordinationV1(), resourcelock.ResourceLockConfig{Identity: id}))
			elector := must(leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
				Lock: lock, LeaseDuration: 15 * time.Second, RenewDeadline: 10 * time.Second, RetryPeriod: 2 * time.Second, ReleaseOnCancel: true,
				Callbacks: leaderelection.LeaderCallbacks{
					OnStartedLeading: func(context.Context) { leaders = append(leaders, id) },
					OnStoppedLeading: func() {},
				},
			}))
			go func() { defer close(ended); elector.Run(ctx) }()
			return ended
		}
		first, stopFirst := context.WithCancel(bubble.Context())
		second, stopSecond := context.WithCancel(bubble.Context())
		firstEnded := elect(first, "first")
		time.Sleep(time.Minute)
		secondEnded := elect(second, "second")
		time.Sleep(time.Minute)
		synctest.Wait()
		Expect(leaders).To(Equal([]string{"first"}))
		stopFirst()
		<-firstEnded
		time.Sleep(time.Minute)
		synctest.Wait()
		Expect(leaders).To(Equal([]string{"first", "second"}))
		stopSecond()
		<-secondEnded
	})

	for _, m := range makers {
		bubble.It("feed a work queue that tries again, from an informer of "+m.name, func() {
			_, client := newServer()
			inf := m.make(configs(client), &corev1.ConfigMap{}, 0, cache.Indexers{})
			queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[string]())
			must(inf.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: func(obj any) {
				queue.Add(must(cache.MetaNamespaceKeyFunc(obj)))
			}}))
			tries, done := map[string]int{}, make(chan struct{})
			go func() {
				defer close(done)
				for {
					key, shutdown := queue.Get()
					if shutdown {
						return
					}
					if tries[key]++; tries[key] < 3 {
						queue.AddRateLimited(key)
					} else {
						queue.Forget(key)
					}
					queue.Done(key)
				}
			}()
			ctx, stop := context.WithCancel(bubble.Context())
			ended := make(chan struct{})
			go func() { defer close(ended); inf.RunWithContext(ctx) }()
			for k := range 10 {
				createConfig(client, fmt.Sprint("config-", k))
			}
			time.Sleep(time.Minute)
			stop()
			<-ended
			queue.ShutDown()
			<-done
			Expect(tries).To(HaveLen(10))
			for key, n := range tries {
				Expect(n).To(Equal(3), key)
			}
		})
	}
})

var _ = Describe("A thousand informers", func() {
	bubble.It("start, sync, and stop without a trace", func() {
		_, client := newServer()
		createConfig(client, "first")
		synctest.Wait()
		before := bubble.Goroutines()
		ctx, stop := context.WithCancel(bubble.Context())
		all := make([]cache.SharedIndexInformer, 1000)
		checks, ended := make([]cache.DoneChecker, len(all)), make(chan struct{}, len(all))
		source := &cache.ListWatch{ // their connections are not what is tested
			ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (kruntime.Object, error) {
				return &corev1.ConfigMapList{ListMeta: metav1.ListMeta{ResourceVersion: "1"}, Items: []corev1.ConfigMap{{ObjectMeta: named("a", "first")}}}, nil
			},
			WatchFuncWithContext: func(context.Context, metav1.ListOptions) (watch.Interface, error) { return watch.NewFake(), nil },
		}
		for k := range all {
			all[k] = clientgo.NewSharedIndexInformer(noWatchList{source}, &corev1.ConfigMap{}, time.Hour, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
			reg := must(all[k].AddEventHandler(cache.ResourceEventHandlerFuncs{}))
			checks[k] = reg.HasSyncedChecker()
			go func() { all[k].RunWithContext(ctx); ended <- struct{}{} }()
		}
		Expect(cache.WaitFor(ctx, "", checks...)).To(BeTrue())
		stop()
		for range all {
			<-ended
		}
		synctest.Wait()
		Expect(bubble.Goroutines()).To(Equal(before))
		for _, inf := range all {
			Expect(inf.IsStopped()).To(BeTrue())
		}
	})
})

// noWatchList says that it does not answer watch-lists.
type noWatchList struct{ *cache.ListWatch }

func (noWatchList) IsWatchListSemanticsUnSupported() bool { return true }
