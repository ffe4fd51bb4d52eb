package clientgo_test

import (
	"sync"
	"sync/atomic"
	"testing/synctest"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"

	"github.com/listwatch/listwatch/informer/clientgo"
	"github.com/listwatch/listwatch/internal/bubble"
)

// starter is what factories of all kinds have in common.
type starter interface {
	Start(stopCh <-chan struct{})
	Shutdown()
}

// factories make a factory of each kind, and its informer of pods.
func factories() map[string]func(*rig) (starter, cache.SharedIndexInformer) {
	all := map[string]func(*rig) (starter, cache.SharedIndexInformer){}
	for name, registered := range map[string]bool{"a generated factory, by client-go": false, "a generated factory, by listwatch": true} {
		all[name] = func(r *rig) (starter, cache.SharedIndexInformer) {
			f := informers.NewSharedInformerFactory(r.client, 0)
			if registered {
				Expect(clientgo.RegisterAll(f, clientgo.Scope{})).To(Succeed())
			} else {
				everyInformer(f)
			}
			return f, f.Core().V1().Pods().Informer()
		}
	}
	for _, g := range allGenerics {
		all["a factory of "+g.name] = func(r *rig) (starter, cache.SharedIndexInformer) {
			f := g.whole(r)
			for _, resource := range []string{"secrets", "nodes", "nonsense"} {
				f.ForResource(corev1.SchemeGroupVersion.WithResource(resource))
			}
			return f, f.ForResource(podsResource).Informer()
		}
	}
	return all
}

var _ = Describe("Nothing panics, blocks or stays behind", func() {
	for name, newFactory := range factories() {
		bubble.It("when handlers come and go in handlers, the last of which stops "+name, func() {
			r := newRig(ours)
			r.create("a", nil)
			f, inf := newFactory(r)
			stop, once := make(chan struct{}), sync.Once{}
			var calls atomic.Int64
			var self cache.ResourceEventHandlerRegistration
			known := make(chan struct{})
			self = must(inf.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: func(any) {
				<-known
				Expect(inf.RemoveEventHandler(self)).To(Succeed())
				must(inf.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: func(any) {
					calls.Add(1)
					once.Do(func() { close(stop) })
				}}))
			}}))
			close(known)
			f.Start(stop)
			<-stop
			f.Shutdown()
			Expect(inf.IsStopped()).To(BeTrue())
			Expect(calls.Load()).To(Equal(int64(1)))
		})

		bubble.It("when "+name+" is shut down while it syncs, by several", func() {
			r := newRig(ours)
			f, inf := newFactory(r)
			stop := make(chan struct{})
			f.Start(stop)
			var waiting sync.WaitGroup
			for range 3 {
				waiting.Go(f.Shutdown)
			}
			close(stop)
			f.Start(make(chan struct{})) // nothing, or too late for it
			waiting.Wait()
			Expect(inf.IsStopped()).To(BeTrue())
		})

		bubble.It("when "+name+" is started with what has ended, or never", func() {
			r := newRig(ours)
			f, inf := newFactory(r)
			stop := make(chan struct{})
			close(stop)
			f.Start(stop)
			f.Shutdown()
			Expect(inf.HasSynced()).To(BeFalse())
			never, _ := newFactory(r)
			never.Shutdown()
			synctest.Wait()
		})
	}
})
